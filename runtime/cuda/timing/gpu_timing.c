/* Times work by events in the GPU's stream. The host holds the stream until all runs of a timing
 * are in it, so that the time of launching them does not count; concurrent work, on another stream,
 * is launched before the timed work and ends after it. */
#include "runtime/cuda/timing/gpu_timing.h"

#include "runtime/cuda/timing/gpu_task.h"

#include <assert.h>
#include <errno.h>

static const uint32_t MARK = UINT32_MAX; /* does not occur in operands */
enum {
    BATCH = 128, /* launches that are held; a stream has room for about a thousand */
    TRIES = 4,   /* with more and more concurrent work, as memory permits */
};

static void pass_gate(void *argument)
{
    pp_gpu *gpu = argument;
    while (sem_wait(&gpu->gate) && errno == EINTR) {
    }
}

/* Returns a place in the result of the concurrent work that shows that it has begun. The places are
 * spread over the result, since any part may be written first. */
static char *place_of(const pp_gpu_task *beside, uint32_t set, int i)
{
    return beside->operand[set][1] + (size_t)beside->work.bytes / PP_GPU_PLACES / 4 * 4 * (size_t)i;
}

static pp_status set_marks(pp_gpu *gpu, const pp_gpu_task *beside, pp_err *err)
{
    pp_status status = PP_OK;
    for (int i = 0; i < PP_GPU_PLACES && !status; i++)
        status = pp_gpu_checked(gpu,
                                cudaMemsetAsync(place_of(beside, beside->next % beside->sets, i),
                                                0xFF, sizeof MARK, gpu->stream),
                                "marking memory", err);
    return status ? status : pp_gpu_finish(gpu, gpu->stream, err);
}

/* Waits until the concurrent work has overwritten a mark, or is over already. */
static pp_status await_begin(pp_gpu *gpu, const pp_gpu_task *beside, uint32_t set, pp_err *err)
{
    uint32_t *seen = gpu->seen;
    for (;;) {
        const cudaError_t ended = cudaEventQuery(gpu->other_end);
        if (ended != cudaErrorNotReady)
            return pp_gpu_checked(gpu, ended, "the concurrent work", err);
        pp_status status = PP_OK;
        for (int i = 0; i < PP_GPU_PLACES && !status; i++)
            status =
                pp_gpu_checked(gpu,
                               cudaMemcpyAsync(&seen[i], place_of(beside, set, i), sizeof *seen,
                                               cudaMemcpyDeviceToHost, gpu->stream),
                               "reading a mark", err);
        if (!status)
            status = pp_gpu_finish(gpu, gpu->stream, err);
        for (int i = 0; i < PP_GPU_PLACES && !status; i++) {
            if (seen[i] != MARK)
                return PP_OK;
        }
        if (status)
            return status;
    }
}

/* Starts the concurrent work and waits until it runs, before any of the timed work is launched. If
 * both began together, or if it were many short pieces, the timed work could take the
 * multiprocessors first. */
static pp_status begin_beside(pp_gpu *gpu, pp_gpu_task *beside, pp_err *err)
{
    assert(beside->work.kind == PP_GPU_COPY || beside->work.kind == PP_GPU_MESSAGE);
    const cudaStream_t stream = pp_gpu_task_stream(beside);
    const uint32_t set = beside->next % beside->sets;
    pp_status status = set_marks(gpu, beside, err);
    if (!status)
        status = pp_gpu_checked(gpu, cudaEventRecord(gpu->other_begin, stream),
                                "recording an event", err);
    if (!status)
        status = pp_gpu_task_launch(beside, true, err);
    if (!status)
        status =
            pp_gpu_checked(gpu, cudaEventRecord(gpu->other_end, stream), "recording an event", err);
    return status ? status : await_begin(gpu, beside, set, err);
}

static pp_status launch_all(pp_gpu *gpu, pp_gpu_task *task, uint32_t runs, const pp_gpu_timing *how,
                            pp_err *err)
{
    pp_status status = pp_gpu_task_mend(task, runs, err);
    if (!status && how->cold)
        status = pp_gpu_checked(gpu,
                                cudaMemsetAsync(gpu->flushed, (int)task->next % 256,
                                                2 * (size_t)gpu->facts.cache_bytes, gpu->stream),
                                "filling the cache", err);
    if (!status)
        status = pp_gpu_checked(gpu, cudaEventRecord(gpu->begin, gpu->stream), "recording an event",
                                err);
    const pp_ns began_ns = gpu->services->clock_now_ns();
    for (uint32_t i = 0; i < runs && !status; i++)
        status = pp_gpu_task_launch(task, false, err);
    gpu->posted_ns = gpu->services->clock_now_ns() - began_ns;
    if (!status)
        status =
            pp_gpu_checked(gpu, cudaEventRecord(gpu->end, gpu->stream), "recording an event", err);
    return status;
}

