/* Times traffic between GPUs: a world of transport nccl without a program. Through the store, rank
 * 0 announces to the other processes which traffic comes next; each traffic runs once uncounted,
 * then `runs` times. */
#define _GNU_SOURCE /* gethostname */
#include "runtime/cuda/timing/link.h"

#include "runtime/cuda/nccl/nccl_queues.h"
#include "runtime/cuda/nccl/nccl_wait.h"
#include "runtime/cuda/nccl/nccl_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 256, SHAPE_BYTES_MAX = 4096 };

/* The memory and events of one rank of this process. */
typedef struct endpoint {
    char *from, *to; /* on the GPU */
    char *host;      /* pinned */
    cudaEvent_t begin, done;
} endpoint;

/* A communicator of ranks a and b, or of all ranks if these are PP_NO_SOURCE. */
typedef struct member_set {
    uint32_t a, b;
    pp_gpu_channels channels;
} member_set;

struct pp_gpu_link {
    pp_world *world;
    endpoint *endpoint; /* [hosted] */
    uint32_t *node;     /* [ranks] */
    member_set *made;   /* [made_count], the same in all processes */
    size_t made_count;
    uint64_t bytes_max;
    bool broken;
    pp_gpu_link_facts facts;
};

/* The next task of all processes. runs: 0: they end. */
typedef struct order {
    pp_traffic traffic;
    uint32_t runs;
} order;

static pp_status nomem(const pp_module_services *services, pp_err *err)
{
    return services->err_set(err, PP_NOMEM, NULL, "out of memory");
}

static pp_status open_endpoint(pp_gpu_link *link, uint32_t h, pp_err *err)
{
    const pp_nccl_rank *r = &link->world->rank[h];
    endpoint *e = &link->endpoint[h];
    cudaError_t code = cudaSetDevice(r->device);
    if (!code)
        code = cudaMalloc((void **)&e->from, link->bytes_max);
    if (!code)
        code = cudaMalloc((void **)&e->to, link->bytes_max);
    if (!code)
        code = cudaMallocHost((void **)&e->host, SHAPE_BYTES_MAX);
    if (!code)
        code = cudaEventCreate(&e->begin);
    if (!code)
        code = cudaEventCreate(&e->done);
    return pp_gpu_check(link->world->services, r->rank, code, "memory for messages", err);
}

static void close_endpoint(const pp_nccl_rank *r, endpoint *e)
{
    (void)cudaSetDevice(r->device);
    (void)cudaFree(e->from);
    (void)cudaFree(e->to);
    (void)cudaFreeHost(e->host);
    if (e->begin)
        (void)cudaEventDestroy(e->begin);
    if (e->done)
        (void)cudaEventDestroy(e->done);
}

/* Numbers the machines in the order of their first ranks. */
static pp_status find_nodes(pp_gpu_link *link, pp_err *err)
{
    pp_world *world = link->world;
    char mine[NAME] = "";
    if (!world->store || world->hosted == world->ranks)
        return PP_OK; /* all on this one: 0 */
    char(*name)[NAME] = calloc(world->ranks, sizeof *name);
    if (!name)
        return nomem(world->services, err);
    (void)gethostname(mine, sizeof mine - 1);
    pp_status status =
        pp_store_all_gather(world->store, world->first, mine, sizeof mine, name, err);
    uint32_t nodes = 0;
    for (uint32_t r = 0; r < world->ranks && !status; r++) {
        uint32_t same = 0;
        while (memcmp(name[same], name[r], sizeof name[r]) != 0)
            same++;
        link->node[r] = same < r ? link->node[same] : nodes++;
    }
    free(name);
    return status;
}

/* Opens a world with as many ranks as processes were started, or as GPUs are visible. */
static pp_status open_world(const pp_module_services *services, pp_world **world_out, pp_err *err)
{
    pp_store_place place;
    int gpus = 0;
    pp_status status = pp_store_find_place(services, &place, err);
    if (!status)
        status = pp_gpu_count(services, &gpus, err);
    if (status)
        return status;
    const pp_world_options options = { .ranks = place.launched ? place.ranks : (uint32_t)gpus,
                                       .communicators = PP_COMMUNICATORS_PER_EDGE };
    return pp_nccl_open(services, &options, world_out, err);
}

