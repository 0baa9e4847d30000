/* Work on one GPU, timed by events in its stream. The stream is held by the host until all runs of
 * a timing are in it, so that what the host takes to launch them does not count. */
#include "runtime/cuda/gpu.h"

#include "runtime/cuda/cudnn.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/gemm.h"
#include "runtime/cuda/machine.h"
#include "runtime/cuda/self.h"
#include "runtime/cuda/work.h"

#include <assert.h>
#include <cublasLt.h>
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 128 }; /* launches that wait; a stream takes about a thousand */
enum { SETS_MAX = 16, BLOCK_BYTES = 1 << 20 };
/* What waits beside a timing. NCCL has about three entries in the stream for a message. */
enum { BESIDE_MAX = 512, MESSAGES_MAX = 128 };

struct pp_gpu {
    const pp_module_services *services;
    uint32_t number;
    pp_gpu_facts facts;
    cudaStream_t stream, other;
    pp_gpu_blas *blas, *other_blas;
    pp_cudnn *cudnn; /* NULL: nobody asked for it */
    pp_world *self;  /* of messages; NULL: there were none yet */
    pp_ns posted_ns; /* what the host took to launch the last batch */
    cudaEvent_t gate_open, begin, end, other_end;
    sem_t gate;
    void *flushed; /* [2 cache_bytes] */
    char *block;   /* [BLOCK_BYTES], pinned: what operands are filled with */
};

struct pp_gpu_task {
    pp_gpu *gpu;
    pp_gpu_work work;
    uint32_t sets, next;
    pp_gpu_operand of[PP_GPU_OPERANDS];
    bool spoils;                     /* some operand */
    pp_cudnn_graph *graph, *forward; /* cuDNN's, of the work, and of what precedes backward */
    size_t workspace_bytes;          /* theirs */
    char *operand[SETS_MAX][PP_GPU_OPERANDS];
    size_t queue; /* of a message */
    bool has_queue;
    uint32_t beside_runs; /* that last longer than what it was last timed beside */
};

static pp_status check(const pp_gpu *gpu, cudaError_t code, const char *what, pp_err *err)
{
    return pp_gpu_check(gpu->services, gpu->number, code, what, err);
}

static pp_gpu_gemm_call call_of(const pp_gpu_task *task, uint32_t set)
{
    const pp_gpu_work *w = &task->work;
    return (pp_gpu_gemm_call){ .product = w->product,
                               .in = w->in,
                               .out = w->out,
                               .m = w->m,
                               .n = w->n,
                               .k = w->k,
                               .a = task->operand[set][0],
                               .b = task->operand[set][1],
                               .c = task->operand[set][2],
                               .a_step = w->product == PP_GPU_ATB ? w->m : w->k,
                               .b_step = w->product == PP_GPU_ABT ? w->k : w->n,
                               .c_step = w->n,
                               .add = w->add,
                               .multiprocessors = w->multiprocessors };
}

/* Once, with the next set of operands. */
static pp_status launch(pp_gpu_task *task, bool on_other, pp_err *err)
{
    const pp_gpu *gpu = task->gpu;
    const uint32_t set = task->next++ % task->sets;
    const cudaStream_t stream = on_other ? gpu->other : gpu->stream;
    if (task->work.kind == PP_GPU_MESSAGE) {
        assert(on_other);
        return pp_gpu_self_send(gpu->self, task->queue, task->operand[set][0],
                                task->operand[set][1], (size_t)task->work.bytes, err);
    }
    if (task->graph)
        return pp_cudnn_launch(gpu->cudnn, task->graph, &task->work, task->operand[set], stream,
                               err);
    if (task->work.kind != PP_GPU_MULTIPLY)
        return check(gpu, pp_gpu_work_launch(&task->work, gpu->number, task->operand[set], stream),
                     "launching the work", err);
    const pp_gpu_gemm_call call = call_of(task, set);
    return pp_gpu_gemm(on_other ? gpu->other_blas : gpu->blas, &call, stream, err);
}

