/* Attention by cuDNN for a probe. The library is loaded when a probe needs it; graphs are made once
 * for each set of lengths, which takes seconds, and kept in a list. */
#include "runtime/cuda/timing/cudnn.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libcudnn.so.9"
#define WITHOUT "; probe gpu-attention measures the kernels of ppsim without it"

/* From version 9.6 on, backward has a parameter for the number of tokens; without it the workspace
 * is as large as if all sequences were as long as the longest. */
enum { VERSION_MIN = 90600, WHY = 320 };
enum { TABLE, QKV, OUT, STATS, D_OUT, D_QKV, WORKSPACE }; /* operands */

typedef struct kept {
    struct kept *next;
    pp_cudnn_shape shape;
    bool backward;
    size_t workspace_bytes;
    pp_cudnn_graph *graph;
} kept;

struct pp_cudnn {
    const pp_module_services *services;
    uint32_t number;
    char version[24];
    pp_cudnn_handle *handle;
    kept *first;
};

bool pp_cudnn_does(pp_gpu_work_kind kind)
{
    return kind == PP_GPU_CUDNN_FORWARD || kind == PP_GPU_CUDNN_BACKWARD;
}

static pp_status load(pp_cudnn *c, void **library_out, pp_err *err)
{
    size_t (*version)(void);
    if (!pp_cudnn_graph_built())
        return c->services->err_set(err, PP_UNAVAILABLE, NULL,
                                    "ppsim_cuda.so was built without cuDNN; tools/dev/cuda-headers "
                                    "--cudnn downloads what a build with it needs" WITHOUT);
    /* The library is never closed, since the frontend keeps its functions. */
    *library_out = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *at = *library_out ? dlsym(*library_out, "cudnnGetVersion") : NULL;
    if (!at) {
        const char *why = dlerror();
        return c->services->err_set(err, PP_UNAVAILABLE, NULL,
                                    "cuDNN 9 was not found (%.120s); add its folder to "
                                    "LD_LIBRARY_PATH; PyTorch has it in nvidia/cudnn/lib" WITHOUT,
                                    why ? why : LIBRARY);
    }
    memcpy(&version, &at, sizeof version);
    const size_t v = version();
    snprintf(c->version, sizeof c->version, "%zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100);
    if (v < VERSION_MIN)
        return c->services->err_set(err, PP_UNAVAILABLE, NULL,
                                    "cuDNN is %s; attention over sequences of several lengths "
                                    "needs 9.6 or later" WITHOUT,
                                    c->version);
    return PP_OK;
}

static pp_status open_handle(pp_cudnn *c, pp_err *err)
{
    char why[WHY];
    void *library = NULL;
    pp_status status = load(c, &library, err);
    if (!status && !pp_cudnn_handle_open(library, &c->handle, why, sizeof why))
        status = c->services->err_set(err, PP_UNAVAILABLE, NULL, "cuDNN %s does not start: %s",
                                      c->version, why);
    return status;
}

pp_status pp_cudnn_open(const pp_module_services *services, uint32_t number, pp_cudnn **cudnn_out,
                        pp_err *err)
{
    pp_cudnn *c = calloc(1, sizeof *c);
    if (!c)
        return services->err_set(err, PP_NOMEM, NULL, "out of memory");
    *c = (pp_cudnn){ .services = services, .number = number };
    pp_status status = open_handle(c, err);
    if (status) {
        pp_cudnn_close(c);
        return status;
    }
    *cudnn_out = c;
    return PP_OK;
}

void pp_cudnn_close(pp_cudnn *c)
{
    if (!c)
        return;
    while (c->first) {
        kept *k = c->first;
        c->first = k->next;
        pp_cudnn_graph_free(k->graph);
        free(k);
    }
    if (c->handle)
        pp_cudnn_handle_close(c->handle);
    free(c);
}

const char *pp_cudnn_version(const pp_cudnn *c)
{
    return c->version;
}

static pp_cudnn_shape shape_of(const pp_gpu_work *work)
{
    pp_cudnn_shape shape = { .heads = work->heads,
                             .width = work->width,
                             .sequences = (int64_t)work->sequences,
                             .tokens = work->rows };
    for (size_t i = 0; i < work->sequences; i++)
        shape.longest = work->lengths[i] > shape.longest ? work->lengths[i] : shape.longest;
    return shape;
}

void pp_cudnn_operands(const pp_gpu_work *work, size_t workspace_bytes,
                       pp_gpu_operand o[PP_GPU_OPERANDS])
{
    const pp_cudnn_shape s = shape_of(work);
    const size_t out = (size_t)(s.tokens * s.heads * s.width) * sizeof(uint16_t);
    const size_t starts = ((size_t)s.sequences + 1) * sizeof(int64_t);
    memset(o, 0, PP_GPU_OPERANDS * sizeof *o);
    o[QKV].bytes = 3 * out;
    o[OUT].bytes = out;
    o[STATS].bytes = (size_t)(s.sequences * s.heads * s.longest) * sizeof(float);
    o[TABLE] = (pp_gpu_operand){ .bytes = 2 * starts + (size_t)s.sequences * sizeof(int32_t),
                                 .filling = PP_GPU_TABLE };
    o[WORKSPACE].bytes = workspace_bytes;
    if (work->kind == PP_GPU_CUDNN_FORWARD)
        return;
    o[D_OUT].bytes = out;
    o[D_QKV].bytes = 3 * out;
}

void pp_cudnn_table(const pp_gpu_work *work, void *table)
{
    int64_t *qkv_at = table, *out_at = qkv_at + work->sequences + 1;
    int32_t *lengths = (int32_t *)(out_at + work->sequences + 1);
    int64_t row = 0;
    for (size_t i = 0; i <= work->sequences; i++) {
        out_at[i] = row * work->heads * work->width;
        qkv_at[i] = 3 * out_at[i];
        if (i == work->sequences)
            break;
        lengths[i] = (int32_t)work->lengths[i];
        row += work->lengths[i];
    }
}

static pp_cudnn_call call_of(const pp_gpu_work *work, char *const *o)
{
    int64_t *starts = (void *)o[TABLE];
    return (pp_cudnn_call){ .qkv = o[QKV],
                            .out = o[OUT],
                            .stats = (void *)o[STATS],
                            .d_out = o[D_OUT],
                            .d_qkv = o[D_QKV],
                            .qkv_at = starts,
                            .out_at = starts + work->sequences + 1,
                            .lengths = (void *)(starts + 2 * (work->sequences + 1)),
                            .workspace = o[WORKSPACE] };
}

static kept *find(const pp_cudnn *c, const pp_cudnn_shape *shape, bool backward)
{
    kept *k = c->first;
    while (k && (k->backward != backward || memcmp(&k->shape, shape, sizeof *shape) != 0))
        k = k->next;
    return k;
}

pp_status pp_cudnn_find(pp_cudnn *c, const pp_gpu_work *work, bool backward,
                        pp_cudnn_graph **graph_out, size_t *workspace_out, pp_err *err)
{
    char why[WHY];
    const pp_cudnn_shape shape = shape_of(work);
    kept *k = find(c, &shape, backward);
    if (!k) {
        k = calloc(1, sizeof *k);
        if (!k)
            return c->services->err_set(err, PP_NOMEM, NULL, "out of memory");
        *k = (kept){ .next = c->first, .shape = shape, .backward = backward };
        if (!pp_cudnn_graph_make(c->handle, &shape, backward, &k->graph, &k->workspace_bytes, why,
                                 sizeof why)) {
            free(k);
            return c->services->err_set(err, PP_UNAVAILABLE, NULL,
                                        "cuDNN %s cannot do %s of %lld tokens in %lld sequence%s "
                                        "of at most %lld with heads of %lld on GPU %u: %s",
                                        c->version, backward ? "backward" : "forward",
                                        (long long)shape.tokens, (long long)shape.sequences,
                                        shape.sequences == 1 ? "" : "s", (long long)shape.longest,
                                        (long long)shape.width, c->number, why);
        }
        c->first = k;
    }
    *graph_out = k->graph;
    *workspace_out = k->workspace_bytes;
    return PP_OK;
}

pp_status pp_cudnn_launch(const pp_cudnn *c, pp_cudnn_graph *graph, const pp_gpu_work *work,
                          char *const operand[PP_GPU_OPERANDS], cudaStream_t stream, pp_err *err)
{
    char why[WHY];
    const pp_cudnn_call call = call_of(work, operand);
    if (pp_cudnn_graph_run(graph, &call, stream, why, sizeof why))
        return PP_OK;
    return c->services->err_set(err, PP_IO, NULL, "GPU %u: attention by cuDNN %s failed: %s",
                                c->number, c->version, why);
}
