/* Work that is timed on a GPU: as many sets of operands as the cache does not hold, filled with
 * pseudo-random numbers and used in turn, and the launch of each kind of work. */
#include "runtime/cuda/timing/gpu_task.h"

#include "runtime/cuda/compute/machine.h"
#include "runtime/cuda/compute/memory.h"
#include "runtime/cuda/nccl/nccl_wait.h"
#include "runtime/cuda/timing/products.h"
#include "runtime/cuda/timing/values.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Keeps a failure of messages, which then stay unavailable; other work can still be timed. */
static pp_status of_messages(pp_gpu *gpu, pp_status status, pp_err *err)
{
    if (!status || status == PP_NOMEM)
        return status;
    if (!gpu->self_failed.status)
        gpu->self_failed = *err;
    gpu->self_failed.status = PP_UNAVAILABLE;
    *err = gpu->self_failed;
    return PP_UNAVAILABLE;
}

pp_status pp_gpu_task_launch(pp_gpu_task *task, bool on_other, pp_err *err)
{
    pp_gpu *gpu = task->gpu;
    const uint32_t set = task->next++ % task->sets;
    const cudaStream_t stream = on_other ? gpu->other : gpu->stream;
    if (task->work.kind == PP_GPU_MESSAGE) {
        assert(on_other);
        return of_messages(gpu,
                           pp_gpu_self_send(gpu->self, task->queue, task->operand[set][0],
                                            task->operand[set][1], (size_t)task->work.bytes, err),
                           err);
    }
    if (task->graph)
        return pp_cudnn_launch(gpu->cudnn, task->graph, &task->work, task->operand[set], stream,
                               err);
    if (task->work.kind == PP_GPU_GROUPED)
        return pp_gpu_group_launch(task, set, stream, err);
    if (task->work.kind != PP_GPU_MULTIPLY)
        return pp_gpu_checked(
            gpu, pp_gpu_work_launch(&task->work, gpu->number, task->operand[set], stream),
            "launching the work", err);
    const pp_gpu_gemm_call call = pp_gpu_product_call(task, set);
    return pp_gpu_gemm(on_other ? gpu->other_blas : gpu->blas, &call, stream, err);
}

/* Returns the stream on which the work runs concurrently with other work. */
cudaStream_t pp_gpu_task_stream(const pp_gpu_task *task)
{
    return task->has_queue ? pp_gpu_self_stream(task->gpu->self, task->queue) : task->gpu->other;
}

/* Aborts the communicator of a message that failed, since the message never ends. */
void pp_gpu_task_give_up(const pp_gpu_task *task)
{
    pp_err ignored = { 0 };
    if (task->has_queue)
        (void)pp_nccl_leave(task->gpu->self, task->gpu->self->rank, &ignored);
}

/* Takes the memory of an operand. Memory that is not on this GPU is not filled, since it is only
 * copied. */
