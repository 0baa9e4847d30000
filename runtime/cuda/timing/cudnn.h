/* cuDNN, loaded when a probe needs it, and checked against the kernels of ppsim. */
#ifndef PPSIM_RUNTIME_CUDA_TIMING_CUDNN_H
#define PPSIM_RUNTIME_CUDA_TIMING_CUDNN_H

#include "runtime/cuda/timing/cudnn_graph.h"
#include "runtime/cuda/timing/work.h"

/* cuDNN on one GPU, used by one thread. The owner closes it. */
typedef struct pp_cudnn pp_cudnn;

bool pp_cudnn_does(pp_gpu_work_kind kind);

/* Opens cuDNN. number: index of the GPU, which is the current one of the thread. Fails:
 * UNAVAILABLE, in one sentence; NOMEM. */
pp_status pp_cudnn_open(const pp_module_services *services, uint32_t number, pp_cudnn **cudnn_out,
                        pp_err *err);
void pp_cudnn_close(pp_cudnn *cudnn);                /* NULL is fine */
const char *pp_cudnn_version(const pp_cudnn *cudnn); /* "9.28.1" */

/* Finds the graph for these lengths. It is made the first time, which takes seconds, and kept.
 * workspace_out: bytes. Fails: UNAVAILABLE (this GPU or version cannot do it), NOMEM. */
pp_status pp_cudnn_find(pp_cudnn *cudnn, const pp_gpu_work *work, bool backward,
                        pp_cudnn_graph **graph_out, size_t *workspace_out, pp_err *err);
/* Do the same as pp_gpu_work_operands and pp_gpu_work_table. */
void pp_cudnn_operands(const pp_gpu_work *work, size_t workspace_bytes,
                       pp_gpu_operand operand_out[PP_GPU_OPERANDS]);
void pp_cudnn_table(const pp_gpu_work *work, void *table_out);
/* Launches a graph on a set of operands. Fails: IO. */
pp_status pp_cudnn_launch(const pp_cudnn *cudnn, pp_cudnn_graph *graph, const pp_gpu_work *work,
                          char *const operand[PP_GPU_OPERANDS], cudaStream_t stream, pp_err *err);

#endif
