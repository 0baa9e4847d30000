/* How the threads of transport nccl wait for NCCL and the GPU, and leave when the run must end. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_NCCL_WAIT_H
#define PPSIM_RUNTIME_CUDA_NCCL_NCCL_WAIT_H

#include "runtime/cuda/nccl/nccl_state.h"

/* Time limit of operations of all ranks outside of steps. */
#define PP_NCCL_START_NS ((pp_ns)120 * 1000 * 1000 * 1000)

bool pp_nccl_stopped(const pp_world *world);
/* Leaves the run: the thread of the rank aborts its communicators. Returns the error "stopped". */
pp_status pp_nccl_leave(pp_world *world, pp_nccl_rank *r, pp_err *err);
/* Returns PP_OK for success and "in progress", else IO with NCCL's own message. comm: NULL: there
 * is none yet. */
pp_status pp_nccl_check(const pp_world *world, uint32_t rank, ncclComm_t comm, ncclResult_t code,
                        const char *what, pp_err *err);
/* Waits until a communicator has completed the last call. Fails: IO, INFEASIBLE (stopped). */
pp_status pp_nccl_settle(pp_world *world, pp_nccl_rank *r, ncclComm_t comm, const char *what,
                         pp_err *err);
/* Waits until `event` has happened, and meanwhile checks `comm` for errors. limit_ns: 0: no limit,
 * the watchdog of the run ends the wait. */
pp_status pp_nccl_await(pp_world *world, pp_nccl_rank *r, cudaEvent_t event, ncclComm_t comm,
                        pp_ns limit_ns, const char *what, pp_err *err);

#endif
