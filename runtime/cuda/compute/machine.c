/* The machine of compute cuda: the GPU of one rank, its stream and its events. Times of the GPU are
 * converted to the host's clock by an event whose time on both clocks is known. That event is
 * renewed every second, because CUDA returns the time between events as a float. */
#include "runtime/cuda/compute/machine.h"

#include "runtime/cuda/compute/machine_tables.h"
#include "runtime/cuda/compute/memory.h"

#include <stdlib.h>

#define JOINED_NS         \
    ((pp_ns)1000 * 1000 * \
     1000) /* the time between events, a float in ms, then has a resolution of 60 ns */

void pp_gpu_keep(pp_gpu_machine *m, cudaError_t code, const char *what)
{
    if (code && !m->status)
        m->status = pp_gpu_check(m->services, m->rank, code, what, &m->failure);
}

/* The stream has the lowest priority: messages go first. */
static pp_status open_stream(pp_gpu_machine *m, pp_err *err)
{
    int least = 0;
    int greatest = 0;
    cudaError_t code = cudaSetDevice(m->device);
    if (!code)
        code = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    if (!code)
        code = cudaStreamCreateWithPriority(&m->stream, cudaStreamNonBlocking, least);
    if (code)
        return pp_gpu_check(m->services, m->rank, code, "making a stream", err);
    cudaEvent_t *const event[] = { &m->origin, &m->begin, &m->end };
    for (size_t i = 0; i < sizeof event / sizeof event[0] && !code; i++)
        code = cudaEventCreate(event[i]);
    return pp_gpu_check(m->services, m->rank, code, "making an event", err);
}

pp_status pp_gpu_machine_open(const pp_module_services *services, const pp_cpu_model *model,
                              uint32_t rank, void **machine_out, pp_err *err)
{
    pp_gpu_machine *m = calloc(1, sizeof *m);
    if (!m)
        return services->err_set(err, PP_NOMEM, NULL, "out of memory");
    m->services = services;
    m->model = model;
    m->rank = rank;
    m->type = model->settings.bf16 ? PP_GPU_BF16 : PP_GPU_F32;
    pp_status status = pp_gpu_of_rank(services, rank, &m->device, err);
    if (!status)
        status = open_stream(m, err);
    if (!status)
        status = pp_gpu_gemm_open(services, rank, &m->blas, err);
    if (!status)
        status = pp_gpu_tables_open(m, err);
    if (status)
        pp_gpu_machine_close(m);
    else
        *machine_out = m;
    return status;
}

void pp_gpu_machine_close(void *machine)
{
    pp_gpu_machine *m = machine;
    if (!m)
        return;
    (void)cudaSetDevice(m->device);
    cudaEvent_t const event[] = { m->origin, m->begin, m->end };
    for (size_t i = 0; i < sizeof event / sizeof event[0]; i++)
        if (event[i])
            (void)cudaEventDestroy(event[i]);
    if (m->stream)
        (void)cudaStreamDestroy(m->stream);
    pp_gpu_gemm_close(m->blas);
    pp_gpu_tables_close(m);
    free(m);
}

static void await(pp_gpu_machine *m, cudaEvent_t event)
{
    cudaError_t code = cudaErrorNotReady;
    for (uint32_t rounds = 0; !m->status && code == cudaErrorNotReady; pp_gpu_pause(&rounds)) {
        code = cudaEventQuery(event);
        if (code != cudaErrorNotReady)
            pp_gpu_keep(m, code, "computing");
    }
}

/* Records an event and waits for it, so that its time is known on both clocks. */
static void join_clocks(pp_gpu_machine *m)
{
    pp_gpu_keep(m, cudaEventRecord(m->origin, m->stream), "recording an event");
    await(m, m->origin);
    m->origin_ns = m->services->clock_now_ns();
}

void pp_gpu_machine_start(void *machine)
{
    pp_gpu_machine *m = machine;
    pp_gpu_keep(m, cudaSetDevice(m->device), "choosing its GPU"); /* of this thread */
    if (!m->origin_ns || m->services->clock_now_ns() - m->origin_ns > JOINED_NS)
        join_clocks(m);
    if (!m->status)
        pp_gpu_keep(m, cudaEventRecord(m->begin, m->stream), "recording an event");
    m->started = true;
}

static pp_ns time_of(pp_gpu_machine *m, cudaEvent_t event)
{
    float since_ms = 0;
    if (!m->status)
        pp_gpu_keep(m, cudaEventElapsedTime(&since_ms, m->origin, event), "reading an event");
    return m->origin_ns + (pp_ns)((double)since_ms * 1e6);
}

pp_status pp_gpu_machine_finish(void *machine, pp_err *err)
{
    pp_gpu_machine *m = machine;
    if (m->started && !m->status) {
        pp_gpu_keep(m, cudaEventRecord(m->end, m->stream), "recording an event");
        await(m, m->end);
        m->begin_ns = time_of(m, m->begin);
        m->end_ns = time_of(m, m->end);
    }
    if (m->started && m->status) { /* its memory is freed next, which earlier launches still use */
        (void)cudaSetDevice(m->device);
        (void)cudaStreamSynchronize(m->stream);
    }
    m->started = false;
    if (m->status)
        return m->services->err_set(err, m->status, NULL, "%s", m->failure.text);
    return PP_OK;
}

void pp_gpu_machine_times(const void *machine, pp_ns *start_ns, pp_ns *end_ns)
{
    const pp_gpu_machine *m = machine;
    *start_ns = m->begin_ns;
    *end_ns = m->end_ns;
}
