/* Communicators of transport nccl: one of all ranks, or one for every two neighbours. Each has its
 * own stream, since a communicator runs its groups one after the other, whatever their streams are
 * (NCCL 2.28, enqueue.cc: every launch waits for the one before). */
#include "runtime/cuda/nccl/nccl_queues.h"

#include "runtime/cuda/nccl/nccl_wait.h"

#include <stdlib.h>

#define NONE PP_NO_SOURCE

uint32_t pp_nccl_queue_to(const pp_nccl_rank *r, uint32_t peer)
{
    for (uint32_t q = 0; q < r->queues; q++)
        if (r->queue[q].peer == peer || r->queue[q].peer == NONE)
            return q;
    return NONE;
}

int pp_nccl_peer_in(const pp_nccl_rank *r, uint32_t queue, uint32_t peer)
{
    if (r->queue[queue].peer == NONE)
        return (int)peer;
    return peer > r->rank;
}

/* The stream has the highest priority, so that a message does not wait for waves of compute. */
static pp_status add_queue(pp_world *world, pp_nccl_rank *r, uint32_t peer,
                           const pp_gpu_channels *channels, pp_err *err)
{
    int least = 0;
    int greatest = 0;
    pp_nccl_queue *grown = realloc(r->queue, (r->queues + 1) * sizeof *grown);
    if (!grown)
        return world->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    r->queue = grown;
    grown[r->queues] = (pp_nccl_queue){ .peer = peer };
    if (channels)
        grown[r->queues].channels = *channels;
    cudaError_t code = cudaSetDevice(r->device);
    if (!code)
        code = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    if (!code)
        code =
            cudaStreamCreateWithPriority(&grown[r->queues].stream, cudaStreamNonBlocking, greatest);
    r->queues += !code;
    return pp_gpu_check(world->services, r->rank, code, "making a stream", err);
}

static void close_queue(pp_nccl_rank *r, pp_nccl_queue *queue)
{
    (void)cudaSetDevice(r->device);
    if (queue->comm)
        (void)ncclCommDestroy(queue->comm);
    (void)cudaStreamDestroy(queue->stream);
}

/* Finalizes all communicators, for which NCCL needs all ranks, and then destroys them. */
void pp_nccl_queues_close(pp_world *world)
{
    pp_err ignored = { 0 };
    for (uint32_t h = 0; h < world->hosted; h++) {
        pp_nccl_rank *r = &world->rank[h];
        if (pp_nccl_stopped(world))
            (void)pp_nccl_leave(world, r, &ignored);
        for (size_t q = 0; q < r->queues; q++)
            if (r->queue[q].comm)
                (void)ncclCommFinalize(r->queue[q].comm);
    }
    for (uint32_t h = 0; h < world->hosted; h++) {
        pp_nccl_rank *r = &world->rank[h];
        for (size_t q = 0; q < r->queues; q++)
            if (r->queue[q].comm &&
                pp_nccl_settle(world, r, r->queue[q].comm, "ending a communicator", &ignored))
                (void)pp_nccl_leave(world, r, &ignored);
        for (size_t q = 0; q < r->queues; q++)
            close_queue(r, &r->queue[q]);
        free(r->queue);
        r->queue = NULL;
        r->queues = 0;
    }
}

#define HAS_NET_CHANNELS (NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0))

bool pp_nccl_has_net_channels(void)
{
    return HAS_NET_CHANNELS;
}

static ncclConfig_t config_of(const pp_gpu_channels *channels)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    if (channels && channels->most)
        config.maxCTAs = (int)channels->most;
    if (channels && channels->least)
        config.minCTAs = (int)channels->least;
#if HAS_NET_CHANNELS
    if (channels && channels->per_net_peer)
        config.nChannelsPerNetPeer = (int)channels->per_net_peer;
#endif
    return config;
}

