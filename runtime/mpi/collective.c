/* Operations of all processes of an MPI job: gathering, the comparison of clocks (the shortest of
 * 32 round trips to rank 0, Cristian 1989), stopping each other, and the exchange of states when
 * something is wrong. */
#include "runtime/mpi/collective.h"

#include "runtime/mpi/neighbours.h"
#include "runtime/mpi/wait.h"

#include <stdlib.h>
#include <string.h>

enum {
    TAG_CLOCK = 1,
    TAG_STOP = 2,
    TAG_COLLECT = 3,
    CLOCK_ROUNDS = 32,
};

/* Reserves `parts` parts of `bytes` in memory of the world, since a gather that is stopped remains
 * pending. */
static pp_status reserve(pp_world *world, size_t bytes, size_t parts, pp_err *err)
{
    if (pp_mpi_stopped(world))
        return world->services->world_stopped(err);
    if (bytes > INT32_MAX / parts)
        return world->services->err_set(err, PP_INPUT, NULL, "cannot gather %zu B per rank", bytes);
    if (bytes * parts <= world->gather_bytes)
        return PP_OK;
    free(world->gather);
    world->gather_bytes = 0;
    world->gather = malloc(bytes * parts);
    if (!world->gather)
        return pp_mpi_nomem(world, err);
    world->gather_bytes = bytes * parts;
    return PP_OK;
}

/* A collective of the rank's replicas; `sent` bytes go in. */
static pp_status share(pp_world *world, const void *mine, size_t sent, size_t bytes, void *out,
                       pp_err *err)
{
    const size_t replicas = (size_t)world->replicas;
    pp_status status = reserve(world, bytes, 2 * replicas, err);
    if (status)
        return status;
    char *came = world->gather, *own = came + bytes * replicas;
    memcpy(own, mine, sent);
    MPI_Request request = MPI_REQUEST_NULL;
    pthread_mutex_lock(&world->lock);
    int code = sent == bytes ? MPI_Iallgather(own, (int)bytes, MPI_BYTE, came, (int)bytes, MPI_BYTE,
                                              world->peers, &request)
                             : MPI_Ialltoall(own, (int)bytes, MPI_BYTE, came, (int)bytes, MPI_BYTE,
                                             world->peers, &request);
    pthread_mutex_unlock(&world->lock);
    if (code)
        return pp_mpi_failed(world, code, "meeting other replicas", err);
    status = pp_mpi_finish(world, &request, 1, "meeting other replicas", err);
    if (!status)
        memcpy(out, came, bytes * replicas);
    return status;
}

pp_status pp_mpi_exchange(pp_world *world, uint32_t rank, const void *mine, size_t bytes, void *out,
                          pp_err *err)
{
    (void)rank;
    return share(world, mine, bytes * (size_t)world->replicas, bytes, out, err);
}

pp_status pp_mpi_gather_replicas(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                                 void *all_out, pp_err *err)
{
    (void)rank;
    return share(world, mine, bytes, bytes, all_out, err);
}

pp_status pp_mpi_all_gather(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                            void *all_out, pp_err *err)
{
    (void)rank;
    size_t ranks = (size_t)world->ranks;
    pp_status status = reserve(world, bytes, ranks + 1, err);
    if (status)
        return status;
    char *all = world->gather;
    char *own = all ? all + bytes * ranks : NULL;
    if (bytes > 0)
        memcpy(own, mine, bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    pthread_mutex_lock(&world->lock);
    int code = bytes == 0 ? MPI_Ibarrier(world->collective, &request)
                          : MPI_Iallgather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                                           world->collective, &request);
    pthread_mutex_unlock(&world->lock);
    if (code)
        return pp_mpi_failed(world, code, "gathering", err);
    status = pp_mpi_finish(world, &request, 1, "gathering", err);
    if (!status && bytes > 0)
        memcpy(all_out, all, bytes * ranks);
    return status;
}

/* Sends clock[0] to `peer`, or receives clock[1] from it. */
static pp_status clock_message(pp_world *world, bool sends, int peer, pp_err *err)
{
    MPI_Request request = MPI_REQUEST_NULL;
    pthread_mutex_lock(&world->lock);
    int code = sends ? MPI_Isend(&world->clock[0], sizeof world->clock[0], MPI_BYTE, peer,
                                 TAG_CLOCK, world->collective, &request)
                     : MPI_Irecv(&world->clock[1], sizeof world->clock[1], MPI_BYTE, peer,
                                 TAG_CLOCK, world->collective, &request);
    pthread_mutex_unlock(&world->lock);
    if (code)
        return pp_mpi_failed(world, code, "comparing clocks", err);
    return pp_mpi_finish(world, &request, 1, "comparing clocks", err);
}

/* Rank 0 answers each of the others in turn with its time. */
static pp_status serve_clocks(pp_world *world, pp_err *err)
{
    for (int peer = 1; peer < world->ranks; peer++) {
        for (int i = 0; i < CLOCK_ROUNDS; i++) {
            pp_status status = clock_message(world, false, peer, err);
            if (status)
                return status;
            world->clock[0] = world->services->clock_now_ns();
            status = clock_message(world, true, peer, err);
            if (status)
                return status;
        }
    }
    return PP_OK;
}