/* Where it runs beside something else. */
static cudaStream_t other_stream(const pp_gpu_task *task)
{
    return task->has_queue ? pp_gpu_self_stream(task->gpu->self, task->queue) : task->gpu->other;
}

/* Nobody can wait for a message that failed. */
static void give_up_messages(const pp_gpu_task *task)
{
    pp_err ignored = { 0 };
    if (task->has_queue)
        (void)pp_nccl_leave(task->gpu->self, task->gpu->self->rank, &ignored);
}

static pp_status finish(const pp_gpu *gpu, cudaStream_t stream, pp_err *err)
{
    return check(gpu, cudaStreamSynchronize(stream), "the work", err);
}

/* Numbers of 16 bits between -1 and 1; two of them are a float between -1 and 1. */
static void make_block(char *block)
{
    uint64_t state = 1;
    for (size_t i = 0; i < BLOCK_BYTES; i += 2) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const float value = ((float)(state >> 40) + 0.5F) * 0x1p-23F - 1;
        __builtin_memcpy(block + i, (const char *)&value + 2, 2); /* little-endian */
    }
}

static cudaError_t open_streams(pp_gpu *gpu)
{
    cudaEvent_t *const events[] = { &gpu->gate_open, &gpu->begin, &gpu->end, &gpu->other_end };
    cudaError_t code = cudaStreamCreateWithPriority(&gpu->stream, cudaStreamNonBlocking, 0);
    if (!code)
        code = cudaStreamCreateWithPriority(&gpu->other, cudaStreamNonBlocking, 0);
    for (size_t i = 0; i < sizeof events / sizeof events[0] && !code; i++)
        code = cudaEventCreate(events[i]);
    return code;
}

static cudaError_t read_facts(pp_gpu *gpu)
{
    struct cudaDeviceProp properties;
    int driver = 0, runtime = 0;
    cudaError_t code = cudaGetDeviceProperties(&properties, (int)gpu->number);
    if (!code)
        code = cudaDriverGetVersion(&driver);
    if (!code)
        code = cudaRuntimeGetVersion(&runtime);
    if (code)
        return code;
    gpu->facts = (pp_gpu_facts){ .multiprocessors = properties.multiProcessorCount,
                                 .cache_bytes = properties.l2CacheSize,
                                 .memory_bytes = (int64_t)properties.totalGlobalMem,
                                 .visible = gpu->facts.visible };
    snprintf(gpu->facts.name, sizeof gpu->facts.name, "%.127s", properties.name);
    snprintf(gpu->facts.software, sizeof gpu->facts.software,
             "CUDA %d.%d, driver %d.%d, cuBLASLt %zu", runtime / 1000, runtime / 10 % 100,
             driver / 1000, driver / 10 % 100, cublasLtGetVersion());
    return cudaSuccess;
}

static void close_gpu(pp_gpu *gpu)
{
    if (!gpu)
        return;
    cudaEvent_t const events[] = { gpu->gate_open, gpu->begin, gpu->end, gpu->other_end };
    if (gpu->self)
        pp_nccl_transport.close(gpu->self);
    (void)cudaSetDevice((int)gpu->number);
    pp_cudnn_close(gpu->cudnn);
    pp_gpu_gemm_close(gpu->blas);
    pp_gpu_gemm_close(gpu->other_blas);
    (void)cudaFree(gpu->flushed);
    (void)cudaFreeHost(gpu->block);
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        if (events[i])
            (void)cudaEventDestroy(events[i]);
    }
    if (gpu->stream)
        (void)cudaStreamDestroy(gpu->stream);
    if (gpu->other)
        (void)cudaStreamDestroy(gpu->other);
    (void)sem_destroy(&gpu->gate);
    free(gpu);
}

