/* The calls of a transport that is implemented in a module: each is passed on to the table of the
 * module. */
#include "runtime/transport/module_world.h"

static const pp_transport *of(const pp_world *world)
{
    return ((const pp_module_world *)(const void *)world)->transport;
}

void pp_module_world_close(pp_world *world)
{
    if (world)
        of(world)->close(world);
}

void pp_module_world_hosts(const pp_world *world, uint32_t *first, uint32_t *count)
{
    of(world)->hosts(world, first, count);
}

pp_status pp_module_world_reserve(pp_world *world, const pp_program *program,
                                  const size_t *payload_bytes, pp_err *err)
{
    return of(world)->reserve(world, program, payload_bytes, err);
}

pp_status pp_module_world_load(pp_world *world, const pp_program *program,
                               const size_t *buffered_bytes, pp_err *err)
{
    return of(world)->load(world, program, buffered_bytes, err);
}

pp_status pp_module_world_begin(pp_world *world, uint32_t rank, pp_err *err)
{
    return of(world)->begin(world, rank, err);
}

pp_status pp_module_world_post(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err)
{
    return of(world)->post(world, rank, post, err);
}

pp_status pp_module_world_wait(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                               pp_err *err)
{
    return of(world)->wait(world, rank, transfer, done_ns, err);
}

pp_status pp_module_world_poll(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                               bool *done_out, pp_ns *done_ns, pp_err *err)
{
    return of(world)->poll(world, rank, transfer, now_ns, done_out, done_ns, err);
}

pp_status pp_module_world_all_gather(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                                     void *all_out, pp_err *err)
{
    return of(world)->all_gather(world, rank, mine, bytes, all_out, err);
}

pp_status pp_module_world_clock_ahead(pp_world *world, uint32_t rank, pp_ns *ahead_ns,
                                      pp_ns *error_ns, pp_err *err)
{
    return of(world)->clock_ahead(world, rank, ahead_ns, error_ns, err);
}

void pp_module_world_abort(pp_world *world)
{
    of(world)->abort(world);
}

bool pp_module_world_lost(pp_world *world, uint32_t *rank_out)
{
    return of(world)->lost && of(world)->lost(world, rank_out);
}

bool pp_module_world_alarmed(pp_world *world)
{
    return of(world)->alarmed(world);
}

pp_status pp_module_world_collect(pp_world *world, const void *mine, size_t bytes,
                                  pp_ns patience_ns, void *all_out, bool *came_out, pp_err *err)
{
    return of(world)->collect(world, mine, bytes, patience_ns, all_out, came_out, err);
}

uint32_t pp_module_world_replica(const pp_world *world)
{
    return of(world)->replica(world);
}

pp_status pp_module_world_exchange(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                                   void *out, pp_err *err)
{
    return of(world)->exchange(world, rank, mine, bytes, out, err);
}

pp_status pp_module_world_gather_replicas(pp_world *world, uint32_t rank, const void *mine,
                                          size_t bytes, void *all_out, pp_err *err)
{
    return of(world)->gather_replicas(world, rank, mine, bytes, all_out, err);
}
