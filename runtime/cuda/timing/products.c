/* Products as work that is timed. Those of experts run as in TransformerEngine's grouped linear
 * layer (nvte_multi_stream_cublas_gemm): a product of cuBLASLt for each expert, in turn on four
 * streams, which wait for what came before and are waited for. cuBLASLt's own grouped products are
 * experimental, and not in its earlier versions. */
#include "runtime/cuda/timing/products.h"

#include <stdio.h>

static void set_steps(pp_gpu_gemm_call *call)
{
    call->a_step = call->product == PP_GPU_ATB ? call->m : call->k;
    call->b_step = call->product == PP_GPU_ABT ? call->k : call->n;
    call->c_step = call->n;
}

pp_gpu_gemm_call pp_gpu_product_call(const pp_gpu_task *task, uint32_t set)
{
    const pp_gpu_work *w = &task->work;
    pp_gpu_gemm_call call = { .product = w->product,
                              .in = w->in,
                              .out = w->out,
                              .m = w->m,
                              .n = w->n,
                              .k = w->k,
                              .a = task->operand[set][0],
                              .b = task->operand[set][1],
                              .c = task->operand[set][2],
                              .scales = (const float *)(const void *)task->operand[set][3],
                              .add = w->add,
                              .multiprocessors = w->multiprocessors };
    set_steps(&call);
    return call;
}

/* The product of one expert, whose rows come after `before` rows of others. */
static pp_gpu_gemm_call call_of_expert(const pp_gpu_task *task, uint32_t set, size_t expert,
                                       int64_t before)
{
    const pp_gpu_work *w = &task->work;
    const size_t in = pp_gpu_type_bytes(w->in), out = pp_gpu_type_bytes(w->out);
    const size_t first = (size_t)before;
    pp_gpu_gemm_call call = pp_gpu_product_call(task, set);
    *(w->deep ? &call.k : &call.m) = w->lengths[expert];
    set_steps(&call);
    const size_t m = (size_t)call.m, n = (size_t)call.n, k = (size_t)call.k;
    call.a = (const char *)call.a + first * (w->deep ? m : k) * in;
    call.b = (const char *)call.b + (w->deep ? first : expert * k) * n * in;
    call.c = (char *)call.c + (w->deep ? expert * m : first) * n * out;
    return call;
}

static cudaError_t open_lane(pp_gpu_lane *lane)
{
    cudaError_t code = lane->stream
                           ? cudaSuccess
                           : cudaStreamCreateWithPriority(&lane->stream, cudaStreamNonBlocking, 0);
    return code ? code : cudaEventCreateWithFlags(&lane->over, cudaEventDisableTiming);
}

pp_status pp_gpu_lanes_open(pp_gpu *gpu, pp_err *err)
{
    pp_status status = PP_OK;
    if (!gpu->behind)
        status = pp_gpu_checked(gpu, cudaEventCreateWithFlags(&gpu->behind, cudaEventDisableTiming),
                                "making streams and events", err);
    for (int i = 0; i < PP_GPU_LANES && !status; i++) {
        pp_gpu_lane *lane = &gpu->lane[i];
        if (!lane->over)
            status = pp_gpu_checked(gpu, open_lane(lane), "making streams and events", err);
        if (!status && !lane->blas)
            status = pp_gpu_gemm_open(gpu->services, gpu->number, &lane->blas, err);
    }
    return status;
}

void pp_gpu_lanes_close(pp_gpu *gpu)
{
    for (int i = 0; i < PP_GPU_LANES; i++) {
        pp_gpu_gemm_close(gpu->lane[i].blas);
        if (gpu->lane[i].over)
            (void)cudaEventDestroy(gpu->lane[i].over);
        if (gpu->lane[i].stream)
            (void)cudaStreamDestroy(gpu->lane[i].stream);
    }
    if (gpu->behind)
        (void)cudaEventDestroy(gpu->behind);
}

void pp_gpu_lanes_finish(const pp_gpu *gpu)
{
    for (int i = 0; i < PP_GPU_LANES; i++) {
        if (gpu->lane[i].stream)
            (void)cudaStreamSynchronize(gpu->lane[i].stream);
    }
}

/* The lanes begin when the stream is there. */
static cudaError_t begin_lanes(const pp_gpu *gpu, cudaStream_t stream)
{
    cudaError_t code = cudaEventRecord(gpu->behind, stream);
    for (int i = 0; i < PP_GPU_LANES && !code; i++)
        code = cudaStreamWaitEvent(gpu->lane[i].stream, gpu->behind, 0);
    return code;
}

/* The stream goes on when the lanes are done. */
static cudaError_t end_lanes(const pp_gpu *gpu, cudaStream_t stream)
{
    cudaError_t code = cudaSuccess;
    for (int i = 0; i < PP_GPU_LANES && !code; i++) {
        code = cudaEventRecord(gpu->lane[i].over, gpu->lane[i].stream);
        if (!code)
            code = cudaStreamWaitEvent(stream, gpu->lane[i].over, 0);
    }
    return code;
}

pp_status pp_gpu_group_launch(const pp_gpu_task *task, uint32_t set, cudaStream_t stream,
                              pp_err *err)
{
    const pp_gpu *gpu = task->gpu;
    const pp_gpu_work *w = &task->work;
    int64_t before = 0;
    pp_status status = pp_gpu_checked(gpu, begin_lanes(gpu, stream), "waiting for a stream", err);
    for (size_t e = 0; e < w->sequences && !status; e++) {
        const pp_gpu_lane *lane = &gpu->lane[e % PP_GPU_LANES];
        const pp_gpu_gemm_call call = call_of_expert(task, set, e, before);
        status = pp_gpu_gemm(lane->blas, &call, lane->stream, err);
        before += w->lengths[e];
    }
    return status ? status
                  : pp_gpu_checked(gpu, end_lanes(gpu, stream), "waiting for a stream", err);
}

pp_gpu_gemm_call pp_gpu_group_call(const pp_gpu_task *task, uint32_t set, size_t expert)
{
    int64_t before = 0;
    for (size_t e = 0; e < expert; e++)
        before += task->work.lengths[e];
    return call_of_expert(task, set, expert, before);
}

pp_status pp_gpu_product_describe(const pp_gpu_task *task, char *how_out, size_t size, pp_err *err)
{
    const bool grouped = task->work.kind == PP_GPU_GROUPED;
    pp_gpu_gemm_choice c;
    if (!grouped && task->work.kind != PP_GPU_MULTIPLY)
        return PP_OK;
    const pp_gpu_gemm_call call =
        grouped ? pp_gpu_group_call(task, 0, 0) : pp_gpu_product_call(task, 0);
    pp_status status =
        pp_gpu_gemm_choose(grouped ? task->gpu->lane[0].blas : task->gpu->blas, &call, &c, err);
    if (!status)
        snprintf(how_out, size, "algorithm %d, tile %u, stages %u, split-K %d, %.3g waves, %zu B",
                 c.algorithm, c.tile, c.stages, c.split_k, (double)c.waves, c.workspace_bytes);
    return status;
}
