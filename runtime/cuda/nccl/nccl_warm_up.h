/* Connecting neighbours by a first message. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_NCCL_WARM_UP_H
#define PPSIM_RUNTIME_CUDA_NCCL_NCCL_WARM_UP_H

#include "runtime/cuda/nccl/nccl_state.h"

/* Sends one element to every neighbour and receives one from each, so that all are connected before
 * a step. */
pp_status pp_nccl_warm_up(pp_world *world, const pp_program *program, pp_err *err);

#endif
