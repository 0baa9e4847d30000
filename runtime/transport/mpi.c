/* MPI, one rank per process: all of it is in the module ppsim_mpi.so (runtime/mpi/), which is
 * loaded when it is wanted, so that the command itself needs no libmpi. */
#include "runtime/module.h"

static const pp_transport *of(const pp_world *world)
{
    return ((const pp_module_world *)(const void *)world)->transport;
}

static pp_status mpi_available(pp_err *err)
{
    const pp_module *module;
    return pp_module_load_mpi(&module, err);
}

static pp_status mpi_open(const pp_world_options *options, pp_world **world_out, pp_err *err)
{
    const pp_module *module;
    pp_status status = pp_module_load_mpi(&module, err);
    return status ? status : pp_module_open(module, options, world_out, err);
}

static void mpi_close(pp_world *world)
{
    if (world)
        of(world)->close(world);
}

static void mpi_hosts(const pp_world *world, uint32_t *first, uint32_t *count)
{
    of(world)->hosts(world, first, count);
}

static pp_status mpi_load(pp_world *world, const pp_program *program, const size_t *buffered_bytes,
                          pp_err *err)
{
    return of(world)->load(world, program, buffered_bytes, err);
}

static pp_status mpi_begin(pp_world *world, uint32_t rank, pp_err *err)
{
    return of(world)->begin(world, rank, err);
}

static pp_status mpi_post(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err)
{
    return of(world)->post(world, rank, post, err);
}

static pp_status mpi_wait(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                          pp_err *err)
{
    return of(world)->wait(world, rank, transfer, done_ns, err);
}

static pp_status mpi_poll(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                          bool *done_out, pp_ns *done_ns, pp_err *err)
{
    return of(world)->poll(world, rank, transfer, now_ns, done_out, done_ns, err);
}

static pp_status mpi_all_gather(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                                void *all_out, pp_err *err)
{
    return of(world)->all_gather(world, rank, mine, bytes, all_out, err);
}

static pp_status mpi_clock_ahead(pp_world *world, uint32_t rank, pp_ns *ahead_ns, pp_ns *error_ns,
                                 pp_err *err)
{
    return of(world)->clock_ahead(world, rank, ahead_ns, error_ns, err);
}

static void mpi_abort(pp_world *world)
{
    of(world)->abort(world);
}

static bool mpi_alarmed(pp_world *world)
{
    return of(world)->alarmed(world);
}

static pp_status mpi_collect(pp_world *world, const void *mine, size_t bytes, pp_ns patience_ns,
                             void *all_out, bool *came_out, pp_err *err)
{
    return of(world)->collect(world, mine, bytes, patience_ns, all_out, came_out, err);
}

const pp_transport pp_transport_mpi = {
    .name = "mpi",
    .summary = "MPI: one process per rank, on one machine or several",
    .available = mpi_available,
    .open = mpi_open,
    .close = mpi_close,
    .hosts = mpi_hosts,
    .load = mpi_load,
    .begin = mpi_begin,
    .post = mpi_post,
    .wait = mpi_wait,
    .poll = mpi_poll,
    .all_gather = mpi_all_gather,
    .clock_ahead = mpi_clock_ahead,
    .abort = mpi_abort,
    .alarmed = mpi_alarmed,
    .collect = mpi_collect,
};
