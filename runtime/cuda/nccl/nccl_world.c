/* Worlds of transport nccl: opens and closes them, and has the table of the transport. Ranks
 * communicate outside of steps through the store. */
#include "runtime/cuda/nccl/nccl_world.h"

#include "runtime/cuda/nccl/nccl_load.h"
#include "runtime/cuda/nccl/nccl_messages.h"
#include "runtime/cuda/nccl/nccl_queues.h"
#include "runtime/cuda/nccl/nccl_wait.h"
#include "sim/base/field.h"

#include <stdlib.h>
#include <string.h>

static pp_status refuse(const pp_module_services *services, const pp_world_options *options,
                        pp_err *err)
{
    if (getenv("NCCL_CHUNK_SIZE"))
        return services->err_set(err, PP_USAGE, "NCCL_CHUNK_SIZE", PP_NCCL_CHUNK_SIZE_WHY);
    if (options->link.kind != PP_LINK_FREE)
        return services->err_set(err, PP_USAGE, services->err_name(err, PP_FIELD_LINK),
                                 "transport nccl runs over real links; leave it out, or use "
                                 "%s threads",
                                 services->err_name(err, PP_FIELD_TRANSPORT));
    for (size_t i = 0; options->faults && i < options->faults->count; i++)
        if (pp_fault_is_of_message(options->faults->fault[i].kind))
            return services->err_set(err, PP_USAGE, services->err_name(err, PP_FIELD_FAULT),
                                     "transport nccl cannot lose or change messages on purpose; "
                                     "use %s threads",
                                     services->err_name(err, PP_FIELD_TRANSPORT));
    return PP_OK;
}

/* Determines which ranks this process hosts, and checks that it has GPUs for them. */
static pp_status find_place(pp_world *world, const pp_store_place *place, pp_err *err)
{
    const pp_module_services *services = world->services;
    int gpus = 0;
    pp_status status = pp_gpu_count(services, &gpus, err);
    if (status)
        return status;
    uint32_t hosted = place->launched ? 1 : world->ranks;
    /* Launchers may make only one GPU visible to every process, its own. */
    uint32_t first_gpu = place->launched && gpus > 1 ? place->local : 0;
    if (place->launched && place->ranks != world->ranks)
        return services->err_set(err, PP_USAGE, services->err_name(err, PP_FIELD_TRANSPORT),
                                 "the plan has %u ranks, but %u processes were started; start one "
                                 "per rank",
                                 world->ranks, place->ranks);
    if (first_gpu + hosted > (uint32_t)gpus)
        return services->err_set(err, PP_UNAVAILABLE, NULL,
                                 "this process needs GPU %u, but %d are visible; start one process "
                                 "per GPU (torchrun, mpirun), or use %s threads",
                                 first_gpu + hosted - 1, gpus,
                                 services->err_name(err, PP_FIELD_TRANSPORT));
    world->rank = calloc(hosted, sizeof *world->rank);
    if (!world->rank)
        return services->err_set(err, PP_NOMEM, NULL, "out of memory");
    world->first = place->launched ? place->rank : 0;
    world->hosted = hosted;
    for (uint32_t h = 0; h < world->hosted; h++)
        world->rank[h] = (pp_nccl_rank){ .rank = world->first + h,
                                         .device = (int)(first_gpu + h),
                                         .open_group = PP_NO_SOURCE };
    return PP_OK;
}

static void close_world(pp_world *world)
{
    if (!world)
        return;
    pp_nccl_queues_close(world);
    pp_nccl_unload(world);
    pp_store_close(world->store);
    free(world->payload_bytes);
    free(world->rank);
    free(world);
}

/* Returns NULL when out of memory. */
static pp_world *new_world(const pp_module_services *services, const pp_world_options *options)
{
    pp_world *world = calloc(1, sizeof *world);
    if (!world)
        return NULL;
    world->head.transport = &pp_nccl_transport;
    world->services = services;
    world->options = *options;
    world->ranks = options->ranks;
    atomic_init(&world->stopped, false);
    /* Groups of several communicators start in the order in which they were issued. */
    (void)setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
    return world;
}

pp_status pp_nccl_open(const pp_module_services *services, const pp_world_options *options,
                       pp_world **world_out, pp_err *err)
{
    pp_store_place place;
    pp_status status = refuse(services, options, err);
    if (status || (status = pp_store_find_place(services, &place, err)))
        return status;
    pp_world *world = new_world(services, options);
    if (!world)
        return services->err_set(err, PP_NOMEM, NULL, "out of memory");
    status = find_place(world, &place, err);
    if (!status)
        status = pp_store_open(services, &place, world->ranks, options->stop, &world->store, err);
    if (!status && options->communicators != PP_COMMUNICATORS_PER_EDGE)
        status = pp_nccl_queues_open(world, err);
    if (status && world->store) /* makes the others fail, too */
        pp_store_stop(world->store);
    if (status)
        close_world(world);
    else
        *world_out = world;
    return status;
}

pp_status pp_nccl_open_alone(const pp_module_services *services, int device, pp_world **world_out,
                             pp_err *err)
{
    const pp_world_options options = { .ranks = 1 };
    const pp_store_place place = { .ranks = 1 };
    pp_status status = refuse(services, &options, err);
    if (status)
        return status;
    pp_world *world = new_world(services, &options);
    if (world)
        world->rank = calloc(1, sizeof *world->rank);
    if (!world || !world->rank) {
        free(world);
        return services->err_set(err, PP_NOMEM, NULL, "out of memory");
    }
    world->hosted = 1;
    world->rank[0] = (pp_nccl_rank){ .device = device, .open_group = PP_NO_SOURCE };
    status = pp_store_open(services, &place, 1, NULL, &world->store, err);
    if (status)
        close_world(world);
    else
        *world_out = world;
    return status;
}

static void hosts(const pp_world *world, uint32_t *first, uint32_t *count)
{
    *first = world->first;
    *count = world->hosted;
}

static pp_status all_gather(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                            void *all_out, pp_err *err)
{
    return pp_store_all_gather(world->store, rank, mine, bytes, all_out, err);
}

static pp_status clock_ahead(pp_world *world, uint32_t rank, pp_ns *ahead_ns, pp_ns *error_ns,
                             pp_err *err)
{
    (void)rank;
    return pp_store_clock_ahead(world->store, ahead_ns, error_ns, err);
}

/* Stops the run. Communicators belong to the threads of their ranks, each of which aborts its own
 * in its next call. */
static void stop_all(pp_world *world)
{
    atomic_store(&world->stopped, true);
    pp_store_stop(world->store);
}

static bool alarmed(pp_world *world)
{
    return pp_store_alarmed(world->store);
}

static pp_status collect(pp_world *world, const void *mine, size_t bytes, pp_ns patience_ns,
                         void *all_out, bool *came_out, pp_err *err)
{
    return pp_store_collect(world->store, mine, bytes, patience_ns, all_out, came_out, err);
}

const pp_transport pp_nccl_transport = {
    .name = "nccl",
    .has_queues = true,
    .close = close_world,
    .hosts = hosts,
    .reserve = pp_nccl_reserve,
    .load = pp_nccl_load,
    .begin = pp_nccl_begin,
    .post = pp_nccl_post,
    .wait = pp_nccl_wait,
    .poll = pp_nccl_poll,
    .all_gather = all_gather,
    .clock_ahead = clock_ahead,
    .abort = stop_all,
    .alarmed = alarmed,
    .collect = collect,
};
