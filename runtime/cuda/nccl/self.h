/* Messages of a GPU to itself. They cost an NCCL launch and a copy that occupies one multiprocessor
 * per channel, but use no link. There is one communicator and one stream per number of channels. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_SELF_H
#define PPSIM_RUNTIME_CUDA_NCCL_SELF_H

#include "runtime/cuda/nccl/nccl_state.h"

/* Returns the queue for a number of channels. *world: as of pp_nccl_open_alone; it is opened here
 * if it is NULL. channels_most: 0: NCCL's own choice. Fails: USAGE, IO, NOMEM. */
pp_status pp_gpu_self_queue(const pp_module_services *services, uint32_t number,
                            uint32_t channels_most, pp_world **world, size_t *queue_out,
                            pp_err *err);
cudaStream_t pp_gpu_self_stream(const pp_world *world, size_t queue);
/* Sends a message. Fails: IO, after which the caller calls pp_nccl_leave before it waits for the
 * stream; INFEASIBLE, if that has been done. */
pp_status pp_gpu_self_send(pp_world *world, size_t queue, const void *from, void *to, size_t bytes,
                           pp_err *err);

#endif