static pp_status open_parts(pp_gpu *gpu, pp_err *err)
{
    pp_status status = check(gpu, cudaSetDevice((int)gpu->number), "choosing the GPU", err);
    if (!status)
        status = check(gpu, read_facts(gpu), "asking what the GPU is", err);
    if (!status && ncclGetVersion(&gpu->facts.nccl))
        status = gpu->services->err_set(err, PP_IO, NULL, "NCCL does not say its version");
    if (!status)
        status = check(gpu, open_streams(gpu), "making streams and events", err);
    if (!status)
        status = pp_gpu_gemm_open(gpu->services, gpu->number, &gpu->blas, err);
    if (!status)
        status = pp_gpu_gemm_open(gpu->services, gpu->number, &gpu->other_blas, err);
    if (!status)
        status = check(gpu, cudaMalloc(&gpu->flushed, 2 * (size_t)gpu->facts.cache_bytes),
                       "memory that fills the cache", err);
    if (!status) /* the first time loads what sets memory, which may wait for the whole GPU */
        status = check(
            gpu, cudaMemsetAsync(gpu->flushed, 0, 2 * (size_t)gpu->facts.cache_bytes, gpu->stream),
            "filling the cache", err);
    if (!status)
        status = finish(gpu, gpu->stream, err);
    if (!status)
        status =
            check(gpu, cudaMallocHost((void **)&gpu->block, BLOCK_BYTES), "pinned memory", err);
    if (!status)
        make_block(gpu->block);
    return status;
}

/* Behind the gate a launch that waits for its kernel would not return. */
static pp_status check_launches(const pp_module_services *services, pp_err *err)
{
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    if (!blocking || !*blocking || strcmp(blocking, "0") == 0)
        return PP_OK;
    return services->err_set(err, PP_USAGE, "CUDA_LAUNCH_BLOCKING",
                             "is %.20s: a launch would wait for its kernel, and kernels are timed "
                             "by launches that do not wait; unset it",
                             blocking);
}

static pp_status open_gpu(const pp_module_services *services, uint32_t number, pp_gpu **gpu_out,
                          pp_err *err)
{
    int gpus = 0;
    pp_status status = pp_gpu_count(services, &gpus, err);
    if (!status)
        status = check_launches(services, err);
    if (status)
        return status;
    if (number >= (uint32_t)gpus)
        return services->err_set(err, PP_UNAVAILABLE, NULL,
                                 "there is no GPU %u, %d are visible, counted from 0", number,
                                 gpus);
    pp_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return services->err_set(err, PP_NOMEM, NULL, "out of memory");
    gpu->services = services;
    gpu->number = number;
    gpu->facts.visible = (uint32_t)gpus;
    (void)sem_init(&gpu->gate, 0, 0); /* fails for shared ones and huge values only */
    status = open_parts(gpu, err);
    if (status) {
        close_gpu(gpu);
        return status;
    }
    *gpu_out = gpu;
    return PP_OK;
}

static const pp_gpu_facts *facts(const pp_gpu *gpu)
{
    return &gpu->facts;
}

/* Memory that lies elsewhere is not filled: what is copied does not matter. */
static cudaError_t take(const pp_gpu_task *task, const pp_gpu_operand *of, char **out)
{
    if (of->place == PP_GPU_HOST)
        return cudaMallocHost((void **)out, of->bytes);
    if (of->place == PP_GPU_HERE)
        return cudaMalloc((void **)out, of->bytes);
    /* Without access, or with it since before, the copy takes another way. */
    (void)cudaDeviceEnablePeerAccess((int)task->work.peer, 0);
    (void)cudaGetLastError();
    cudaError_t code = cudaSetDevice((int)task->work.peer);
    if (!code)
        code = cudaMalloc((void **)out, of->bytes);
    cudaError_t back = cudaSetDevice((int)task->gpu->number);
    return code ? code : back;
}

