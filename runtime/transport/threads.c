/* Transport threads: all ranks are threads of this process.
 *
 * A directed edge has two queues, of sends and of receives. The thread that posts the second
 * half of a transfer performs the copy and settles when the transfer ends: at once, or when a
 * link of the given speed would have finished. There is no background thread. */
#include "runtime/core/clock.h"
#include "runtime/core/transport.h"
#include "sim/base/alloc.h"
#include "sim/base/minmax.h"
#include "sim/base/processors.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define EAGER_NS 30000      /* how long a rank with its own processor spins before it sleeps */
#define TURNS 4             /* how often a rank that shares its processor yields before it sleeps */
#define BRIEF_NS 100000     /* it yields only if its previous wait was shorter than this */
#define LOOK_UP_NS 20000000 /* longest sleep before the stop flag is checked */

/* One half of a transfer: a send or a receive that was posted. */
typedef struct half {
    pp_post post;
    pp_ns posted_ns;
    pp_ns done_ns;       /* valid if matched */
    pp_message came;     /* of a receive: the header that arrived */
    atomic_bool matched; /* set under the lock of the edge; also read without it */
} half;

/* A message that was sent and not yet matched; a fault may have changed or duplicated it. */
typedef struct parcel {
    pp_message message;
    uint32_t transfer;
    pp_ns extra_ns;
} parcel;

typedef struct edge {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint32_t from, to;
    uint32_t capacity; /* largest number of sends, and of receives, in any step */
    parcel *sent;      /* [2 * capacity] */
    uint32_t *wanted;  /* [capacity]: the transfer of each receive */
    uint32_t sent_count, wanted_count;
    uint32_t matched_pairs; /* pairs of send and receive that were matched */
    uint32_t done_count;    /* sends that are done */
    pp_ns last_done_ns;     /* when the last of them was done */
    uint32_t
        held; /* a transfer that fault REORDER holds back until the next one was sent, or NONE */
    pp_ns free_ns; /* when the previous pair was done */
} edge;

struct pp_world {
    pp_world_options options;
    const pp_program *program;
    edge *edge;
    size_t edge_count;
    bool spare;            /* every rank can have its own processor */
    uint32_t *edge_of;     /* [transfers] */
    half *half;            /* [transfers] */
    uint32_t *sends;       /* [ranks]: messages that the rank sent in this step */
    pp_ns *waited_ns;      /* [ranks]: duration of the rank's last wait */
    char *buffer;          /* copies of the payloads of buffered sends */
    size_t *buffer_at;     /* [transfers] */
    const void **gathered; /* [ranks]: what each contributes to all_gather */
    pthread_mutex_t lock;  /* protects what follows */
    pthread_cond_t all_here;
    uint32_t here;
    uint64_t round;
    atomic_bool stopped;
};

static void unload(pp_world *world)
{
    for (size_t e = 0; e < world->edge_count; e++) {
        pthread_cond_destroy(&world->edge[e].moved);
        pthread_mutex_destroy(&world->edge[e].lock);
        free(world->edge[e].sent);
        free(world->edge[e].wanted);
    }
    free(world->edge);
    free(world->edge_of);
    free(world->half);
    free(world->buffer);
    free(world->buffer_at);
    world->edge = NULL;
    world->edge_of = NULL;
    world->half = NULL;
    world->buffer = NULL;
    world->buffer_at = NULL;
    world->edge_count = 0;
}

static void threads_close(pp_world *world)
{
    if (!world)
        return;
    unload(world);
    pthread_cond_destroy(&world->all_here);
    pthread_mutex_destroy(&world->lock);
    free(world->gathered);
    free(world->sends);
    free(world->waited_ns);
    free(world);
}

static pp_status threads_available(pp_err *err)
{
    (void)err;
    return PP_OK;
}

static pp_status threads_open(const pp_world_options *options, pp_world **world_out, pp_err *err)
{
    pp_world *world = pp_alloc_array(1, sizeof *world);
    if (!world)
        return pp_err_nomem(err);
    world->options = *options;
    world->spare =
        (uint64_t)options->ranks * (options->replicas ? options->replicas : 1) <= pp_processors();
    pthread_mutex_init(&world->lock, NULL); /* cannot fail with default attributes on Linux */
    pthread_cond_init(&world->all_here, NULL);
    atomic_init(&world->stopped, false);
    world->gathered = pp_alloc_array(options->ranks, sizeof *world->gathered);
    world->sends = pp_alloc_array(options->ranks, sizeof *world->sends);
    world->waited_ns = pp_alloc_array(options->ranks, sizeof *world->waited_ns);
    if (!world->gathered || !world->sends || !world->waited_ns) {
        threads_close(world);
        return pp_err_nomem(err);
    }
    *world_out = world;
    return PP_OK;
}

