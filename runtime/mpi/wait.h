/* How threads of the MPI module wait for MPI: they poll until the operation is done or fails, or
 * the run is stopped. */
#ifndef PPSIM_RUNTIME_MPI_WAIT_H
#define PPSIM_RUNTIME_MPI_WAIT_H

#include "runtime/mpi/world.h"

/* How long a polling loop has waited. All zero at the start of a wait. */
typedef struct pp_patience {
    uint32_t rounds, naps;
} pp_patience;

/* Passes a little time between two polls. */
void pp_mpi_pause(const pp_world *world, pp_patience *patience);
/* Return whether the run must end. `flagged` returns what is known so far; `stopped` tests MPI,
 * too, unless another thread is inside MPI. The lock is not held. */
bool pp_mpi_flagged(const pp_world *world);
bool pp_mpi_stopped(pp_world *world);
pp_status pp_mpi_failed(const pp_world *world, int code, const char *what, pp_err *err);
pp_status pp_mpi_nomem(const pp_world *world, pp_err *err);
/* Waits until all of request[count] are done. Fails: INFEASIBLE (stopped), IO. */
pp_status pp_mpi_finish(pp_world *world, MPI_Request *request, int count, const char *what,
                        pp_err *err);

#endif
