/* Worlds of transport nccl. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_NCCL_WORLD_H
#define PPSIM_RUNTIME_CUDA_NCCL_NCCL_WORLD_H

#include "runtime/cuda/nccl/nccl_state.h"

extern const pp_transport pp_nccl_transport; /* all but available and open */
pp_status pp_nccl_open(const pp_module_services *services, const pp_world_options *options,
                       pp_world **world_out, pp_err *err);
/* Opens a world of one rank on this GPU, whatever started the process. It has no communicator yet.
 * */
pp_status pp_nccl_open_alone(const pp_module_services *services, int device, pp_world **world_out,
                             pp_err *err);

#endif