static void threads_hosts(const pp_world *world, uint32_t *first, uint32_t *count)
{
    *first = 0;
    *count = world->options.ranks;
}

/* A transfer and its edge, for sorting by edge. */
typedef struct edge_use {
    uint32_t from, to, transfer;
} edge_use;

static int compare_uses(const void *done_count, const void *right)
{
    const edge_use *a = done_count;
    const edge_use *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return a->transfer < b->transfer ? -1 : a->transfer > b->transfer;
}

static pp_status add_edge(pp_world *world, const edge_use *use, size_t count, pp_err *err)
{
    edge *e = &world->edge[world->edge_count];
    e->from = use->from;
    e->to = use->to;
    e->capacity =
        (uint32_t)count; /* counts both halves of all its transfers, which is more than enough */
    e->held = NONE;
    e->sent = pp_alloc_array(count, 2 * sizeof *e->sent);
    e->wanted = pp_alloc_array(count, sizeof *e->wanted);
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->moved, NULL);
    for (size_t i = 0; i < count; i++)
        world->edge_of[use[i].transfer] = (uint32_t)world->edge_count;
    world->edge_count++;
    return e->sent && e->wanted ? PP_OK : pp_err_nomem(err);
}

static pp_status make_edges(pp_world *world, edge_use *use, pp_err *err)
{
    const pp_comm *comm = world->program->comm;
    size_t edges = 0;
    for (size_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *own = &comm->transfer[t];
        bool sends = pp_transfer_sends((pp_transfer_kind)own->kind);
        use[t] = (edge_use){ .from = sends ? own->rank : own->peer,
                             .to = sends ? own->peer : own->rank,
                             .transfer = (uint32_t)t };
    }
    qsort(use, comm->transfer_count, sizeof *use, compare_uses);
    for (size_t t = 0; t < comm->transfer_count; t++)
        edges += t == 0 || use[t].from != use[t - 1].from || use[t].to != use[t - 1].to;
    world->edge = pp_alloc_array(edges, sizeof *world->edge);
    if (!world->edge)
        return pp_err_nomem(err);
    pp_status status = PP_OK;
    for (size_t t = 0, next; t < comm->transfer_count && !status; t = next) {
        next = t + 1;
        while (next < comm->transfer_count && use[next].from == use[t].from &&
               use[next].to == use[t].to)
            next++;
        status = add_edge(world, &use[t], next - t, err);
    }
    return status;
}

static pp_status threads_load(pp_world *world, const pp_program *program,
                              const size_t *buffered_bytes, pp_err *err)
{
    size_t transfers = program->comm->transfer_count;
    size_t bytes = 0;
    unload(world);
    world->program = program;
    world->edge_of = pp_alloc_array(transfers, sizeof *world->edge_of);
    world->half = pp_alloc_array(transfers, sizeof *world->half);
    world->buffer_at = pp_alloc_array(transfers, sizeof *world->buffer_at);
    edge_use *use = pp_alloc_array(transfers, sizeof *use);
    pp_status status = PP_OK;
    if (!world->edge_of || !world->half || !world->buffer_at || !use)
        status = pp_err_nomem(err);
    for (size_t t = 0; t < transfers && !status; t++) {
        world->buffer_at[t] = bytes;
        bytes += buffered_bytes ? buffered_bytes[t] : 0;
    }
    if (!status && !(world->buffer = pp_alloc_array(bytes, 1)))
        status = pp_err_nomem(err);
    if (!status)
        status = make_edges(world, use, err);
    free(use);
    return status;
}

/* Resets an edge that ends at this rank for the next step. */
static pp_status empty(const pp_world *world, edge *e, pp_err *err)
{
    pp_status status = PP_OK;
    pthread_mutex_lock(&e->lock);
    if (e->sent_count > e->matched_pairs) {
        char token[40];
        pp_transfer_print(&world->program->comm->transfer[e->sent[e->matched_pairs].transfer],
                          token, sizeof token);
        status =
            pp_err_set(err, PP_INPUT, NULL,
                       "a message was left over: %s (or one that came twice) from rank %" PRIu32
                       " to rank %" PRIu32 " was never received",
                       token, e->from, e->to);
    }
    e->sent_count = e->wanted_count = e->matched_pairs = e->done_count = 0;
    e->held = NONE;
    e->free_ns = e->last_done_ns = 0;
    pthread_mutex_unlock(&e->lock);
    return status;
}