static void give(const pp_gpu_operand *of, char *at)
{
    (void)(of->place == PP_GPU_HOST ? cudaFreeHost(at) : cudaFree(at));
}

static void release(pp_gpu_task *task)
{
    if (!task)
        return;
    (void)cudaStreamSynchronize(task->gpu->stream);
    (void)cudaStreamSynchronize(other_stream(task));
    for (uint32_t s = 0; s < task->sets; s++) {
        for (int i = 0; i < PP_GPU_OPERANDS; i++)
            give(&task->of[i], task->operand[s][i]);
    }
    free(task);
}

/* The block, then again and again what is there already. */
static cudaError_t fill_random(const pp_gpu *gpu, char *to, size_t bytes)
{
    size_t done = bytes < BLOCK_BYTES ? bytes : BLOCK_BYTES;
    cudaError_t code = cudaMemcpyAsync(to, gpu->block, done, cudaMemcpyHostToDevice, gpu->stream);
    while (done < bytes && !code) {
        const size_t more = bytes - done < done ? bytes - done : done;
        code = cudaMemcpyAsync(to + done, to, more, cudaMemcpyDeviceToDevice, gpu->stream);
        done += more;
    }
    return code;
}

static pp_status fill_table(const pp_gpu_task *task, int index, char *to, pp_err *err)
{
    const size_t bytes = task->of[index].bytes;
    void *table = malloc(bytes);
    if (!table)
        return task->gpu->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    if (task->graph)
        pp_cudnn_table(&task->work, table);
    else
        pp_gpu_work_table(&task->work, index, table);
    cudaError_t code = pp_gpu_copy(to, table, bytes);
    free(table);
    return check(task->gpu, code, "filling operands", err);
}

static pp_status fill(const pp_gpu_task *task, int index, char *to, pp_err *err)
{
    const pp_gpu *gpu = task->gpu;
    const pp_gpu_operand *of = &task->of[index];
    if (of->filling == PP_GPU_TABLE)
        return fill_table(task, index, to, err);
    return check(gpu,
                 of->filling == PP_GPU_ZERO ? cudaMemsetAsync(to, 0, of->bytes, gpu->stream)
                                            : fill_random(gpu, to, of->bytes),
                 "filling operands", err);
}

static pp_status take_memory(pp_gpu_task *task, pp_err *err)
{
    size_t all = 0;
    if (task->graph)
        pp_cudnn_operands(&task->work, task->workspace_bytes, task->of);
    else
        pp_gpu_work_operands(&task->work, task->of);
    for (int i = 0; i < PP_GPU_OPERANDS; i++) {
        all += task->of[i].bytes;
        task->spoils |= task->of[i].spoiled;
    }
    const size_t wanted = 1 + 2 * (size_t)task->gpu->facts.cache_bytes / all;
    task->sets = wanted < SETS_MAX ? (uint32_t)wanted : SETS_MAX;
    pp_status status = PP_OK;
    for (uint32_t s = 0; s < task->sets && !status; s++) {
        for (int i = 0; i < PP_GPU_OPERANDS && !status; i++) {
            char **operand = &task->operand[s][i];
            if (task->of[i].bytes == 0)
                continue;
            status = check(task->gpu, take(task, &task->of[i], operand), "operands", err);
            if (!status && task->of[i].place == PP_GPU_HERE)
                status = fill(task, i, *operand, err);
        }
    }
    return status;
}

/* Of the sets that the next runs use. */
static pp_status mend(const pp_gpu_task *task, uint32_t runs, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t r = 0; r < runs && task->spoils; r++) {
        for (int i = 0; i < PP_GPU_OPERANDS && !status; i++) {
            if (task->of[i].spoiled)
                status = fill(task, i, task->operand[(task->next + r) % task->sets][i], err);
        }
    }
    return status;
}

