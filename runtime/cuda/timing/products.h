/* Products as work that is timed: a single one, or those of experts. */
#ifndef PPSIM_RUNTIME_CUDA_TIMING_PRODUCTS_H
#define PPSIM_RUNTIME_CUDA_TIMING_PRODUCTS_H

#include "runtime/cuda/timing/gpu_state.h"

/* The product of a task with one of its sets of operands; of experts, that of all rows together. */
pp_gpu_gemm_call pp_gpu_product_call(const pp_gpu_task *task, uint32_t set);

/* The product of one of the experts of a task. */
pp_gpu_gemm_call pp_gpu_group_call(const pp_gpu_task *task, uint32_t set, size_t expert);

/* Opens streams and cuBLASLt for products of experts, unless they are open. Fails: as
 * pp_gpu_gemm_open. */
PP_MUST_CHECK pp_status pp_gpu_lanes_open(pp_gpu *gpu, pp_err *err);
void pp_gpu_lanes_close(pp_gpu *gpu);
/* Waits until the lanes have finished their products, which is needed after a failure only. */
void pp_gpu_lanes_finish(const pp_gpu *gpu);

/* Launches the products of all experts: behind what is in `stream`, and before what comes later. */
PP_MUST_CHECK pp_status pp_gpu_group_launch(const pp_gpu_task *task, uint32_t set,
                                            cudaStream_t stream, pp_err *err);

/* Writes the algorithm that cuBLASLt chose for the product, or for that of the first expert;
 * nothing for other work. Fails: as pp_gpu_gemm. */
PP_MUST_CHECK pp_status pp_gpu_product_describe(const pp_gpu_task *task, char *how_out, size_t size,
                                                pp_err *err);

#endif