static pp_status threads_begin(pp_world *world, uint32_t rank, pp_err *err)
{
    pp_status status = PP_OK;
    world->sends[rank] = 0;
    for (size_t i = 0; i < world->edge_count && !status; i++) {
        if (world->edge[i].to == rank)
            status = empty(world, &world->edge[i], err);
    }
    if (status)
        return status;
    const pp_comm *comm = world->program->comm;
    for (size_t s = comm->step_begin[rank]; s < comm->step_begin[rank + 1]; s++) {
        if (comm->step[s].kind != PP_COMM_STEP_POST)
            continue;
        const pp_group *group = &comm->group[comm->step[s].index];
        for (uint32_t t = group->first; t < group->first + group->count; t++) {
            edge *e = &world->edge[world->edge_of[t]];
            pthread_mutex_lock(&e->lock);
            world->half[t].matched = false;
            pthread_mutex_unlock(&e->lock);
        }
    }
    return PP_OK;
}

/* Copies a payload. Tensors may lie in device memory; size messages lie in this process. */
static pp_status carry(const pp_world *world, const pp_post *post, void *to, const void *from,
                       pp_err *err)
{
    const pp_transfer *transfer = &world->program->comm->transfer[post->transfer];
    const pp_device_memory *memory = world->options.memory;
    if (memory && !pp_transfer_is_shape((pp_transfer_kind)transfer->kind))
        return memory->copy(memory, to, from, post->payload_bytes, err);
    memcpy(to, from, post->payload_bytes);
    return PP_OK;
}

/* Matches the next send of the edge with its receive: checks, copies, and computes when the
 * transfer is done. The lock of the edge is held. */
static pp_status match_next(pp_world *world, edge *e, pp_err *err)
{
    pp_status status = PP_OK;
    const parcel *way = &e->sent[e->matched_pairs];
    half *from = &world->half[way->transfer];
    half *to = &world->half[e->wanted[e->matched_pairs]];
    bool buffered = from->post.buffered;
    const void *payload =
        buffered ? world->buffer + world->buffer_at[way->transfer] : from->post.payload;
    to->came = way->message;
    if (payload && to->post.payload && from->post.payload_bytes == to->post.payload_bytes &&
        memcmp(&to->came, &to->post.message, sizeof to->came) == 0)
        status = carry(world, &to->post, to->post.payload, payload, err);
    bool free_link = world->options.link.kind == PP_LINK_FREE;
    pp_ns takes = (free_link ? 0 : from->post.takes_ns) + way->extra_ns;
    pp_ns ready_ns = pp_max(to->posted_ns, e->free_ns);
    to->done_ns = buffered ? pp_max(ready_ns, from->done_ns + takes)
                           : pp_max(ready_ns, from->posted_ns) + takes;
    to->done_ns = pp_max(to->done_ns, pp_clock_now_ns());
    e->free_ns = to->done_ns;
    if (!from->matched) { /* a send that is buffered or sent twice may be matched already */
        from->done_ns = to->done_ns;
        from->matched = true;
    }
    to->matched = true;
    e->matched_pairs++;
    return status;
}

/* Completes buffered sends whose predecessors on the edge are done. The lock of the edge is held.
 * */
static void complete_buffered(pp_world *world, edge *e)
{
    for (; e->done_count < e->sent_count; e->done_count++) {
        half *from = &world->half[e->sent[e->done_count].transfer];
        if (!from->matched && !from->post.buffered)
            return;
        if (!from->matched)
            from->done_ns = pp_max(from->posted_ns, e->last_done_ns);
        from->matched = true;
        e->last_done_ns = pp_max(e->last_done_ns, from->done_ns);
    }
}

static void send(edge *e, uint32_t transfer, const pp_message *message, pp_ns extra_ns)
{
    e->sent[e->sent_count++] =
        (parcel){ .message = *message, .transfer = transfer, .extra_ns = extra_ns };
}

