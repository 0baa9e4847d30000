/* Connects the ranks before the first step. The first message between two ranks connects them,
 * which takes long and needs both ranks at once (NCCL issue 783). One element is sent to and
 * received from every neighbour, and its value is checked. */
#include "runtime/cuda/nccl/nccl_warm_up.h"

#include "runtime/cuda/nccl/nccl_queues.h"
#include "runtime/cuda/nccl/nccl_wait.h"

#include <stdlib.h>
#include <string.h>

/* Returns the value that is sent: the numbers of sender and receiver. */
static uint64_t edge_name(uint32_t from, uint32_t to)
{
    return (uint64_t)from << 32 | to;
}

typedef struct greeting {
    uint64_t *device; /* [2 * ranks]: elements to send, then elements received */
    uint64_t *host;   /* the same, pinned */
    bool *met;        /* [ranks]: the rank is a neighbour */
} greeting;

static void greeting_free(greeting *g)
{
    (void)cudaFree(g->device);
    (void)cudaFreeHost(g->host);
    free(g->met);
}

static pp_status greeting_new(pp_world *world, const pp_nccl_rank *r, const pp_comm *comm,
                              greeting *g, pp_err *err)
{
    size_t bytes = 2 * world->ranks * sizeof *g->device;
    g->met = calloc(world->ranks, sizeof *g->met);
    if (!g->met)
        return world->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    for (size_t t = 0; t < comm->transfer_count; t++)
        if (comm->transfer[t].rank == r->rank)
            g->met[comm->transfer[t].peer] = true;
    cudaError_t code = cudaSetDevice(r->device);
    if (!code)
        code = cudaMalloc((void **)&g->device, bytes);
    if (!code)
        code = cudaMallocHost((void **)&g->host, bytes);
    if (code)
        return pp_gpu_check(world->services, r->rank, code, "memory for the warm-up", err);
    memset(g->host, 0, bytes);
    for (uint32_t peer = 0; peer < world->ranks; peer++)
        g->host[peer] = edge_name(r->rank, peer);
    code = cudaMemcpy(g->device, g->host, bytes, cudaMemcpyHostToDevice);
    return pp_gpu_check(world->services, r->rank, code, "copying", err);
}

static pp_status greet(pp_world *world, const pp_nccl_rank *r, const greeting *g, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t peer = 0; peer < world->ranks && !status; peer++) {
        uint32_t q = pp_nccl_queue_to(r, peer);
        if (!g->met[peer])
            continue;
        int number = pp_nccl_peer_in(r, q, peer);
        ncclComm_t comm = r->queue[q].comm;
        ncclResult_t code =
            ncclSend(g->device + peer, 1, ncclUint64, number, comm, r->queue[q].stream);
        if (code == ncclSuccess || code == ncclInProgress)
            code = ncclRecv(g->device + world->ranks + peer, 1, ncclUint64, number, comm,
                            r->queue[q].stream);
        status = pp_nccl_check(world, r->rank, comm, code, "connecting to a neighbour", err);
    }
    return status;
}

/* Checks that the rank received from each neighbour the element that was meant for it. */
static pp_status hear(pp_world *world, pp_nccl_rank *r, const greeting *g, pp_err *err)
{
    size_t bytes = 2 * world->ranks * sizeof *g->device;
    pp_status status = PP_OK;
    for (size_t q = 0; q < r->queues && !status; q++) {
        cudaEvent_t over = NULL;
        status = pp_nccl_settle(world, r, r->queue[q].comm, "connecting to a neighbour", err);
        if (status)
            break;
        cudaError_t code = cudaSetDevice(r->device);
        if (!code)
            code = cudaEventCreateWithFlags(&over, cudaEventDisableTiming);
        if (!code)
            code = cudaEventRecord(over, r->queue[q].stream);
        status = pp_gpu_check(world->services, r->rank, code, "recording an event", err);
        if (!status)
            status = pp_nccl_await(world, r, over, r->queue[q].comm, PP_NCCL_START_NS,
                                   "connecting to a neighbour", err);
        if (over)
            (void)cudaEventDestroy(over);
    }
    if (!status)
        status = pp_gpu_check(world->services, r->rank,
                              cudaMemcpy(g->host, g->device, bytes, cudaMemcpyDeviceToHost),
                              "copying", err);
    for (uint32_t peer = 0; peer < world->ranks && !status; peer++)
        if (g->met[peer] && g->host[world->ranks + peer] != edge_name(peer, r->rank))
            status = world->services->err_set(
                err, PP_IO, NULL,
                "rank %u did not receive the data that rank %u sent; this NCCL does not work here",
                r->rank, peer);
    return status;
}

pp_status pp_nccl_warm_up(pp_world *world, const pp_program *program, pp_err *err)
{
    greeting *g = calloc(world->hosted, sizeof *g);
    if (!g)
        return world->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    pp_status status = PP_OK;
    for (uint32_t h = 0; h < world->hosted && !status; h++)
        status = greeting_new(world, &world->rank[h], program->comm, &g[h], err);
    ncclResult_t code = status ? ncclSuccess : ncclGroupStart();
    if (!status)
        status = pp_nccl_check(world, world->first, NULL, code, "opening a group", err);
    if (!status) {
        for (uint32_t h = 0; h < world->hosted && !status; h++)
            status = greet(world, &world->rank[h], &g[h], err);
        code = ncclGroupEnd();
        if (!status)
            status =
                pp_nccl_check(world, world->first, NULL, code, "connecting to a neighbour", err);
    }
    for (uint32_t h = 0; h < world->hosted && !status; h++)
        status = hear(world, &world->rank[h], &g[h], err);
    if (status) /* pending messages still use that memory */
        atomic_store(&world->stopped, true);
    for (uint32_t h = 0; h < world->hosted; h++) {
        pp_err ignored = { 0 };
        if (status)
            (void)pp_nccl_leave(world, &world->rank[h], &ignored);
        (void)cudaSetDevice(world->rank[h].device);
        greeting_free(&g[h]);
    }
    free(g);
    return status;
}
