/* The module ppsim_mpi.so: opens and closes a world of MPI processes, and has the table that the
 * module exports. */
#include "runtime/mpi/collective.h"
#include "runtime/mpi/messages.h"
#include "runtime/mpi/neighbours.h"
#include "runtime/mpi/wait.h"
#include "sim/base/field.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static bool has_message_faults(const pp_faults *faults)
{
    for (size_t i = 0; faults && i < faults->count; i++)
        if (pp_fault_is_of_message(faults->fault[i].kind))
            return true;
    return false;
}

static pp_status check_options(const pp_module_services *services, const pp_world_options *options,
                               pp_err *err)
{
    if (options->link.kind != PP_LINK_FREE)
        return services->err_set(err, PP_USAGE, services->err_name(err, PP_FIELD_LINK),
                                 "transport mpi runs over real links; leave it out, or use "
                                 "%s threads",
                                 services->err_name(err, PP_FIELD_TRANSPORT));
    if (has_message_faults(options->faults))
        return services->err_set(err, PP_USAGE, services->err_name(err, PP_FIELD_FAULT),
                                 "transport mpi cannot lose or change messages on purpose; use "
                                 "%s threads",
                                 services->err_name(err, PP_FIELD_TRANSPORT));
    return PP_OK;
}

static pp_status wrong_number(const pp_module_services *services, const pp_world_options *options,
                              int processes, pp_err *err)
{
    const uint32_t ranks = options->ranks;
    const uint32_t replicas = options->replicas ? options->replicas : 1;
    if (replicas > 1)
        return services->err_set(
            err, PP_USAGE, services->err_name(err, PP_FIELD_TRANSPORT),
            "%u replicas of %u ranks are %u processes, but MPI has started %d; start one per rank "
            "of each: mpirun -n %u %s ... (with --oversubscribe if there are fewer cores)",
            replicas, ranks, replicas * ranks, processes, replicas * ranks,
            services->err_name(err, PP_FIELD_PROGRAM));
    return services->err_set(
        err, PP_USAGE, services->err_name(err, PP_FIELD_TRANSPORT),
        "the plan has %u ranks, but MPI has started %d process%s; start one per rank: mpirun -n %u "
        "%s ... (with --oversubscribe if there are fewer cores)",
        ranks, processes, processes == 1 ? "" : "es", ranks,
        services->err_name(err, PP_FIELD_PROGRAM));
}

static int find_place(pp_world *world)
{
    MPI_Comm here;
    int ranks_here = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* duplicates inherit it */
    MPI_Comm own; /* this replica's processes: the ranks of a replica follow each other */
    int place = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &place);
    world->replica = place / world->ranks;
    world->rank = place % world->ranks;
    int code = MPI_Comm_split(MPI_COMM_WORLD, world->replica, world->rank, &own);
    if (!code)
        code = MPI_Comm_split(MPI_COMM_WORLD, world->rank, world->replica, &world->peers);
    if (code)
        return code;
    code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    if (code)
        return code;
    MPI_Comm_size(here, &ranks_here);
    MPI_Comm_free(&here);
    world->roomy = ranks_here <= sysconf(_SC_NPROCESSORS_ONLN);
    code = MPI_Comm_dup(own, &world->data);
    if (!code)
        code = MPI_Comm_dup(own, &world->collective);
    if (!code)
        code = MPI_Comm_dup(own, &world->alarm);
    MPI_Comm_free(&own);
    if (!code)
        code = pp_mpi_neighbours_find(world);
    if (!code)
        pp_mpi_stop_listen(world);
    return code;
}

static void release(pp_world *world)
{
    pp_mpi_progress_end(world);
    pp_mpi_unload(world);
    while (world->kept) {
        pp_kept *next = world->kept->next;
        free(world->kept);
        world->kept = next;
    }
    pp_mpi_neighbours_free(world);
    free(world->gather);
    free(world->last);
    pthread_cond_destroy(&world->progress_wanted);
    pthread_mutex_destroy(&world->lock);
    free(world);
}

static const pp_transport transport;