/* Makes a communicator. a, b: its members; a NONE: all ranks. */
static pp_status join(pp_world *world, uint32_t a, uint32_t b, const pp_gpu_channels *channels,
                      ncclUniqueId id, pp_err *err)
{
    ncclConfig_t config = config_of(channels);
    ncclResult_t code = ncclGroupStart();
    pp_status status = pp_nccl_check(world, world->first, NULL, code, "opening a group", err);
    if (status)
        return status;
    for (uint32_t h = 0; h < world->hosted && !status; h++) {
        pp_nccl_rank *r = &world->rank[h];
        bool all = a == NONE;
        if (!all && r->rank != a && r->rank != b)
            continue;
        status = add_queue(world, r, all ? NONE : r->rank == a ? b : a, channels, err);
        if (status)
            break;
        code = ncclCommInitRankConfig(&r->queue[r->queues - 1].comm, all ? (int)world->ranks : 2,
                                      id, all ? (int)r->rank : r->rank == b, &config);
        status = pp_nccl_check(world, r->rank, NULL, code, "joining a communicator", err);
    }
    code = ncclGroupEnd();
    if (!status)
        status = pp_nccl_check(world, world->first, NULL, code, "joining a communicator", err);
    for (uint32_t h = 0; h < world->hosted && !status; h++) {
        pp_nccl_rank *r = &world->rank[h];
        if (a == NONE || r->rank == a || r->rank == b)
            status = pp_nccl_settle(world, r, r->queue[r->queues - 1].comm,
                                    "joining a communicator", err);
    }
    return status;
}

/* The process of rank 0 makes the ids; all others get them through the store. */
static pp_status share_ids(pp_world *world, ncclUniqueId *id, size_t count, pp_err *err)
{
    for (size_t i = 0; i < count && world->first == 0; i++) {
        pp_status status = pp_nccl_check(world, 0, NULL, ncclGetUniqueId(&id[i]),
                                         "asking for a communicator's name", err);
        if (status)
            return status;
    }
    return pp_store_tell(world->store, id, count * sizeof *id, err);
}

pp_status pp_nccl_queue_add(pp_world *world, uint32_t a, uint32_t b,
                            const pp_gpu_channels *channels, pp_err *err)
{
    ncclUniqueId id = { 0 };
    pp_status status = share_ids(world, &id, 1, err);
    return status ? status : join(world, a, b, channels, id, err);
}

pp_status pp_nccl_queues_open(pp_world *world, pp_err *err)
{
    return pp_nccl_queue_add(world, NONE, NONE, NULL, err);
}

typedef struct pair {
    uint32_t low, high;
} pair;

static int compare_pairs(const void *left, const void *right)
{
    const pair *a = left;
    const pair *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return a->high < b->high ? -1 : a->high > b->high;
}

/* Lists the pairs of ranks that exchange messages, each pair once. The list is the same in every
 * process. */
static size_t find_pairs(const pp_comm *comm, pair *out)
{
    size_t count = 0;
    for (size_t t = 0; t < comm->transfer_count; t++) {
        uint32_t a = comm->transfer[t].rank;
        uint32_t b = comm->transfer[t].peer;
        out[t] = a < b ? (pair){ a, b } : (pair){ b, a };
    }
    if (comm->transfer_count)
        qsort(out, comm->transfer_count, sizeof *out, compare_pairs);
    for (size_t t = 0; t < comm->transfer_count; t++)
        if (t == 0 || compare_pairs(&out[t], &out[count - 1]) != 0)
            out[count++] = out[t];
    return count;
}

pp_status pp_nccl_queues_for(pp_world *world, const pp_program *program, pp_err *err)
{
    if (world->options.communicators != PP_COMMUNICATORS_PER_EDGE)
        return PP_OK;
    pp_nccl_queues_close(world);
    if (pp_nccl_stopped(world))
        return world->services->world_stopped(err);
    size_t transfers = program->comm->transfer_count;
    pair *pairs = malloc((transfers + 1) * sizeof *pairs);
    ncclUniqueId *id = calloc(transfers + 1, sizeof *id);
    pp_status status = PP_OK;
    if (!pairs || !id)
        status = world->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    size_t count = status ? 0 : find_pairs(program->comm, pairs);
    if (!status)
        status = share_ids(world, id, count, err);
    for (size_t i = 0; i < count && !status;
         i++) /* one after the other, in the same order everywhere, so that no rank waits */
        status = join(world, pairs[i].low, pairs[i].high, NULL, id[i], err);
    free(pairs);
    free(id);
    return status;
}