/* Sends a message, changed by the faults that hit it. The lock of the edge is held. */
static pp_status dispatch(pp_world *world, edge *e, uint32_t rank, const pp_post *post, pp_err *err)
{
    pp_status status = PP_OK;
    const pp_faults *faults = world->options.faults;
    uint32_t at = world->sends[rank]++;
    uint32_t step = post->message.step;
    pp_message message = post->message;
    half *own = &world->half[post->transfer];
    const pp_fault *delay = pp_faults_at(faults, PP_FAULT_DELAY, rank, step, at);
    if (pp_faults_at(faults, PP_FAULT_TRUNCATE, rank, step, at))
        message.bytes /= 2;
    if (pp_faults_at(faults, PP_FAULT_TAG, rank, step, at))
        message.microbatch++;
    bool lost = pp_faults_at(faults, PP_FAULT_DROP, rank, step, at);
    bool held = pp_faults_at(faults, PP_FAULT_REORDER, rank, step, at);
    if (post->buffered && post->payload_bytes)
        status = carry(world, post, world->buffer + world->buffer_at[post->transfer], post->payload,
                       err);
    if (lost || held) { /* the sender does not notice the fault */
        own->done_ns = own->posted_ns;
        own->matched = true;
    }
    if (held && e->held == NONE)
        e->held = post->transfer;
    if (lost || held)
        return status;
    send(e, post->transfer, &message, delay ? delay->time_ns : 0);
    if (pp_faults_at(faults, PP_FAULT_DUPLICATE, rank, step, at))
        send(e, post->transfer, &message, 0);
    if (e->held != NONE)
        send(e, e->held, &world->half[e->held].post.message, 0);
    e->held = NONE;
    return status;
}

static pp_status threads_post(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err)
{
    edge *e = &world->edge[world->edge_of[post->transfer]];
    half *own = &world->half[post->transfer];
    const pp_transfer *transfer = &world->program->comm->transfer[post->transfer];
    if (atomic_load_explicit(&world->stopped, memory_order_relaxed))
        return pp_world_stopped(err);
    pp_status status = PP_OK;
    pthread_mutex_lock(&e->lock);
    own->post = *post;
    own->posted_ns = pp_clock_now_ns();
    if (pp_transfer_sends((pp_transfer_kind)transfer->kind))
        status = dispatch(world, e, rank, post, err);
    else
        e->wanted[e->wanted_count++] = post->transfer;
    complete_buffered(world, e);
    bool any = false;
    for (; e->matched_pairs < e->sent_count && e->matched_pairs < e->wanted_count && !status;
         any = true) {
        status = match_next(world, e, err);
        complete_buffered(world, e);
    }
    pthread_mutex_unlock(&e->lock);
    if (any) /* the lock is free when the other thread wakes up */
        pthread_cond_broadcast(&e->moved);
    return status;
}

static pp_status check(const half *own, bool sends, pp_err *err)
{
    return sends ? PP_OK : pp_message_check(&own->post.message, &own->came, err);
}

static bool sends(const pp_world *world, uint32_t transfer)
{
    return pp_transfer_sends((pp_transfer_kind)world->program->comm->transfer[transfer].kind);
}

/* Spins for a short time, because being woken takes longer than a message that arrives soon. */
static void spin_briefly(const half *own)
{
    pp_ns until_ns = pp_clock_now_ns() + EAGER_NS;
    while (!atomic_load_explicit(&own->matched, memory_order_relaxed) &&
           pp_clock_now_ns() < until_ns)
        ;
}

/* Yields a few times. The rank waits for other ranks, which may share its processor: if its
 * previous wait was short, yielding costs less than sleeping and being woken. After a long wait it
 * would only disturb the others. */
static void yield_briefly(const half *own)
{
    for (int k = 0; k < TURNS && !atomic_load_explicit(&own->matched, memory_order_relaxed); k++)
        sched_yield();
}

static pp_status threads_wait(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                              pp_err *err)
{
    edge *e = &world->edge[world->edge_of[transfer]];
    const half *own = &world->half[transfer];
    const bool waits = !atomic_load_explicit(&own->matched, memory_order_relaxed);
    const pp_ns begin_ns = waits ? pp_clock_now_ns() : 0;
    if (world->spare)
        spin_briefly(own);
    else if (world->waited_ns[rank] < BRIEF_NS)
        yield_briefly(own);
    pthread_mutex_lock(&e->lock);
    while (!own->matched && !atomic_load(&world->stopped))
        pthread_cond_wait(&e->moved, &e->lock);
    if (waits)
        world->waited_ns[rank] = pp_clock_now_ns() - begin_ns;
    bool matched = own->matched;
    pp_ns until_ns = own->done_ns;
    pp_status status = matched ? check(own, sends(world, transfer), err) : pp_world_stopped(err);
    pthread_mutex_unlock(&e->lock);
    if (status)
        return status;
    for (pp_ns now = pp_clock_now_ns(); now < until_ns; now = pp_clock_now_ns()) {
        if (atomic_load(&world->stopped))
            return pp_world_stopped(err);
        pp_clock_sleep_until(now + LOOK_UP_NS < until_ns ? now + LOOK_UP_NS : until_ns);
    }
    *done_ns = until_ns;
    return PP_OK;
}

