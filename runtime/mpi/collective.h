/* Operations of all processes. The functions are those of pp_transport, except the last. */
#ifndef PPSIM_RUNTIME_MPI_COLLECTIVE_H
#define PPSIM_RUNTIME_MPI_COLLECTIVE_H

#include "runtime/mpi/world.h"

pp_status pp_mpi_all_gather(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                            void *all_out, pp_err *err);
pp_status pp_mpi_exchange(pp_world *world, uint32_t rank, const void *mine, size_t bytes, void *out,
                          pp_err *err);
pp_status pp_mpi_gather_replicas(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                                 void *all_out, pp_err *err);
pp_status pp_mpi_clock_ahead(pp_world *world, uint32_t rank, pp_ns *ahead_ns, pp_ns *error_ns,
                             pp_err *err);
void pp_mpi_abort(pp_world *world);
bool pp_mpi_alarmed(pp_world *world);
pp_status pp_mpi_collect(pp_world *world, const void *mine, size_t bytes, pp_ns patience_ns,
                         void *all_out, bool *came_out, pp_err *err);
void pp_mpi_stop_listen(pp_world *world);

#endif