static pp_status open_world(const pp_module_services *services, const pp_world_options *options,
                            pp_world **world_out, pp_err *err)
{
    int ready = 0;
    int provided = MPI_THREAD_SINGLE;
    pp_status status = check_options(services, options, err);
    if (status)
        return status;
    const int replicas = options->replicas ? (int)options->replicas : 1;
    if (options->ranks * (uint32_t)replicas != 1 && !services->launched())
        return wrong_number(services, options, 1, err);
    MPI_Initialized(&ready);
    if (ready)
        return services->err_set(err, PP_USAGE, NULL, "MPI runs in this process already");
    pp_world *world = calloc(1, sizeof *world);
    if (!world)
        return services->err_set(err, PP_NOMEM, NULL, "out of memory");
    world->head.transport = &transport;
    world->services = services;
    world->stop = options->stop;
    world->stop_request = MPI_REQUEST_NULL;
    world->gone = PP_NOBODY;
    pthread_mutex_init(&world->lock, NULL);
    pthread_cond_init(&world->progress_wanted, NULL);

    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (code) {
        release(world);
        return services->err_set(err, PP_UNAVAILABLE, NULL, "MPI does not start (error %d)", code);
    }
    int processes = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    world->ranks = (int)options->ranks;
    world->replicas = replicas;
    if (processes != world->ranks * replicas) {
        status = wrong_number(services, options, processes, err);
    } else if (provided < MPI_THREAD_SERIALIZED) {
        status = services->err_set(err, PP_UNAVAILABLE, NULL, "this MPI was built without threads");
    } else if (!(world->last = calloc(2 * options->ranks, sizeof *world->last))) {
        status = pp_mpi_nomem(world, err);
    } else {
        code = find_place(world);
        if (code)
            status = pp_mpi_failed(world, code, "starting", err);
    }
    if (!status)
        status = pp_mpi_progress_start(world, err);
    if (status) {
        MPI_Finalize(); /* all processes get here, for the same reason */
        release(world);
        return status;
    }
    *world_out = world;
    return PP_OK;
}

/* Returns true when all processes have arrived, false when some do not because they hang or died.
 * */
static bool all_here(pp_world *world)
{
    /* the launcher, which knows of a process that was killed, may end this one any time */
    const pp_ns long_ns = 2000000000, short_ns = 100000000;
    MPI_Request request = MPI_REQUEST_NULL;
    pp_ns until = INT64_MAX;
    pp_patience patience = { 0 };
    int here = 0;
    pthread_mutex_lock(&world->lock);
    int code = MPI_Ibarrier(world->alarm, &request);
    pthread_mutex_unlock(&world->lock);
    while (!code && !here && world->services->clock_now_ns() < until) {
        pthread_mutex_lock(&world->lock);
        code = MPI_Test(&request, &here, MPI_STATUS_IGNORE);
        const bool known = world->gone != PP_NOBODY;
        pthread_mutex_unlock(&world->lock);
        if (until == INT64_MAX && pp_mpi_stopped(world))
            until = world->services->clock_now_ns() + (known ? short_ns : long_ns);
        pp_mpi_pause(world, &patience);
    }
    return !code && here;
}

/* Gives the process that stopped the run time to say why, before the launcher ends it because
 * another has ended. */
static void let_speak(const pp_world *world)
{
    if (world->heard && world->gone == PP_NOBODY)
        nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
}

/* Closes the world. After a stop MPI_Finalize might wait for ever; the process then simply exits,
 * and mpirun ends the others when it notices that. */
static void close_world(pp_world *world)
{
    if (!world)
        return;
    bool here = all_here(world);
    bool stopped = pp_mpi_stopped(world);
    pp_mpi_progress_end(world);
    pp_mpi_cancel_transfers(world);
    if (world->stop_request != MPI_REQUEST_NULL) {
        MPI_Cancel(&world->stop_request);
        MPI_Request_free(&world->stop_request);
    }
    if (!here) {
        let_speak(world);
        return; /* memory that MPI may still write to is kept */
    }
    if (!stopped) {
        MPI_Comm_free(&world->data);
        MPI_Comm_free(&world->collective);
        MPI_Comm_free(&world->alarm);
        MPI_Comm_free(&world->peers);
    }
    MPI_Finalize();
    let_speak(world); /* all get here together */
    release(world);
}

static void hosts(const pp_world *world, uint32_t *first, uint32_t *count)
{
    *first = (uint32_t)world->rank;
    *count = 1;
}

static uint32_t replica_of(const pp_world *world)
{
    return (uint32_t)world->replica;
}

static const pp_transport transport = {
    .name = "mpi",
    .replica = replica_of,
    .exchange = pp_mpi_exchange,
    .gather_replicas = pp_mpi_gather_replicas,
    .close = close_world,
    .hosts = hosts,
    .load = pp_mpi_load,
    .begin = pp_mpi_begin,
    .post = pp_mpi_post,
    .wait = pp_mpi_wait,
    .poll = pp_mpi_poll,
    .all_gather = pp_mpi_all_gather,
    .clock_ahead = pp_mpi_clock_ahead,
    .abort = pp_mpi_abort,
    .lost = pp_mpi_lost,
    .alarmed = pp_mpi_alarmed,
    .collect = pp_mpi_collect,
};

__attribute__((visibility("default"))) extern const pp_module ppsim_module_mpi;
const pp_module ppsim_module_mpi = {
    .abi = PP_MODULE_ABI,
    .version = PPSIM_VERSION,
    .open = open_world,
    .transport = &transport,
};