pp_status pp_mpi_clock_ahead(pp_world *world, uint32_t rank, pp_ns *ahead_ns, pp_ns *error_ns,
                             pp_err *err)
{
    pp_ns shortest = INT64_MAX;
    pp_ns ahead = 0;
    if (rank == 0) {
        pp_status status = serve_clocks(world, err);
        if (!status)
            *ahead_ns = *error_ns = 0;
        return status;
    }
    for (int i = 0; i < CLOCK_ROUNDS; i++) {
        pp_ns asked = world->services->clock_now_ns();
        pp_status status = clock_message(world, true, 0, err);
        if (!status)
            status = clock_message(world, false, 0, err);
        if (status)
            return status;
        pp_ns took = world->services->clock_now_ns() - asked;
        if (took < shortest) {
            shortest = took;
            ahead = asked + took / 2 - world->clock[1];
        }
    }
    *ahead_ns = ahead;
    *error_ns = (shortest + 1) / 2; /* the answer was sent at some time in between */
    return PP_OK;
}

/* Posts the receive of a stop, which any process may send at any time. The lock is held. */
void pp_mpi_stop_listen(pp_world *world)
{
    MPI_Irecv(&world->stop_word, 1, MPI_INT32_T, MPI_ANY_SOURCE, TAG_STOP, world->alarm,
              &world->stop_request);
}

void pp_mpi_abort(pp_world *world)
{
    if (atomic_exchange(&world->stopped, true))
        return;
    pthread_mutex_lock(&world->lock);
    world->told = true;
    world->stop_sent = world->gone;
    for (int peer = 0; peer < world->ranks; peer++) {
        MPI_Request request;
        if (peer != world->rank && MPI_Isend(&world->stop_sent, 1, MPI_INT32_T, peer, TAG_STOP,
                                             world->alarm, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
    pthread_mutex_unlock(&world->lock);
}

bool pp_mpi_alarmed(pp_world *world)
{
    int raised = 0;
    pthread_mutex_lock(&world->lock);
    pp_mpi_look(world);
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_COLLECT, world->alarm, &raised, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&world->lock);
    return raised;
}

/* Tests the receives request[0, ranks) and the sends request[ranks, 2 * ranks). Returns true when
 * all are done. */
static bool test_collect(pp_world *world, MPI_Request *request, bool *came)
{
    bool all = true;
    pthread_mutex_lock(&world->lock);
    for (int i = 0; i < 2 * world->ranks; i++) {
        int there = 0;
        if (request[i] == MPI_REQUEST_NULL)
            continue;
        int code = MPI_Test(&request[i], &there, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) {
            request[i] = MPI_REQUEST_NULL;
        } else if (there && i < world->ranks) {
            came[i] = true;
        }
        all = all && (code != MPI_SUCCESS || there);
    }
    pthread_mutex_unlock(&world->lock);
    return all;
}

pp_status pp_mpi_collect(pp_world *world, const void *mine, size_t bytes, pp_ns patience_ns,
                         void *all_out, bool *came_out, pp_err *err)
{
    size_t ranks = (size_t)world->ranks;
    pp_ns until = world->services->clock_now_ns() + patience_ns;
    if (bytes > INT32_MAX)
        return world->services->err_set(err, PP_INPUT, NULL, "cannot collect %zu B", bytes);
    size_t requests_at = sizeof(pp_kept) + (ranks + 1) * bytes;
    requests_at += -requests_at % sizeof(MPI_Request);
    pp_kept *kept = calloc(1, requests_at + 2 * ranks * sizeof(MPI_Request));
    if (!kept)
        return pp_mpi_nomem(world, err);
    char *all = (char *)(kept + 1);
    char *own = all + ranks * bytes;
    MPI_Request *request = (MPI_Request *)(void *)((char *)kept + requests_at);
    memcpy(own, mine, bytes);
    memcpy(all + (size_t)world->rank * bytes, mine, bytes);
    for (size_t i = 0; i < ranks; i++)
        came_out[i] = i == (size_t)world->rank;

    pthread_mutex_lock(&world->lock);
    kept->next = world->kept; /* sends to processes that do not answer stay pending */
    world->kept = kept;
    for (int i = 0; i < world->ranks; i++) {
        request[i] = request[world->ranks + i] = MPI_REQUEST_NULL;
        if (i == world->rank)
            continue;
        MPI_Irecv(all + (size_t)i * bytes, (int)bytes, MPI_BYTE, i, TAG_COLLECT, world->alarm,
                  &request[i]);
        MPI_Isend(own, (int)bytes, MPI_BYTE, i, TAG_COLLECT, world->alarm,
                  &request[world->ranks + i]);
    }
    pthread_mutex_unlock(&world->lock);

    pp_patience patience = { 0 };
    while (!test_collect(world, request, came_out) && world->services->clock_now_ns() < until)
        pp_mpi_pause(world, &patience);
    pthread_mutex_lock(&world->lock);
    for (int i = 0; i < world->ranks; i++)
        if (request[i] != MPI_REQUEST_NULL)
            MPI_Cancel(&request[i]);
    pthread_mutex_unlock(&world->lock);
    memcpy(all_out, all, ranks * bytes);
    return PP_OK;
}
