/* cuDNN's attention, causal within each of the sequences of a microbatch: graphs made by NVIDIA's
 * cudnn-frontend, which is C++, behind plain C. Implemented in cudnn_graph.cpp, and replaced by
 * cudnn_graph.c in a build that lacks the headers of either. */
#ifndef PPSIM_RUNTIME_CUDA_TIMING_CUDNN_GRAPH_H
#define PPSIM_RUNTIME_CUDA_TIMING_CUDNN_GRAPH_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pp_cudnn_shape {
    int64_t heads, width; /* width of a head */
    int64_t sequences, longest, tokens;
} pp_cudnn_shape;

/* Ids of the tensors of a graph. */
enum pp_cudnn_tensor {
    PP_CUDNN_Q = 1,
    PP_CUDNN_K,
    PP_CUDNN_V,
    PP_CUDNN_O,
    PP_CUDNN_STATS,
    PP_CUDNN_D_O,
    PP_CUDNN_D_Q,
    PP_CUDNN_D_K,
    PP_CUDNN_D_V,
    PP_CUDNN_QKV_AT,
    PP_CUDNN_OUT_AT,
    PP_CUDNN_LENGTHS,
};

/* The tensors of a graph, all on the GPU. Queries, keys and values are laid out as in
 * pp_gpu_attention_call, in bf16. */
typedef struct pp_cudnn_call {
    void *qkv, *out;          /* [tokens][3 heads width], [tokens][heads width] */
    float *stats;             /* [sequences][heads][longest] */
    void *d_out, *d_qkv;      /* backward: gradients, laid out as out and qkv */
    int64_t *qkv_at, *out_at; /* [sequences + 1]: elements before each sequence */
    int32_t *lengths;         /* [sequences] */
    void *workspace;
} pp_cudnn_call;

/* cuDNN's handle for the current GPU of the thread. */
typedef struct cudnnContext pp_cudnn_handle;
/* A graph: forward or backward, for one shape. The owner frees it. */
typedef struct pp_cudnn_graph pp_cudnn_graph;

bool pp_cudnn_graph_built(void);
/* The functions below return whether they succeeded. why: [size], the message of the library if
 * not. */
/* library: libcudnn.so.9 as dlopen returned it; it stays open. */
bool pp_cudnn_handle_open(void *library, pp_cudnn_handle **handle_out, char *why, size_t size);
void pp_cudnn_handle_close(pp_cudnn_handle *handle);
/* Makes a graph, which takes from milliseconds to seconds. workspace_out: bytes. */
bool pp_cudnn_graph_make(pp_cudnn_handle *handle, const pp_cudnn_shape *shape, bool backward,
                         pp_cudnn_graph **graph_out, size_t *workspace_out, char *why, size_t size);
/* Returns the engine that cuDNN's heuristic puts first, with its settings: "eng3_k24=0". */
const char *pp_cudnn_graph_name(const pp_cudnn_graph *graph);
bool pp_cudnn_graph_run(pp_cudnn_graph *graph, const pp_cudnn_call *call, cudaStream_t stream,
                        char *why, size_t size);
void pp_cudnn_graph_free(pp_cudnn_graph *graph); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