static void abandon(pp_gpu_link *link)
{
    link->broken = true;
    pp_nccl_transport.abort(link->world);
}

static pp_status perform(pp_gpu_link *link, order *wanted, pp_ns *took_ns, pp_err *err);

static void close_link(pp_gpu_link *link)
{
    pp_ns took_ns;
    pp_err ignored = { 0 };
    if (!link)
        return;
    pp_world *world = link->world;
    if (world && !link->broken && world->first == 0)
        (void)perform(link, &(order){ .runs = 0 }, &took_ns, &ignored);
    if (world) /* first, since freeing memory waits for pending messages, which may never end */
        pp_nccl_queues_close(world);
    for (uint32_t h = 0; world && link->endpoint && h < world->hosted; h++)
        close_endpoint(&world->rank[h], &link->endpoint[h]);
    if (world)
        pp_nccl_transport.close(world);
    free(link->made);
    free(link->endpoint);
    free(link->node);
    free(link);
}

static pp_status find_facts(pp_gpu_link *link, pp_err *err)
{
    const pp_world *world = link->world;
    struct cudaDeviceProp properties;
    cudaError_t code = cudaGetDeviceProperties(&properties, world->rank[0].device);
    pp_status status =
        pp_gpu_check(world->services, world->first, code, "asking what the GPU is", err);
    if (status)
        return status;
    link->facts = (pp_gpu_link_facts){ .first = world->first == 0,
                                       .ranks = world->ranks,
                                       .node = link->node,
                                       .net_channels = pp_nccl_has_net_channels(),
                                       .multiprocessors = properties.multiProcessorCount };
    snprintf(link->facts.name, sizeof link->facts.name, "%.127s", properties.name);
    return pp_nccl_check(world, world->first, NULL, ncclGetVersion(&link->facts.nccl),
                         "asking for NCCL's version", err);
}

static pp_status open_link(const pp_module_services *services, uint64_t bytes_max,
                           pp_gpu_link **link_out, pp_err *err)
{
    pp_gpu_link *link = calloc(1, sizeof *link);
    if (!link)
        return nomem(services, err);
    link->bytes_max = bytes_max;
    pp_status status = open_world(services, &link->world, err);
    if (!status) {
        link->endpoint = calloc(link->world->hosted, sizeof *link->endpoint);
        link->node = calloc(link->world->ranks, sizeof *link->node);
        if (!link->endpoint || !link->node)
            status = nomem(services, err);
    }
    if (!status)
        status = find_nodes(link, err);
    if (!status)
        status = find_facts(link, err);
    for (uint32_t h = 0; !status && h < link->world->hosted; h++)
        status = open_endpoint(link, h, err);
    if (status && link->world)
        abandon(link);
    if (status)
        close_link(link);
    else
        *link_out = link;
    return status;
}

static bool takes_part(const pp_traffic *t, uint32_t rank)
{
    bool all = !t->pair && (t->kind == PP_TRAFFIC_ALL_REDUCE || t->kind == PP_TRAFFIC_ALL_GATHER);
    return all || rank == t->first || rank == t->second;
}

/* Returns the queue of a rank that takes part. */
static pp_nccl_queue *queue_of(pp_nccl_rank *r, const pp_traffic *t)
{
    uint32_t peer = !t->pair ? PP_NO_SOURCE : r->rank == t->first ? t->second : t->first;
    for (size_t q = 0; q < r->queues; q++)
        if (r->queue[q].peer == peer &&
            memcmp(&r->queue[q].channels, &t->channels, sizeof t->channels) == 0)
            return &r->queue[q];
    return NULL; /* not reached: provide_queue has made it */
}

static pp_status provide_queue(pp_gpu_link *link, const pp_traffic *t, pp_err *err)
{
    const member_set wanted = { t->pair ? t->first : PP_NO_SOURCE,
                                t->pair ? t->second : PP_NO_SOURCE, t->channels };
    for (size_t i = 0; i < link->made_count; i++)
        if (memcmp(&link->made[i], &wanted, sizeof wanted) == 0)
            return PP_OK;
    member_set *made = realloc(link->made, (link->made_count + 1) * sizeof *made);
    if (!made)
        return nomem(link->world->services, err);
    link->made = made;
    made[link->made_count++] = wanted;
    return pp_nccl_queue_add(link->world, wanted.a, wanted.b, &wanted.channels, err);
}

