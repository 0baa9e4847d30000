/* The table of the task farm over MPI. */
#ifndef PPSIM_RUNTIME_MPI_FARM_H
#define PPSIM_RUNTIME_MPI_FARM_H

#include "runtime/module/farm.h"

extern const pp_farm_table pp_mpi_farm;

#endif
