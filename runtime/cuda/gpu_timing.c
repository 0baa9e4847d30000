/* Times by events in the GPU's stream. The stream is held by the host until all runs of a timing
 * are in it, so that what the host takes to launch them does not count. */
#include "runtime/cuda/gpu_int.h"

#include <errno.h>

enum { BATCH = 128 }; /* launches that wait; a stream takes about a thousand */
/* What waits beside a timing. NCCL has about three entries in the stream for a message. */
enum { BESIDE_MAX = 512, MESSAGES_MAX = 128 };

static void pass_gate(void *argument)
{
    pp_gpu *gpu = argument;
    while (sem_wait(&gpu->gate) && errno == EINTR) {
    }
}

/* What runs beside begins when the gate opens, too. */
static pp_status launch_beside(pp_gpu *gpu, pp_gpu_task *beside, pp_err *err)
{
    const cudaStream_t stream = pp_gpu_task_stream(beside);
    pp_status status = pp_gpu_checked(gpu, cudaEventRecord(gpu->gate_open, gpu->stream),
                                      "recording an event", err);
    if (!status)
        status = pp_gpu_checked(gpu, cudaStreamWaitEvent(stream, gpu->gate_open, 0),
                                "waiting for an event", err);
    for (uint32_t i = 0; i < beside->beside_runs && !status; i++)
        status = pp_gpu_task_launch(beside, true, err);
    if (!status)
        status =
            pp_gpu_checked(gpu, cudaEventRecord(gpu->other_end, stream), "recording an event", err);
    return status;
}

static pp_status launch_all(pp_gpu *gpu, pp_gpu_task *task, uint32_t runs, const pp_gpu_timing *how,
                            pp_err *err)
{
    pp_status status = pp_gpu_task_mend(task, runs, err);
    if (!status && how->beside)
        status = launch_beside(gpu, how->beside, err);
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
    if (status && how->beside)
        pp_gpu_task_give_up(how->beside);
    pp_status done = pp_gpu_finish(gpu, gpu->stream, err);
    if (how->beside && !done)
        done = pp_gpu_finish(gpu, pp_gpu_task_stream(how->beside), err);
    status = status ? status : done;
    if (!status && how->posting)
        *ns_out = (double)gpu->posted_ns;
    else if (!status)
        status = elapsed(gpu, gpu->begin, gpu->end, ns_out, err);
    return status;
}

/* Again, with more of what runs beside it, where that was over first. */
static pp_status time_beside(pp_gpu *gpu, pp_gpu_task *task, uint32_t runs,
                             const pp_gpu_timing *how, double *ns_out, pp_err *err)
{
    for (;;) {
        double own_ns = 0, other_ns = 0;
        pp_status status = time_batch(gpu, task, runs, how, ns_out, err);
        if (!status && how->beside)
            status = elapsed(gpu, gpu->gate_open, gpu->end, &own_ns, err);
        if (!status && how->beside)
            status = elapsed(gpu, gpu->gate_open, gpu->other_end, &other_ns, err);
        if (status || other_ns >= own_ns)
            return status;
        how->beside->beside_runs *= 2;
        if (how->beside->beside_runs > (how->beside->has_queue ? MESSAGES_MAX : BESIDE_MAX))
            return gpu->services->err_set(err, PP_IO, NULL,
                                          "GPU %u: what runs beside is over too soon; choose "
                                          "smaller ones",
                                          gpu->number);
    }
}

pp_status pp_gpu_time(pp_gpu *gpu, pp_gpu_task *task, const pp_gpu_timing *how, pp_ns *took_ns,
                      pp_err *err)
{
    const bool messages = how->beside && how->beside->has_queue;
    const uint32_t most = how->cold                    ? 1
                          : task->spoils               ? task->sets
                          : messages                   ? BATCH / 32
                          : how->beside || task->graph ? BATCH / 8 /* several launches each */
                                                       : BATCH;
    double sum_ns = 0;
    for (uint32_t left = how->runs; left > 0;) {
        const uint32_t runs = left < most ? left : most;
        double ns = 0;
        pp_status status = time_beside(gpu, task, runs, how, &ns, err);
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