static pp_status describe(const pp_gpu_task *task, char *how, size_t size, pp_err *err)
{
    how[0] = '\0';
    if (task->graph)
        snprintf(how, size, "cuDNN %s, %s", pp_cudnn_version(task->gpu->cudnn),
                 pp_cudnn_graph_name(task->graph));
    if (task->work.kind != PP_GPU_MULTIPLY)
        return PP_OK;
    pp_gpu_gemm_choice c;
    const pp_gpu_gemm_call call = call_of(task, 0);
    pp_status status = pp_gpu_gemm_choose(task->gpu->blas, &call, &c, err);
    if (!status)
        snprintf(how, size, "algorithm %d, tile %u, stages %u, split-K %d, %.3g waves, %zu B",
                 c.algorithm, c.tile, c.stages, c.split_k, (double)c.waves, c.workspace_bytes);
    return status;
}

/* The first run of a kernel loads it, which may wait for the whole GPU. */
static pp_status run_once(pp_gpu_task *task, pp_err *err)
{
    for (int other = task->has_queue; other < 2; other++) {
        pp_status status = launch(task, other, err);
        if (!status)
            status = finish(task->gpu, other ? other_stream(task) : task->gpu->stream, err);
        if (status)
            return status;
    }
    return PP_OK;
}

static pp_status find_graphs(pp_gpu_task *task, pp_err *err)
{
    pp_cudnn *cudnn = task->gpu->cudnn;
    size_t forward_bytes = 0;
    const bool backward = task->work.kind == PP_GPU_CUDNN_BACKWARD;
    if (!pp_cudnn_does(task->work.kind))
        return PP_OK;
    pp_status status =
        pp_cudnn_find(cudnn, &task->work, backward, &task->graph, &task->workspace_bytes, err);
    if (!status && backward)
        status = pp_cudnn_find(cudnn, &task->work, false, &task->forward, &forward_bytes, err);
    if (forward_bytes > task->workspace_bytes)
        task->workspace_bytes = forward_bytes;
    return status;
}

/* Backward takes the output and the statistics of forward. */
static pp_status run_forward(const pp_gpu_task *task, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t s = 0; s < task->sets && task->forward && !status; s++)
        status = pp_cudnn_launch(task->gpu->cudnn, task->forward, &task->work, task->operand[s],
                                 task->gpu->stream, err);
    return status;
}

static pp_status prepare(pp_gpu *gpu, const pp_gpu_work *work, pp_gpu_task **task_out,
                         char *how_out, size_t how_size, pp_err *err)
{
    pp_gpu_task *task = calloc(1, sizeof *task);
    if (!task)
        return gpu->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    *task = (pp_gpu_task){ .gpu = gpu, .work = *work, .beside_runs = 1 };
    pp_status status = find_graphs(task, err);
    if (!status)
        status = take_memory(task, err);
    if (!status)
        status = run_forward(task, err);
    if (!status)
        status = finish(gpu, gpu->stream, err);
    if (!status && work->kind == PP_GPU_MESSAGE) {
        status = pp_gpu_self_queue(gpu->services, gpu->number, work->channels, &gpu->self,
                                   &task->queue, err);
        task->has_queue = !status;
    }
    if (!status)
        status = describe(task, how_out, how_size, err);
    if (!status)
        status = run_once(task, err);
    if (status) {
        give_up_messages(task);
        release(task);
        return status;
    }
    *task_out = task;
    return PP_OK;
}

static void pass_gate(void *argument)
{
    pp_gpu *gpu = argument;
    while (sem_wait(&gpu->gate) && errno == EINTR) {
    }
}

/* What runs beside begins when the gate opens, too. */
static pp_status launch_beside(pp_gpu *gpu, pp_gpu_task *beside, pp_err *err)
{
    const cudaStream_t stream = other_stream(beside);
    pp_status status =
        check(gpu, cudaEventRecord(gpu->gate_open, gpu->stream), "recording an event", err);
    if (!status)
        status =
            check(gpu, cudaStreamWaitEvent(stream, gpu->gate_open, 0), "waiting for an event", err);
    for (uint32_t i = 0; i < beside->beside_runs && !status; i++)
        status = launch(beside, true, err);
    if (!status)
        status = check(gpu, cudaEventRecord(gpu->other_end, stream), "recording an event", err);
    return status;
}

