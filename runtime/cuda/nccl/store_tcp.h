/* The store between processes, over TCP. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_STORE_TCP_H
#define PPSIM_RUNTIME_CUDA_NCCL_STORE_TCP_H

#include "runtime/cuda/nccl/store_state.h"

/* Connects the processes: rank 0 waits for all others, every other process waits for rank 0. Fails:
 * IO, INFEASIBLE (stopped), NOMEM. */
pp_status pp_store_connect(pp_store *store, pp_err *err);
void pp_store_disconnect(pp_store *store);
pp_status pp_store_net_gather(pp_store *store, const void *mine, size_t bytes, void *all_out,
                              pp_err *err);
/* Asks rank 0 for its clock. */
pp_status pp_store_net_clock(pp_store *store, pp_ns *clock_ns, pp_err *err);
/* Stops the run here and in all processes that can be reached. */
void pp_store_net_stop(pp_store *store);
void pp_store_net_collect(pp_store *store, const void *mine, size_t bytes);

#endif