static cudaError_t take(const pp_gpu_task *task, const pp_gpu_operand *of, char **out)
{
    if (of->place == PP_GPU_HOST)
        return cudaMallocHost((void **)out, of->bytes);
    if (of->place == PP_GPU_HERE)
        return cudaMalloc((void **)out, of->bytes);
    /* A failure does not matter: access is on already, or the copy goes through the host. */
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

static void give_memory(pp_gpu_task *task)
{
    for (uint32_t s = 0; s < task->sets; s++) {
        for (int i = 0; i < PP_GPU_OPERANDS; i++) {
            give(&task->of[i], task->operand[s][i]);
            task->operand[s][i] = NULL;
        }
    }
}

void pp_gpu_release(pp_gpu_task *task)
{
    if (!task)
        return;
    (void)cudaStreamSynchronize(task->gpu->stream);
    (void)cudaStreamSynchronize(pp_gpu_task_stream(task));
    pp_gpu_lanes_finish(task->gpu);
    give_memory(task);
    free(task);
}

/* Copies the block, then doubles the filled part until everything is filled. */
static cudaError_t fill_random(const pp_gpu *gpu, const char *block, char *to, size_t bytes)
{
    size_t done = bytes < PP_GPU_BLOCK_BYTES ? bytes : PP_GPU_BLOCK_BYTES;
    cudaError_t code = cudaMemcpyAsync(to, block, done, cudaMemcpyHostToDevice, gpu->stream);
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
    return pp_gpu_checked(task->gpu, code, "filling operands", err);
}

static pp_status fill(const pp_gpu_task *task, int index, char *to, pp_err *err)
{
    const pp_gpu *gpu = task->gpu;
    const pp_gpu_operand *of = &task->of[index];
    if (of->filling == PP_GPU_TABLE)
        return fill_table(task, index, to, err);
    return pp_gpu_checked(
        gpu,
        of->filling == PP_GPU_ZERO
            ? cudaMemsetAsync(to, 0, of->bytes, gpu->stream)
            : fill_random(gpu, of->filling == PP_GPU_RANDOM_8 ? gpu->block_8 : gpu->block, to,
                          of->bytes),
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
    task->sets = wanted < PP_GPU_SETS_MAX ? (uint32_t)wanted : PP_GPU_SETS_MAX;
    pp_status status = PP_OK;
    for (uint32_t s = 0; s < task->sets && !status; s++) {
        for (int i = 0; i < PP_GPU_OPERANDS && !status; i++) {
            char **operand = &task->operand[s][i];
            if (task->of[i].bytes == 0)
                continue;
            status = pp_gpu_checked(task->gpu, take(task, &task->of[i], operand), "operands", err);
            if (status == PP_NOMEM) /* other work may have room */
                status = err->status = PP_UNAVAILABLE;
            if (!status && task->of[i].place == PP_GPU_HERE)
                status = fill(task, i, *operand, err);
        }
    }
    return status;
}

/* Refills the overwritten operands of the sets that the next runs use. */
pp_status pp_gpu_task_mend(const pp_gpu_task *task, uint32_t runs, pp_err *err)
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

pp_status pp_gpu_task_grow(pp_gpu_task *task, bool *grown_out, pp_err *err)
{
    const int64_t most = task->gpu->facts.memory_bytes / 8;
    *grown_out = task->work.bytes <= most / 2;
    if (!*grown_out)
        return PP_OK;
    give_memory(task);
    task->work.bytes *= 2;
    pp_status status = take_memory(task, err);
    return status ? status : pp_gpu_finish(task->gpu, task->gpu->stream, err);
}

static pp_status describe(const pp_gpu_task *task, char *how, size_t size, pp_err *err)
{
    how[0] = '\0';
    if (task->graph)
        snprintf(how, size, "cuDNN %s, %s", pp_cudnn_version(task->gpu->cudnn),
                 pp_cudnn_graph_name(task->graph));
    return pp_gpu_product_describe(task, how, size, err);
}

/* Runs the work once. The first run of a kernel loads it, which may wait for the whole GPU. */
static pp_status run_once(pp_gpu_task *task, pp_err *err)
{
    for (int other = task->has_queue; other < 2; other++) {
        pp_status status = pp_gpu_task_launch(task, other, err);
        if (!status)
            status =
                pp_gpu_finish(task->gpu, other ? pp_gpu_task_stream(task) : task->gpu->stream, err);
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

/* Runs forward, whose output and statistics backward needs. */
static pp_status run_forward(const pp_gpu_task *task, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t s = 0; s < task->sets && task->forward && !status; s++)
        status = pp_cudnn_launch(task->gpu->cudnn, task->forward, &task->work, task->operand[s],
                                 task->gpu->stream, err);
    return status;
}

pp_status pp_gpu_prepare(pp_gpu *gpu, const pp_gpu_work *work, pp_gpu_task **task_out,
                         char *how_out, size_t how_size, pp_err *err)
{
    if (work->kind == PP_GPU_MESSAGE && gpu->self_failed.status)
        return of_messages(gpu, gpu->self_failed.status, err);
    pp_gpu_task *task = calloc(1, sizeof *task);
    if (!task)
        return gpu->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    *task = (pp_gpu_task){ .gpu = gpu, .work = *work };
    pp_status status = find_graphs(task, err);
    if (!status && work->kind == PP_GPU_GROUPED)
        status = pp_gpu_lanes_open(gpu, err);
    if (!status)
        status = take_memory(task, err);
    if (!status)
        status = run_forward(task, err);
    if (!status)
        status = pp_gpu_finish(gpu, gpu->stream, err);
    if (!status && work->kind == PP_GPU_MESSAGE) {
        status = of_messages(gpu,
                             pp_gpu_self_queue(gpu->services, gpu->number, work->channels,
                                               &gpu->self, &task->queue, err),
                             err);
        task->has_queue = !status;
    }
    if (!status)
        status = describe(task, how_out, how_size, err);
    if (!status)
        status = run_once(task, err);
    if (!status)
        status = pp_gpu_values_check(task, err);
    if (status) {
        pp_gpu_task_give_up(task);
        pp_gpu_release(task);
        return status;
    }
    *task_out = task;
    return PP_OK;
}
