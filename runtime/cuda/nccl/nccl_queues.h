/* Communicators of transport nccl, and their streams. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_NCCL_QUEUES_H
#define PPSIM_RUNTIME_CUDA_NCCL_NCCL_QUEUES_H

#include "runtime/cuda/nccl/nccl_state.h"

/* Makes the communicator of all ranks. */
pp_status pp_nccl_queues_open(pp_world *world, pp_err *err);
/* Makes the communicators of pairs that `program` needs, if the options ask for pairs. */
pp_status pp_nccl_queues_for(pp_world *world, const pp_program *program, pp_err *err);
void pp_nccl_queues_close(pp_world *world);
/* Makes one more communicator, of ranks a and b, or of all ranks if a is PP_NO_SOURCE. All
 * processes call it. channels: NULL: NCCL's own choice. */
pp_status pp_nccl_queue_add(pp_world *world, uint32_t a, uint32_t b,
                            const pp_gpu_channels *channels, pp_err *err);
/* Returns whether this version of NCCL has pp_gpu_channels.per_net_peer. */
bool pp_nccl_has_net_channels(void);
/* Return the index of the queue to `peer`, and the rank of the peer in its communicator. */
uint32_t pp_nccl_queue_to(const pp_nccl_rank *r, uint32_t peer);
int pp_nccl_peer_in(const pp_nccl_rank *r, uint32_t queue, uint32_t peer);

#endif
