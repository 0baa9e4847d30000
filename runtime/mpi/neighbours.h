/* The processes of the world that are on this machine: whether one has ended without a word. */
#ifndef PPSIM_RUNTIME_MPI_NEIGHBOURS_H
#define PPSIM_RUNTIME_MPI_NEIGHBOURS_H

#include "runtime/mpi/world.h"

/* Begins to watch. All processes call it; it returns an error code of MPI. What cannot be watched,
 * on an old kernel or for lack of memory, is left out. */
int pp_mpi_neighbours_find(pp_world *world);
void pp_mpi_neighbours_free(pp_world *world);
/* Tests whether a stop has arrived. The lock is held. */
void pp_mpi_look(pp_world *world);
/* As pp_transport.lost. The lock is not held. */
bool pp_mpi_lost(pp_world *world, uint32_t *rank_out);

#endif
