/* Kernels as C, in the order of their stream. */
#include "runtime/cuda/kernel/kernel_bodies.h"
#include "tests/cuda/standin.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SHARED_MAX = 99 << 10 }; /* shared memory of a block on every GPU since 2020 */

static atomic_long launches;

typedef struct launch {
    void (*body)(const void *arguments, int64_t block, float *shared);
    int64_t blocks;
    float *shared;
    bool endless;
    union { /* of all sizes */
        pp_gpu_attention_call attention;
        pp_gpu_tokens_call tokens;
        pp_gpu_norm_call norm;
    } arguments;
} launch;

static bool run(void *work)
{
    launch *l = work;
    if (l->endless)
        return false;
    for (int64_t b = 0; b < l->blocks; b++)
        l->body(&l->arguments, b, l->shared);
    return true;
}

static void drop(void *work)
{
    launch *l = work;
    free(l->shared);
    free(l);
}

static cudaError_t enqueue(const char *name, cudaStream_t stream, pp_gpu_launch how,
                           void (*body)(const void *, int64_t, float *), const void *arguments,
                           size_t bytes)
{
    if (standin_fails("cudaLaunchKernel", "%s %lld %zu", name, (long long)how.blocks,
                      how.shared_bytes))
        return cudaErrorLaunchFailure;
    if (!how.blocks)
        return cudaSuccess;
    if (how.blocks > INT32_MAX || how.shared_bytes > SHARED_MAX)
        standin_wrong("%s in %lld blocks that share %zu bytes", name, (long long)how.blocks,
                      how.shared_bytes);
    if (standin_device_of((standin_stream *)stream) != standin_device())
        standin_wrong("%s in a stream of another GPU", name);
    launch *l = calloc(1, sizeof *l);
    if (bytes > sizeof l->arguments)
        standin_wrong("%s has %zu bytes of arguments", name, bytes);
    l->body = body;
    l->endless = atomic_fetch_add(&launches, 1) + 1 == standin_setting("STANDIN_ENDLESS", 0);
    l->blocks = how.blocks;
    l->shared = malloc(how.shared_bytes + 1); /* a sanitizer detects accesses after the end */
    memset(l->shared, 0xff, how.shared_bytes);
    memcpy(&l->arguments, arguments, bytes);
    standin_enqueue((standin_stream *)stream, run, drop, l);
    return cudaSuccess;
}

#define LAUNCH(name, type_of)                                                                   \
    static void name##_body_f32(const void *arguments, int64_t block, float *shared)            \
    {                                                                                           \
        name##_f32(arguments, block, shared);                                                   \
    }                                                                                           \
    static void name##_body_bf16(const void *arguments, int64_t block, float *shared)           \
    {                                                                                           \
        name##_bf16(arguments, block, shared);                                                  \
    }                                                                                           \
    cudaError_t pp_gpu_launch_##name(cudaStream_t stream, pp_gpu_launch how, const type_of *of) \
    {                                                                                           \
        return enqueue(#name, stream, how,                                                      \
                       how.type == PP_GPU_BF16 ? name##_body_bf16 : name##_body_f32, of,        \
                       sizeof *of);                                                             \
    }
PP_GPU_KERNEL_MAP(LAUNCH)