/* Issues the part of a rank in one group. */
static ncclResult_t issue(const pp_gpu_link *link, uint32_t h, const pp_traffic *t)
{
    pp_nccl_rank *r = &link->world->rank[h];
    const pp_nccl_queue *q = queue_of(r, t);
    const endpoint *e = &link->endpoint[h];
    const uint32_t ranks = t->pair ? 2 : link->world->ranks;
    const bool both = t->kind == PP_TRAFFIC_EXCHANGE;
    const int second = t->pair ? 1 : (int)t->second;
    const int first = t->pair ? 0 : (int)t->first;
    ncclResult_t code = ncclSuccess;
    if (t->kind == PP_TRAFFIC_ALL_REDUCE)
        return ncclAllReduce(e->from, e->to, t->bytes / sizeof(float), ncclFloat, ncclSum, q->comm,
                             q->stream);
    if (t->kind == PP_TRAFFIC_ALL_GATHER)
        return ncclAllGather(e->from, e->to, t->bytes / ranks, ncclInt8, q->comm, q->stream);
    if (r->rank == t->first)
        code = ncclSend(e->from, t->bytes, ncclInt8, second, q->comm, q->stream);
    if (!code && r->rank == t->second)
        code = ncclRecv(e->to, t->bytes, ncclInt8, first, q->comm, q->stream);
    if (!code && both && r->rank == t->first)
        code = ncclRecv(e->to, t->bytes, ncclInt8, second, q->comm, q->stream);
    if (!code && both && r->rank == t->second)
        code = ncclSend(e->from, t->bytes, ncclInt8, first, q->comm, q->stream);
    return code;
}

static pp_status post(pp_gpu_link *link, const pp_traffic *t, pp_err *err)
{
    pp_world *world = link->world;
    const char *what = "sending and receiving";
    pp_status status =
        pp_nccl_check(world, world->first, NULL, ncclGroupStart(), "opening a group", err);
    if (status)
        return status;
    for (uint32_t h = 0; h < world->hosted && !status; h++)
        if (takes_part(t, world->rank[h].rank))
            status = pp_nccl_check(world, world->rank[h].rank, NULL, issue(link, h, t), what, err);
    ncclResult_t ended = ncclGroupEnd();
    if (!status)
        status = pp_nccl_check(world, world->first, NULL, ended, what, err);
    for (uint32_t h = 0; h < world->hosted && !status; h++) {
        pp_nccl_rank *r = &world->rank[h];
        if (takes_part(t, r->rank))
            status = pp_nccl_settle(world, r, queue_of(r, t)->comm, what, err);
    }
    return status;
}

/* The host of the second rank reads the sizes that arrived, since the next ops would depend on
 * them. */
static pp_status read_shape(pp_gpu_link *link, uint32_t h, const pp_traffic *t, pp_err *err)
{
    pp_nccl_rank *r = &link->world->rank[h];
    const pp_nccl_queue *q = queue_of(r, t);
    const endpoint *e = &link->endpoint[h];
    const char *what = "reading a message";
    size_t bytes = t->bytes < SHAPE_BYTES_MAX ? t->bytes : SHAPE_BYTES_MAX;
    cudaError_t code = cudaSetDevice(r->device);
    if (!code && r->rank == t->second)
        code = cudaMemcpyAsync(e->host, e->to, bytes, cudaMemcpyDeviceToHost, q->stream);
    if (!code)
        code = cudaEventRecord(e->done, q->stream);
    pp_status status = pp_gpu_check(link->world->services, r->rank, code, what, err);
    return status ? status
                  : pp_nccl_await(link->world, r, e->done, q->comm, PP_NCCL_START_NS, what, err);
}

static pp_status run_once(pp_gpu_link *link, const pp_traffic *t, pp_err *err)
{
    pp_status status = post(link, t, err);
    for (uint32_t h = 0; h < link->world->hosted && !status; h++)
        if (t->kind == PP_TRAFFIC_SIZE && takes_part(t, link->world->rank[h].rank))
            status = read_shape(link, h, t, err);
    return status;
}