static pp_status elapsed(const pp_gpu *gpu, cudaEvent_t from, cudaEvent_t to, double *ns_out,
                         pp_err *err)
{
    float ms = 0;
    pp_status status =
        pp_gpu_checked(gpu, cudaEventElapsedTime(&ms, from, to), "reading an event", err);
    *ns_out = (double)ms * 1e6;
    return status;
}

static pp_status time_batch(pp_gpu *gpu, pp_gpu_task *task, uint32_t runs, const pp_gpu_timing *how,
                            double *ns_out, pp_err *err)
{
    pp_status status = pp_gpu_checked(gpu, cudaLaunchHostFunc(gpu->stream, pass_gate, gpu),
                                      "holding the stream", err);
    if (status)
        return status;
    status = launch_all(gpu, task, runs, how, err);
    (void)sem_post(&gpu->gate);
    pp_status done = pp_gpu_finish(gpu, gpu->stream, err);
    status = status ? status : done;
    if (!status && how->posting)
        *ns_out = (double)gpu->posted_ns;
    else if (!status)
        status = elapsed(gpu, gpu->begin, gpu->end, ns_out, err);
    return status;
}

/* *over_out receives whether the concurrent work ended before the timed work. */
static pp_status time_beside(pp_gpu *gpu, pp_gpu_task *task, uint32_t runs,
                             const pp_gpu_timing *how, double *ns_out, bool *over_out, pp_err *err)
{
    double own_ns = 0, other_ns = 0;
    pp_status status = begin_beside(gpu, how->beside, err);
    if (status)
        pp_gpu_task_give_up(how->beside);
    else
        status = time_batch(gpu, task, runs, how, ns_out, err);
    pp_status done = pp_gpu_finish(gpu, pp_gpu_task_stream(how->beside), err);
    status = status ? status : done;
    if (!status)
        status = elapsed(gpu, gpu->other_begin, gpu->end, &own_ns, err);
    if (!status)
        status = elapsed(gpu, gpu->other_begin, gpu->other_end, &other_ns, err);
    *over_out = other_ns < own_ns;
    return status;
}

/* Times again with longer concurrent work if that ended first. */
static pp_status time_fully_beside(pp_gpu *gpu, pp_gpu_task *task, uint32_t runs,
                                   const pp_gpu_timing *how, double *ns_out, pp_err *err)
{
    for (int tries = 0; tries < TRIES;) {
        bool over, grown;
        pp_status status = time_beside(gpu, task, runs, how, ns_out, &over, err);
        if (status || !over)
            return status;
        status = pp_gpu_task_grow(how->beside, &grown, err);
        if (status)
            return status;
        tries += !grown;
    }
    return gpu->services->err_set(
        err, PP_UNAVAILABLE, NULL,
        "GPU %u: the concurrent work of %lld MiB ends before the measured "
        "work, and there is no memory for more; the measured work takes "
        "too long, or waits for multiprocessors",
        gpu->number, (long long)(how->beside->work.bytes >> 20));
}

/* How many times all products of experts are held: the stream waits for four lanes each time, and a
 * lane has a fourth of the products. */
static uint32_t most_groups(const pp_gpu_task *task)
{
    const size_t runs = 4 * BATCH / (task->work.sequences + 4 * PP_GPU_LANES);
    return runs ? (uint32_t)runs : 1;
}

pp_status pp_gpu_time(pp_gpu *gpu, pp_gpu_task *task, const pp_gpu_timing *how, pp_ns *took_ns,
                      pp_err *err)
{
    const uint32_t most = how->cold      ? 1
                          : task->spoils ? task->sets
                          : task->graph  ? BATCH / 8 /* several launches each */
                          : how->beside  ? BATCH / 8 /* the other work outlasts them */
                          : task->work.kind == PP_GPU_GROUPED ? most_groups(task)
                                                              : BATCH;
    double sum_ns = 0;
    for (uint32_t left = how->runs; left > 0;) {
        const uint32_t runs = left < most ? left : most;
        double ns = 0;
        pp_status status = how->beside ? time_fully_beside(gpu, task, runs, how, &ns, err)
                                       : time_batch(gpu, task, runs, how, &ns, err);
        if (status)
            return status;
        sum_ns += ns;
        left -= runs;
    }
    *took_ns = (pp_ns)(sum_ns + 0.5);
    return PP_OK;
}

pp_status pp_gpu_heat(pp_gpu *gpu, pp_gpu_task *task, pp_ns least_ns, pp_err *err)
{
    const int64_t end_ns = gpu->services->clock_now_ns() + least_ns;
    pp_status status = PP_OK;
    while (!status && gpu->services->clock_now_ns() < end_ns) {
        for (uint32_t i = 0; i < 4 && !status; i++)
            status = pp_gpu_task_launch(task, false, err);
        if (!status)
            status = pp_gpu_finish(gpu, gpu->stream, err);
    }
    return status;
}
