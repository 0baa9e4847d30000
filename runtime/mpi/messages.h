/* Messages of a program over MPI. The functions are those of pp_transport. */
#ifndef PPSIM_RUNTIME_MPI_MESSAGES_H
#define PPSIM_RUNTIME_MPI_MESSAGES_H

#include "runtime/mpi/world.h"

pp_status pp_mpi_load(pp_world *world, const pp_program *program, const size_t *buffered_bytes,
                      pp_err *err);
pp_status pp_mpi_begin(pp_world *world, uint32_t rank, pp_err *err);
pp_status pp_mpi_post(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err);
pp_status pp_mpi_wait(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                      pp_err *err);
pp_status pp_mpi_poll(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                      bool *done_out, pp_ns *done_ns, pp_err *err);
pp_status pp_mpi_progress_start(pp_world *world, pp_err *err);
void pp_mpi_progress_end(pp_world *world);
void pp_mpi_cancel_transfers(pp_world *world);
void pp_mpi_unload(pp_world *world);

#endif
