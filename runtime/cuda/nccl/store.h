/* The store: what the processes of a job exchange without NCCL, which carries nothing once it is
 * stuck. That is their agreement, their clocks, their states, and the order to stop. One process
 * that hosts all ranks needs no network; processes of one rank each are connected to that of rank 0
 * over TCP. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_STORE_H
#define PPSIM_RUNTIME_CUDA_NCCL_STORE_H

#include "runtime/cuda/nccl/store_state.h"

/* Opens the store. ranks: of the plan. On rank 0 it returns when all processes are connected.
 * Fails: IO, NOMEM, INFEASIBLE. */
PP_MUST_CHECK pp_status pp_store_open(const pp_module_services *services,
                                      const pp_store_place *place, uint32_t ranks,
                                      const volatile sig_atomic_t *stop, pp_store **store_out,
                                      pp_err *err);
void pp_store_close(pp_store *store); /* NULL is fine */

/* Broadcasts bytes from the process of rank 0 to all others. Called by one thread per process. */
pp_status pp_store_tell(pp_store *store, void *bytes, size_t count, pp_err *err);
/* As pp_transport. */
pp_status pp_store_all_gather(pp_store *store, uint32_t rank, const void *mine, size_t bytes,
                              void *all_out, pp_err *err);
pp_status pp_store_clock_ahead(pp_store *store, pp_ns *ahead_ns, pp_ns *error_ns, pp_err *err);
void pp_store_stop(pp_store *store);
bool pp_store_alarmed(pp_store *store);
pp_status pp_store_collect(pp_store *store, const void *mine, size_t bytes, pp_ns patience_ns,
                           void *all_out, bool *came_out, pp_err *err);

#endif
