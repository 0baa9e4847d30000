/* Messages of a GPU to itself: NCCL's launch, and its copy by as many multiprocessors as it takes
 * channels; nothing of a link. Each number of channels has a communicator, and that a stream. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_SELF_H
#define PPSIM_RUNTIME_CUDA_NCCL_SELF_H

#include "runtime/cuda/nccl/nccl_state.h"

/* world: of pp_nccl_open_alone, made here where it is NULL. channels_most: 0: NCCL's own choice.
 * Fails: USAGE, IO, NOMEM. */
pp_status pp_gpu_self_queue(const pp_module_services *services, uint32_t number,
                            uint32_t channels_most, pp_world **world, size_t *queue_out,
                            pp_err *err);
cudaStream_t pp_gpu_self_stream(const pp_world *world, size_t queue);
/* Fails: IO; then pp_nccl_leave, before anybody waits for its stream. INFEASIBLE: that was done. */
pp_status pp_gpu_self_send(pp_world *world, size_t queue, const void *from, void *to, size_t bytes,
                           pp_err *err);

#endif
