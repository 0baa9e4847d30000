/* Computes how many blocks each kernel has, and how many bytes of shared memory a block takes. */
#include "runtime/cuda/kernel/kernels.h"
#include "runtime/cuda/kernel/kernel.h"

enum {
    BASE_BYTES = 2 * PP_GPU_THREADS * sizeof(float),
    QUANTIZE_BYTES = PP_GPU_THREADS * sizeof(float) + PP_GPU_QUANTIZE_TILE * PP_GPU_QUANTIZE_STEP,
};

int32_t pp_gpu_tile_rows(int64_t width)
{
    return width <= 112 ? 32 : 16; /* fits into 99 KiB, which every GPU since 2020 gives a block */
}

/* Returns the shared memory of tiles of rows and of scores. columns: how many additional single
 * numbers each row has. */
static size_t tiles_bytes(const pp_gpu_attention_call *k, size_t rows, size_t scores,
                          size_t columns)
{
    const size_t n = (size_t)k->rows;
    return (rows * n * (size_t)(k->width + 1) + scores * n * n + columns * n) * sizeof(float);
}

static int64_t over(int64_t count)
{
    return (count + PP_GPU_THREADS - 1) / PP_GPU_THREADS;
}

int64_t pp_gpu_quantize_tiles(int64_t rows, int64_t width)
{
    enum { TILE = PP_GPU_QUANTIZE_TILE };
    return (rows + TILE - 1) / TILE * ((width + TILE - 1) / TILE);
}

#define LAUNCH(name, arguments, count, bytes)                                                   \
    cudaError_t pp_gpu_##name(cudaStream_t stream, pp_gpu_type type, const arguments *k)        \
    {                                                                                           \
        const pp_gpu_launch how = { .type = type, .blocks = (count), .shared_bytes = (bytes) }; \
        return pp_gpu_launch_##name(stream, how, k);                                            \
    }

LAUNCH(norm_forward, pp_gpu_norm_call, k->rows, BASE_BYTES)
LAUNCH(norm_backward, pp_gpu_norm_call, k->rows, BASE_BYTES)
LAUNCH(gelu_forward, pp_gpu_gelu_call, over(k->count), 0)
LAUNCH(gelu_backward, pp_gpu_gelu_call, over(k->count), 0)
LAUNCH(swiglu_forward, pp_gpu_swiglu_call, over(k->rows * k->width), 0)
LAUNCH(swiglu_backward, pp_gpu_swiglu_call, over(k->rows * k->width), 0)
LAUNCH(attention_forward, pp_gpu_attention_call, k->tiles * k->heads, tiles_bytes(k, 3, 1, 3))
LAUNCH(attention_along, pp_gpu_attention_call, over(k->tokens * k->heads), 0)
LAUNCH(attention_backward_keys, pp_gpu_attention_call, k->tiles * k->heads, tiles_bytes(k, 6, 2, 2))
LAUNCH(attention_backward_queries, pp_gpu_attention_call, k->tiles * k->heads,
       tiles_bytes(k, 5, 2, 2))
LAUNCH(attention_move_keys, pp_gpu_attention_call, over(2 * k->tokens * k->heads * k->width), 0)
LAUNCH(first_input, pp_gpu_tokens_call, k->rows, 0)
LAUNCH(squared_error, pp_gpu_tokens_call, k->rows, BASE_BYTES)
LAUNCH(cross_entropy, pp_gpu_tokens_call, k->rows, BASE_BYTES)
LAUNCH(embedding_gradient, pp_gpu_embedding_call, k->tokens, 0)
LAUNCH(update, pp_gpu_update_call, over(k->count), 0)
LAUNCH(add, pp_gpu_update_call, over(k->count), 0)
LAUNCH(adam, pp_gpu_adam_call, over(k->count), 0)
LAUNCH(find_largest, pp_gpu_quantize_call, k->tiles, BASE_BYTES)
LAUNCH(make_scales, pp_gpu_quantize_call, 1, BASE_BYTES)
LAUNCH(quantize, pp_gpu_quantize_call, k->tiles, QUANTIZE_BYTES)
LAUNCH(total, pp_gpu_total_call, 1, BASE_BYTES)
