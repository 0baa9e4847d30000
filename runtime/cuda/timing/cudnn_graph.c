/* Takes the place of cudnn_graph.cpp in a build without the headers of cuDNN and its frontend. Only
 * the first function is ever called; it returns false. */
#include "runtime/cuda/timing/cudnn_graph.h"

#ifndef PPSIM_HAVE_CUDNN
#include <stdio.h>

bool pp_cudnn_graph_built(void)
{
    return false;
}

bool pp_cudnn_handle_open(void *library, pp_cudnn_handle **handle_out, char *why, size_t size)
{
    (void)library, (void)handle_out;
    snprintf(why, size, "built without it");
    return false;
}

void pp_cudnn_handle_close(pp_cudnn_handle *handle)
{
    (void)handle;
}

bool pp_cudnn_graph_make(pp_cudnn_handle *handle, const pp_cudnn_shape *shape, bool backward,
                         pp_cudnn_graph **graph_out, size_t *workspace_out, char *why, size_t size)
{
    (void)handle, (void)shape, (void)backward, (void)graph_out, (void)workspace_out;
    snprintf(why, size, "built without it");
    return false;
}

const char *pp_cudnn_graph_name(const pp_cudnn_graph *graph)
{
    (void)graph;
    return "";
}

bool pp_cudnn_graph_run(pp_cudnn_graph *graph, const pp_cudnn_call *call, cudaStream_t stream,
                        char *why, size_t size)
{
    (void)graph, (void)call, (void)stream;
    snprintf(why, size, "built without it");
    return false;
}

void pp_cudnn_graph_free(pp_cudnn_graph *graph)
{
    (void)graph;
}
#endif
