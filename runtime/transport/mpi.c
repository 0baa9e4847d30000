/* Transport mpi: MPI, one rank per process. All of it is in the module ppsim_mpi.so
 * (runtime/mpi/), which is loaded when it is asked for, so that the command itself needs no
 * libmpi. */
#include "runtime/transport/module_world.h"

static pp_status mpi_available(pp_err *err)
{
    const pp_module *module;
    return pp_module_load(&pp_module_mpi, &module, err);
}

static pp_status mpi_open(const pp_world_options *options, pp_world **world_out, pp_err *err)
{
    return pp_module_open(&pp_module_mpi, options, world_out, err);
}

const pp_transport pp_transport_mpi = {
    .name = "mpi",
    .summary = "runs one process per rank with MPI, on one machine or several",
    .available = mpi_available,
    .open = mpi_open,
    PP_MODULE_WORLD_CALLS,
    .replica = pp_module_world_replica,
    .exchange = pp_module_world_exchange,
    .gather_replicas = pp_module_world_gather_replicas,
};