static pp_status threads_poll(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                              bool *done_out, pp_ns *done_ns, pp_err *err)
{
    (void)rank;
    edge *e = &world->edge[world->edge_of[transfer]];
    const half *own = &world->half[transfer];
    pthread_mutex_lock(&e->lock);
    bool done = own->matched && own->done_ns <= now_ns;
    pp_status status = done ? check(own, sends(world, transfer), err) : PP_OK;
    if (done)
        *done_ns = own->done_ns;
    pthread_mutex_unlock(&e->lock);
    *done_out = done && !status;
    return status;
}

static bool threads_matched(pp_world *world, uint32_t transfer)
{
    edge *e = &world->edge[world->edge_of[transfer]];
    pthread_mutex_lock(&e->lock);
    bool matched = world->half[transfer].matched;
    pthread_mutex_unlock(&e->lock);
    return matched;
}

/* Waits until all ranks have called it. */
static pp_status barrier(pp_world *world, pp_err *err)
{
    pthread_mutex_lock(&world->lock);
    uint64_t round = world->round;
    if (++world->here == world->options.ranks) {
        world->here = 0;
        world->round++;
        pthread_cond_broadcast(&world->all_here);
    }
    while (world->round == round && !atomic_load(&world->stopped))
        pthread_cond_wait(&world->all_here, &world->lock);
    bool through = world->round != round;
    pthread_mutex_unlock(&world->lock);
    return through ? PP_OK : pp_world_stopped(err);
}

static pp_status threads_all_gather(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                                    void *all_out, pp_err *err)
{
    world->gathered[rank] = mine;
    pp_status status = barrier(world, err);
    for (uint32_t r = 0; r < world->options.ranks && !status && bytes; r++)
        memcpy((char *)all_out + r * bytes, world->gathered[r], bytes);
    return status ? status : barrier(world, err);
}

static pp_status threads_exchange(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                                  void *out, pp_err *err)
{
    const pp_world_options *o = &world->options;
    const void *const *all = NULL;
    pp_status status = pp_meeting_show(o->meeting, rank, o->replica, mine, &all, err);
    for (uint32_t k = 0; k < o->replicas && !status; k++)
        memcpy((char *)out + k * bytes, (const char *)all[k] + o->replica * bytes, bytes);
    return status ? status : pp_meeting_show(o->meeting, rank, o->replica, NULL, &all, err);
}

static pp_status threads_gather_replicas(pp_world *world, uint32_t rank, const void *mine,
                                         size_t bytes, void *all_out, pp_err *err)
{
    const pp_world_options *o = &world->options;
    const void *const *all = NULL;
    pp_status status = pp_meeting_show(o->meeting, rank, o->replica, mine, &all, err);
    for (uint32_t k = 0; k < o->replicas && !status; k++) {
        char *to = (char *)all_out + k * bytes;
        if (all[k] != to)
            memcpy(to, all[k], bytes);
    }
    return status ? status : pp_meeting_show(o->meeting, rank, o->replica, NULL, &all, err);
}

static pp_status threads_clock_ahead(pp_world *world, uint32_t rank, pp_ns *ahead_ns,
                                     pp_ns *error_ns, pp_err *err)
{
    (void)world;
    (void)rank;
    (void)err;
    *ahead_ns = *error_ns = 0; /* one process, one clock */
    return PP_OK;
}

static void threads_abort(pp_world *world)
{
    atomic_store(&world->stopped, true);
    if (world->options.meeting) /* other replicas cannot go on alone */
        pp_meeting_abort(world->options.meeting);
    pthread_mutex_lock(&world->lock);
    pthread_cond_broadcast(&world->all_here);
    pthread_mutex_unlock(&world->lock);
    for (size_t e = 0; e < world->edge_count; e++) {
        pthread_mutex_lock(&world->edge[e].lock);
        pthread_cond_broadcast(&world->edge[e].moved);
        pthread_mutex_unlock(&world->edge[e].lock);
    }
}

const pp_transport pp_transport_threads = {
    .name = "threads",
    .summary =
        "runs the ranks as threads of one process, with links as fast as memory or throttled",
    .takes_device_memory = true,
    .available = threads_available,
    .open = threads_open,
    .close = threads_close,
    .hosts = threads_hosts,
    .load = threads_load,
    .begin = threads_begin,
    .post = threads_post,
    .wait = threads_wait,
    .poll = threads_poll,
    .matched = threads_matched,
    .all_gather = threads_all_gather,
    .exchange = threads_exchange,
    .gather_replicas = threads_gather_replicas,
    .clock_ahead = threads_clock_ahead,
    .abort = threads_abort,
};
