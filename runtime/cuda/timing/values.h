/* Values of timed work, checked against the host. */
#ifndef PPSIM_RUNTIME_CUDA_TIMING_VALUES_H
#define PPSIM_RUNTIME_CUDA_TIMING_VALUES_H

#include "runtime/cuda/timing/gpu_state.h"

/* Checks a few values of work that has run once with each of the first two sets of operands, if it
 * is a product in 8 bits, products of experts, or a quantization. Products that are not those of a
 * matrix with a transposed one are not checked. Fails: UNAVAILABLE (a value is wrong), NOMEM, IO.
 */
PP_MUST_CHECK pp_status pp_gpu_values_check(const pp_gpu_task *task, pp_err *err);

#endif
