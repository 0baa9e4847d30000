/* How the processes of a job meet. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_STORE_MEET_H
#define PPSIM_RUNTIME_CUDA_NCCL_STORE_MEET_H

#include "runtime/cuda/nccl/store_state.h"

/* Connects the processes: rank 0 waits for all others, every other process waits for rank 0. The
 * sockets are in store->peer. Fails: IO, USAGE, INFEASIBLE (stopped), NOMEM. */
PP_MUST_CHECK pp_status pp_store_meet(pp_store *store, pp_err *err);

#endif
