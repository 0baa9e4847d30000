/* Waits for NCCL and the GPU by polling: every loop tests, checks whether the run must end, and
 * sleeps a little longer each time. A rank that leaves aborts its own communicators, since they
 * belong to its thread. */
#include "runtime/cuda/nccl/nccl_wait.h"

bool pp_nccl_stopped(const pp_world *world)
{
    return atomic_load_explicit(&world->stopped, memory_order_relaxed) ||
           (world->store && pp_store_stopped(world->store));
}

pp_status pp_nccl_check(const pp_world *world, uint32_t rank, ncclComm_t comm, ncclResult_t code,
                        const char *what, pp_err *err)
{
    if (code == ncclSuccess || code == ncclInProgress)
        return PP_OK;
    const char *words = ncclGetLastError(comm);
    return world->services->err_set(
        err, PP_IO, NULL, "rank %u: %s failed; NCCL reports: %s%s%.300s", rank, what,
        ncclGetErrorString(code), words && *words ? ": " : "", words ? words : "");
}

pp_status pp_nccl_leave(pp_world *world, pp_nccl_rank *r, pp_err *err)
{
    if (r->open_group != PP_NO_SOURCE)
        (void)ncclGroupEnd();
    r->open_group = PP_NO_SOURCE;
    for (size_t q = 0; q < r->queues; q++) {
        if (r->queue[q].comm)
            (void)ncclCommAbort(r->queue[q].comm);
        r->queue[q].comm = NULL;
    }
    return world->services->world_stopped(err);
}

static pp_status too_late(const pp_world *world, const pp_nccl_rank *r, const char *what,
                          pp_err *err)
{
    return world->services->err_set(
        err, PP_IO, NULL,
        "rank %u: %s takes longer than 120 s; NCCL_DEBUG=INFO shows what it waits for", r->rank,
        what);
}

pp_status pp_nccl_settle(pp_world *world, pp_nccl_rank *r, ncclComm_t comm, const char *what,
                         pp_err *err)
{
    pp_ns until_ns = world->services->clock_now_ns() + PP_NCCL_START_NS;
    ncclResult_t state = ncclInProgress;
    for (uint32_t rounds = 0;; pp_gpu_pause(&rounds)) {
        ncclResult_t code = ncclCommGetAsyncError(comm, &state);
        pp_status status = pp_nccl_check(world, r->rank, comm, code ? code : state, what, err);
        if (status || state == ncclSuccess)
            return status;
        if (pp_nccl_stopped(world))
            return pp_nccl_leave(world, r, err);
        if (world->services->clock_now_ns() > until_ns)
            return too_late(world, r, what, err);
    }
}

pp_status pp_nccl_await(pp_world *world, pp_nccl_rank *r, cudaEvent_t event, ncclComm_t comm,
                        pp_ns limit_ns, const char *what, pp_err *err)
{
    pp_ns until_ns = world->services->clock_now_ns() + limit_ns;
    for (uint32_t rounds = 0;; pp_gpu_pause(&rounds)) {
        ncclResult_t state = ncclSuccess;
        if (pp_nccl_stopped(world))
            return pp_nccl_leave(world, r, err);
        cudaError_t code = cudaEventQuery(event);
        if (code != cudaErrorNotReady)
            return pp_gpu_check(world->services, r->rank, code, what, err);
        ncclResult_t asked = ncclCommGetAsyncError(comm, &state);
        pp_status status = pp_nccl_check(world, r->rank, comm, asked ? asked : state, what, err);
        if (status)
            return status;
        if (limit_ns && world->services->clock_now_ns() > until_ns)
            return too_late(world, r, what, err);
    }
}
