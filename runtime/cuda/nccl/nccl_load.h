/* Memory and events of a program on each GPU. The functions are those of pp_transport. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_NCCL_LOAD_H
#define PPSIM_RUNTIME_CUDA_NCCL_NCCL_LOAD_H

#include "runtime/cuda/nccl/nccl_state.h"

pp_status pp_nccl_reserve(pp_world *world, const pp_program *program, const size_t *payload_bytes,
                          pp_err *err);
pp_status pp_nccl_load(pp_world *world, const pp_program *program, const size_t *buffered_bytes,
                       pp_err *err);
void pp_nccl_unload(pp_world *world);

#endif