static pp_status launch_all(pp_gpu *gpu, pp_gpu_task *task, uint32_t runs, const pp_gpu_timing *how,
                            pp_err *err)
{
    pp_status status = mend(task, runs, err);
    if (!status && how->beside)
        status = launch_beside(gpu, how->beside, err);
    if (!status && how->cold)
        status = check(gpu,
                       cudaMemsetAsync(gpu->flushed, (int)task->next % 256,
                                       2 * (size_t)gpu->facts.cache_bytes, gpu->stream),
                       "filling the cache", err);
    if (!status)
        status = check(gpu, cudaEventRecord(gpu->begin, gpu->stream), "recording an event", err);
    const pp_ns began_ns = gpu->services->clock_now_ns();
    for (uint32_t i = 0; i < runs && !status; i++)
        status = launch(task, false, err);
    gpu->posted_ns = gpu->services->clock_now_ns() - began_ns;
    if (!status)
        status = check(gpu, cudaEventRecord(gpu->end, gpu->stream), "recording an event", err);
    return status;
}

static pp_status elapsed(const pp_gpu *gpu, cudaEvent_t from, cudaEvent_t to, double *ns_out,
                         pp_err *err)
{
    float ms = 0;
    pp_status status = check(gpu, cudaEventElapsedTime(&ms, from, to), "reading an event", err);
    *ns_out = (double)ms * 1e6;
    return status;
}

static pp_status time_batch(pp_gpu *gpu, pp_gpu_task *task, uint32_t runs, const pp_gpu_timing *how,
                            double *ns_out, pp_err *err)
{
    pp_status status =
        check(gpu, cudaLaunchHostFunc(gpu->stream, pass_gate, gpu), "holding the stream", err);
    if (status)
        return status;
    status = launch_all(gpu, task, runs, how, err);
    (void)sem_post(&gpu->gate);
    if (status && how->beside)
        give_up_messages(how->beside);
    pp_status done = finish(gpu, gpu->stream, err);
    if (how->beside && !done)
        done = finish(gpu, other_stream(how->beside), err);
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

static pp_status time_task(pp_gpu *gpu, pp_gpu_task *task, const pp_gpu_timing *how, pp_ns *took_ns,
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

static pp_status heat(pp_gpu *gpu, pp_gpu_task *task, pp_ns least_ns, pp_err *err)
{
    const int64_t end_ns = gpu->services->clock_now_ns() + least_ns;
    pp_status status = PP_OK;
    while (!status && gpu->services->clock_now_ns() < end_ns) {
        for (uint32_t i = 0; i < 4 && !status; i++)
            status = launch(task, false, err);
        if (!status)
            status = finish(gpu, gpu->stream, err);
    }
    return status;
}

static pp_status open_cudnn(pp_gpu *gpu, int64_t heads, int64_t width, const char **version_out,
                            pp_err *err)
{
    pp_status status = PP_OK;
    if (!gpu->cudnn)
        status = pp_cudnn_open(gpu->services, gpu->number, &gpu->cudnn, err);
    if (!status)
        status =
            pp_cudnn_check(gpu->cudnn, gpu->services, gpu->number, heads, width, gpu->stream, err);
    if (!status)
        *version_out = pp_cudnn_version(gpu->cudnn);
    return status;
}

const pp_gpu_table pp_gpu_calls = {
    .open = open_gpu,
    .close = close_gpu,
    .facts = facts,
    .open_cudnn = open_cudnn,
    .prepare = prepare,
    .release = release,
    .time = time_task,
    .heat = heat,
};
