/* Messages of a step over NCCL. The functions are those of pp_transport. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_NCCL_MESSAGES_H
#define PPSIM_RUNTIME_CUDA_NCCL_NCCL_MESSAGES_H

#include "runtime/cuda/nccl/nccl_state.h"

pp_status pp_nccl_begin(pp_world *world, uint32_t rank, pp_err *err);
pp_status pp_nccl_post(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err);
pp_status pp_nccl_wait(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                       pp_err *err);
pp_status pp_nccl_poll(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                       bool *done_out, pp_ns *done_ns, pp_err *err);

#endif