static pp_status mark(pp_gpu_link *link, const pp_traffic *t, bool begin, pp_err *err)
{
    for (uint32_t h = 0; h < link->world->hosted; h++) {
        pp_nccl_rank *r = &link->world->rank[h];
        if (!takes_part(t, r->rank))
            continue;
        cudaError_t code = cudaSetDevice(r->device);
        if (!code)
            code = cudaEventRecord(begin ? link->endpoint[h].begin : link->endpoint[h].done,
                                   queue_of(r, t)->stream);
        pp_status status =
            pp_gpu_check(link->world->services, r->rank, code, "recording an event", err);
        if (status)
            return status;
    }
    return PP_OK;
}

/* Reads the time of the slowest rank of this process, by the events of its stream. */
static pp_status read_events(pp_gpu_link *link, const pp_traffic *t, pp_ns *took_ns, pp_err *err)
{
    pp_ns took = 0;
    for (uint32_t h = 0; h < link->world->hosted; h++) {
        pp_nccl_rank *r = &link->world->rank[h];
        float ms = 0;
        if (!takes_part(t, r->rank))
            continue;
        pp_status status =
            pp_nccl_await(link->world, r, link->endpoint[h].done, queue_of(r, t)->comm,
                          PP_NCCL_START_NS, "sending and receiving", err);
        if (status)
            return status;
        cudaError_t code =
            cudaEventElapsedTime(&ms, link->endpoint[h].begin, link->endpoint[h].done);
        status = pp_gpu_check(link->world->services, r->rank, code, "reading an event", err);
        if (status)
            return status;
        pp_ns ns = (pp_ns)((double)ms * 1e6 + 0.5);
        took = ns > took ? ns : took;
    }
    *took_ns = took;
    return PP_OK;
}

static pp_status time_here(pp_gpu_link *link, const order *wanted, pp_ns *took_ns, pp_err *err)
{
    const pp_traffic *t = &wanted->traffic;
    const pp_module_services *services = link->world->services;
    bool here = false;
    for (uint32_t h = 0; h < link->world->hosted; h++)
        here = here || takes_part(t, link->world->rank[h].rank);
    pp_status status = provide_queue(link, t, err);
    if (!status && here)
        status = run_once(link, t, err);
    if (!status)
        status = mark(link, t, true, err);
    pp_ns began_ns = services->clock_now_ns();
    for (uint32_t i = 0; i < wanted->runs && here && !status; i++)
        status = run_once(link, t, err);
    pp_ns posted_ns = services->clock_now_ns() - began_ns;
    if (!status)
        status = mark(link, t, false, err);
    if (!status)
        status = read_events(link, t, took_ns, err);
    if (!status && here && (t->kind == PP_TRAFFIC_SIZE || t->kind == PP_TRAFFIC_POST))
        *took_ns = posted_ns;
    return status;
}

/* Performs the order of the process of rank 0. */
static pp_status perform(pp_gpu_link *link, order *wanted, pp_ns *took_ns, pp_err *err)
{
    pp_world *world = link->world;
    const bool alone = world->hosted == world->ranks;
    pp_ns took = 0;
    pp_ns *all = calloc(world->ranks, sizeof *all);
    pp_status status = all ? pp_store_tell(world->store, wanted, sizeof *wanted, err)
                           : nomem(world->services, err);
    if (!status && wanted->runs)
        status = time_here(link, wanted, &took, err);
    if (!status && wanted->runs && !alone)
        status = pp_store_all_gather(world->store, world->first, &took, sizeof took, all, err);
    for (uint32_t r = 0; r < world->ranks && !status && !alone; r++)
        took = all[r] > took ? all[r] : took;
    free(all);
    if (status)
        abandon(link);
    else
        *took_ns = took;
    return status;
}

static pp_status run(pp_gpu_link *link, const pp_traffic *traffic, uint32_t runs, pp_ns *took_ns,
                     pp_err *err)
{
    order wanted = { .traffic = *traffic, .runs = runs };
    return perform(link, &wanted, took_ns, err);
}

static pp_status serve(pp_gpu_link *link, pp_err *err)
{
    order wanted = { .runs = 1 };
    pp_ns took_ns;
    pp_status status = PP_OK;
    while (!status && wanted.runs)
        status = perform(link, &wanted, &took_ns, err);
    return status;
}

static const pp_gpu_link_facts *facts(const pp_gpu_link *link)
{
    return &link->facts;
}

const pp_gpu_link_table pp_gpu_link_calls = {
    .open = open_link,
    .close = close_link,
    .facts = facts,
    .run = run,
    .serve = serve,
};
