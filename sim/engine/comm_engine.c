/* Simulates ranks, lanes and transfers. A rank runs until it has to wait; a lane starts the
 * transfer at its front when both ends are posted. Two stacks hold the ranks and lanes that can
 * continue, so that each step and each transfer is examined a constant number of times. If nothing
 * is shared, the order of this work does not affect any time, since every start is a maximum of
 * known ends. Otherwise events are taken in the order of time (sim/engine/shared_rates.c). */
#include "sim/engine/comm_engine.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/base/minmax.h"
#include "sim/engine/deadlock.h"
#include "sim/engine/sharding_lane.h"
#include "sim/engine/shared_rates.h"
#include "sim/program/lanes.h"
#include "sim/program/pairs.h"
#include "sim/program/transfer_costs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define AHEAD 128            /* how far ahead of what is read now is fetched, in bytes */
#define MANY_TRANSFERS 16384 /* a few MB, more than the caches next to a processor hold */

/* The host that issues the steps of a rank. */
typedef struct host {
    pp_ns clock_ns;
    pp_ns synced_ns; /* cost of syncs since the device last continued */
    size_t drained;  /* every group that steps before this one posted is done */
} host;

typedef struct run {
    const pp_program *program;
    const pp_comm *comm;
    const pp_costs *costs;
    pp_timeline *timeline;
    pp_comm_lanes lanes;
    bool *done;                  /* [transfers] */
    size_t *next;                /* [ranks]: the next step */
    pp_ns *clock_ns;             /* [ranks]: clock of the device */
    host *host;                  /* [ranks] */
    uint32_t *waiting;           /* [ranks]: the group that the rank waits for, or NONE */
    pp_sharding_lanes *sharding; /* gathers and reductions; NULL: parameters are not sharded */
    pp_ns *gathered;             /* [stages]: the mark after which the parameters are there */
    bool *copied;                /* [stages]: they are in place, too */
    bool *freed;    /* [stages]: a forward has freed them again; all false unless regathers */
    uint32_t *wake; /* stack of ranks to run */
    uint32_t *try;  /* stack of entries that may start */
    size_t wake_count, try_count;
    pp_shared_rates *rates; /* speeds that depend on each other; NULL: nothing is shared */
    bool fetches;           /* there are MANY_TRANSFERS */
    bool failed;            /* an allocation failed */
} run;

static void run_free(run *r)
{
    pp_comm_lanes_free(&r->lanes);
    free(r->done);
    free(r->next);
    free(r->clock_ns);
    free(r->host);
    free(r->waiting);
    pp_sharding_lanes_free(&r->sharding);
    free(r->gathered);
    free(r->copied);
    free(r->freed);
    free(r->wake);
    free(r->try);
    pp_shared_rates_free(&r->rates);
}

/* Checks that gathers and reductions together do not leave 64 bits. */
static pp_status check_sharding(const pp_program *program, const pp_costs *costs, pp_err *err)
{
    const pp_comm *comm = program->comm;
    double sum_ns = 0;
    for (uint32_t s = 0; comm->gathers_in_ops && s < costs->stages; s++)
        sum_ns += (double)costs->unshard_ns[s] + (double)costs->unshard_copy_ns[s];
    for (size_t i = 0; costs->shards_ops && i < program->count; i++) {
        const uint32_t s = program->op[i].stage;
        sum_ns += (double)costs->unshard_ns[s] + (double)costs->regather_ns[s] +
                  (double)costs->reduce_grad_ns[s];
    }
    for (size_t i = 0; costs->regathers && i < program->count; i++) {
        const uint32_t s = program->op[i].stage;
        sum_ns += (double)costs->regather_ns[s] + (double)costs->unshard_copy_ns[s];
    }
    for (size_t s = 0; s < comm->step_count; s++) {
        const pp_comm_step step = comm->step[s];
        if (step.kind == PP_COMM_STEP_MARK && step.mark == PP_MARK_UNSHARD)
            sum_ns +=
                (double)costs->unshard_ns[step.index] + (double)costs->unshard_copy_ns[step.index];
        else if (step.kind == PP_COMM_STEP_MARK && step.mark == PP_MARK_REDUCE_GRAD)
            sum_ns += (double)costs->reduce_grad_ns[step.index];
    }
    return sum_ns * fmax(1, costs->gather_slowdown) <= (double)PP_NS_MAX
               ? PP_OK
               : pp_err_set(err, PP_INPUT, NULL,
                            "gathers and reductions of %g s together are too long; give shorter "
                            "ones (unshard_ns, unshard_copy_ns, reduce_grad_ns, regather_ns)",
                            1e-9 * sum_ns);
}

static pp_status run_new(const pp_program *program, const pp_costs *costs, pp_timeline *timeline,
                         run *r, pp_err *err)
{
    const pp_comm *comm = program->comm;
    size_t transfers = comm->transfer_count;
    *r = (run){ .program = program,
                .comm = comm,
                .costs = costs,
                .timeline = timeline,
                .fetches = transfers > MANY_TRANSFERS };
    r->done = pp_alloc_array(transfers, sizeof *r->done);
    r->next = pp_alloc_array(program->ranks, sizeof *r->next);
    r->clock_ns = pp_alloc_array(program->ranks, sizeof *r->clock_ns);
    r->host = pp_alloc_array(program->ranks, sizeof *r->host);
    r->waiting = pp_alloc_array(program->ranks, sizeof *r->waiting);
    r->wake = pp_alloc_array(program->ranks, sizeof *r->wake);
    r->try = pp_alloc_large(2 * transfers, sizeof *r->try);
    if (!r->done || !r->next || !r->clock_ns || !r->host || !r->waiting || !r->wake || !r->try)
        return pp_err_nomem(err);
    if (costs->sharded) {
        pp_status status = check_sharding(program, costs, err);
        if (status)
            return status;
        r->gathered = pp_alloc_array(program->stages, sizeof *r->gathered);
        r->copied = pp_alloc_array(program->stages, sizeof *r->copied);
        r->freed = pp_alloc_array(program->stages, sizeof *r->freed);
        if (!r->gathered || !r->copied || !r->freed)
            return pp_err_nomem(err);
        status = pp_sharding_lanes_new(program->ranks, costs->unshard_slowdown,
                                       costs->gather_slowdown, timeline->comm, &r->sharding, err);
        if (status)
            return status;
    }
    memcpy(r->next, comm->step_begin, program->ranks * sizeof *r->next);
    for (uint32_t rank = 0; rank < program->ranks; rank++)
        r->host[rank].drained = comm->step_begin[rank];
    memset(r->waiting, 0xff, program->ranks * sizeof *r->waiting);
    timeline->comm->wait_count = timeline->comm->sharding_count = 0;
    memset(timeline->comm->idle_ns, 0, program->ranks * PP_IDLE_COUNT * sizeof(pp_ns));
    return pp_comm_lanes_new(comm, program->ranks, &r->lanes, err);
}

/* Ends transfer t and pushes whatever can continue now on the stacks. */
static void finish(run *r, uint32_t t, pp_ns start_ns, pp_ns end_ns)
{
    pp_comm_entry *e = &r->lanes.entry[r->lanes.entry_of[t]];
    r->done[t] = true;
    r->timeline->comm->start_ns[t] = start_ns;
    r->timeline->comm->end_ns[t] = end_ns;
    pp_comm_group *group = &r->lanes.group[e->group];
    group->end_ns = pp_max(group->end_ns, end_ns);
    if (--e->left || --group->left)
        return;
    for (uint32_t k = group->first; k < group[1].first; k++) {
        const uint32_t next = r->lanes.entry[k].next;
        if (next == NONE)
            continue;
        r->lanes.entry[next].ready_ns = group->end_ns;
        r->try[r->try_count++] = next;
    }
    uint32_t rank = r->comm->group[e->group].rank;
    if (r->waiting[rank] == e->group) {
        r->waiting[rank] = NONE;
        r->wake[r->wake_count++] = rank;
    }
}

/* Starts a transfer whose end depends on other transfers; it does not set the end as `meet`
 * does. */
static void meet_sharing(run *r, uint32_t t, const pp_transfer *own, pp_ns takes_ns, bool eager)
{
    bool sends = pp_transfer_sends((pp_transfer_kind)own->kind);
    const pp_comm_entry *partner = &r->lanes.entry[r->lanes.entry_of[own->match]];
    pp_ns ready_ns = r->lanes.entry[r->lanes.entry_of[t]].ready_ns;
    if (eager && !sends) { /* it may have arrived already */
        pp_ns came_ns = pp_shared_rates_ended_ns(r->rates, own->match);
        if (came_ns >= 0)
            finish(r, t, r->timeline->comm->start_ns[own->match], pp_max(ready_ns, came_ns));
        return;
    }
    if (!eager && !partner->active)
        return;
    uint32_t from = sends ? own->rank : own->peer;
    uint32_t to = sends ? own->peer : own->rank;
    pp_shared_rates_move(r->rates, sends ? t : own->match, from, to, r->comm->collective,
                         eager ? ready_ns : pp_max(ready_ns, partner->ready_ns), takes_ns);
    if (eager)
        finish(r, t, ready_ns, ready_ns);
}

/* Transfer t has become active: if its partner is active, too, the transfer takes place. */
static void meet(run *r, uint32_t t)
{
    const pp_transfer *own = &r->comm->transfer[t];
    pp_ns ready_ns = r->lanes.entry[r->lanes.entry_of[t]].ready_ns;
    uint32_t other = own->match;
    if (other == PP_NO_SOURCE) { /* the program is partial and lacks the partner */
        finish(r, t, ready_ns, ready_ns);
        return;
    }
    bool sends = pp_transfer_sends((pp_transfer_kind)own->kind);
    const pp_comm_entry *partner = &r->lanes.entry[r->lanes.entry_of[other]];
    pp_ns takes_ns = pp_comm_ns(r->comm, r->costs, own);
    bool eager = pp_comm_is_buffered(r->comm, r->costs, own);
    if (r->rates) {
        meet_sharing(r, t, own, takes_ns, eager);
        return;
    }
    if (eager) {
        if (sends)
            finish(r, t, ready_ns, ready_ns);
        pp_ns sent_ns = sends ? ready_ns : partner->ready_ns;
        pp_ns posted_ns = sends ? partner->ready_ns : ready_ns;
        if (partner->active)
            finish(r, sends ? other : t, sent_ns, pp_max(posted_ns, sent_ns + takes_ns));
        return;
    }
    if (!partner->active)
        return;
    pp_ns start_ns = pp_max(ready_ns, partner->ready_ns);
    finish(r, t, start_ns, start_ns + takes_ns);
    finish(r, other, start_ns, start_ns + takes_ns);
}

static void try_entry(run *r, uint32_t index)
{
    pp_comm_entry *e = &r->lanes.entry[index];
    const pp_comm_group *group = &r->lanes.group[e->group];
    if (e->active || e->ready_ns == PP_NOT_FREE || !group->issued)
        return;
    e->active = true;
    e->ready_ns = pp_max(r->timeline->comm->post_ns[r->lanes.by_entry[e->first]], e->ready_ns);
    for (uint32_t k = e->first; k < e[1].first; k++) {
        if (!r->done[r->lanes.by_entry[k]])
            meet(r, r->lanes.by_entry[k]);
    }
}

/* Records that the rank is idle from `from_ns` to `to_ns`. blocker: a transfer. */
static void stand_still(run *r, uint32_t rank, pp_idle_cause cause, pp_ns from_ns, pp_ns to_ns,
                        uint32_t transfer, uint32_t blocker)
{
    pp_comm_timeline *out = r->timeline->comm;
    if (to_ns <= from_ns)
        return;
    out->idle_ns[rank * PP_IDLE_COUNT + (size_t)cause] += to_ns - from_ns;
    void *grown = out->wait;
    if (pp_reserve(&grown, &out->wait_capacity, out->wait_count + 1, sizeof *out->wait, NULL)) {
        r->failed = true;
        return;
    }
    out->wait = grown;
    out->wait[out->wait_count++] = (pp_wait){ .at_ns = from_ns,
                                              .waits_ns = to_ns - from_ns,
                                              .step = (uint32_t)r->next[rank],
                                              .rank = (uint16_t)rank,
                                              .transfer = transfer,
                                              .blocker = blocker,
                                              .cause = (uint8_t)cause };
}

/* The device is idle until `until_ns`, when its host has issued the next `transfer` or, if that is
 * NONE, the next op. */
static void await_host(run *r, uint32_t rank, pp_ns until_ns, uint32_t transfer)
{
    host *h = &r->host[rank];
    pp_ns gap_ns = until_ns - r->clock_ns[rank];
    if (gap_ns <= 0)
        return;
    pp_ns sync_ns = h->synced_ns < gap_ns ? h->synced_ns : gap_ns;
    pp_ns from_ns = r->clock_ns[rank];
    stand_still(r, rank, PP_IDLE_SYNC, from_ns, from_ns + sync_ns, transfer, NONE);
    stand_still(r, rank, PP_IDLE_HOST, from_ns + sync_ns, until_ns, transfer, NONE);
    h->synced_ns -= sync_ns;
    r->clock_ns[rank] = until_ns;
}

/* The transfer of group g that ends last. */
static uint32_t last_of(const run *r, uint32_t g)
{
    const pp_group *group = &r->comm->group[g];
    uint32_t last = group->first;
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        if (r->timeline->comm->end_ns[t] > r->timeline->comm->end_ns[last])
            last = t;
    }
    return last;
}

/* What transfer t waited for after both ends were posted at `posted_ns`: a transfer before it in
 * the lane of either end, or itself if it had started. */
static uint32_t held_by(const run *r, uint32_t t, pp_ns posted_ns)
{
    uint32_t other = r->comm->transfer[t].match;
    const pp_comm_entry *late = &r->lanes.entry[r->lanes.entry_of[t]];
    if (other != PP_NO_SOURCE) {
        const pp_comm_entry *theirs = &r->lanes.entry[r->lanes.entry_of[other]];
        late = theirs->active && theirs->ready_ns > late->ready_ns ? theirs : late;
    }
    if (late->ready_ns <= posted_ns || late->previous == NONE)
        return t;
    return last_of(r, r->lanes.entry[late->previous].group);
}

/* Records that the rank was idle from its clock to the end of group g. Until the other end of the
 * last transfer is posted, a rank in a receive waits for data, since its input has not been
 * computed, and a rank in a send waits for a buffer, since there is no receive to send into. After
 * that, both wait for the link. */
static void account_wait(run *r, uint32_t rank, uint32_t g)
{
    pp_ns end_ns = r->lanes.group[g].end_ns;
    if (end_ns <= r->clock_ns[rank])
        return;
    uint32_t last = last_of(r, g);
    pp_ns issued_ns = r->timeline->comm->post_ns[last];
    await_host(r, rank, issued_ns < end_ns ? issued_ns : end_ns, last);
    pp_ns clock_ns = r->clock_ns[rank];
    const pp_transfer *transfer = &r->comm->transfer[last];
    pp_ns posted_ns = transfer->match == PP_NO_SOURCE ? clock_ns : 0;
    if (transfer->match != PP_NO_SOURCE &&
        r->lanes.group[r->comm->transfer[transfer->match].group].issued)
        posted_ns = r->timeline->comm->post_ns[transfer->match];
    pp_ns split_ns = posted_ns < clock_ns ? clock_ns : posted_ns > end_ns ? end_ns : posted_ns;
    bool sends = pp_transfer_sends((pp_transfer_kind)transfer->kind);
    stand_still(r, rank, sends ? PP_IDLE_BUFFER : PP_IDLE_DATA, clock_ns, split_ns, last,
                transfer->match);
    stand_still(r, rank, PP_IDLE_LINK, split_ns, end_ns, last, held_by(r, last, split_ns));
    r->clock_ns[rank] = end_ns;
}

/* Returns true when the rank must wait for group g. */
static bool blocked_by(run *r, uint32_t rank, uint32_t g)
{
    if (r->lanes.group[g].left) {
        r->waiting[rank] = g;
        return true;
    }
    account_wait(r, rank, g);
    return false;
}

/* Executes a read or a sync of the host. A sync ends when all posted groups are done, including
 * those without a wait. Returns false when that is not the case yet. */
static bool host_waits(run *r, uint32_t rank, pp_comm_step step)
{
    const pp_host_costs *costs = &r->comm->semantics.host;
    host *h = &r->host[rank];
    if (step.kind == PP_COMM_STEP_READ) {
        if (step.index != PP_NO_SOURCE)
            h->clock_ns = pp_max(h->clock_ns, r->clock_ns[rank]);
        h->clock_ns += costs->read_ns;
        return true;
    }
    for (; h->drained < r->next[rank]; h->drained++) {
        pp_comm_step posted = r->comm->step[h->drained];
        if (posted.kind == PP_COMM_STEP_POST && blocked_by(r, rank, posted.index))
            return false;
    }
    h->clock_ns = pp_max(h->clock_ns, r->clock_ns[rank]) + costs->sync_ns;
    h->synced_ns += costs->sync_ns;
    return true;
}

/* The rank is idle until its gathers and reductions have ended up to the mark, and for copies. */
static void await_sharding(run *r, uint32_t rank, pp_ns mark, pp_ns copy_ns)
{
    const pp_ns now_ns = r->clock_ns[rank];
    const pp_ns until_ns =
        now_ns + pp_sharding_lanes_left(r->sharding, rank, now_ns, mark) + copy_ns;
    if (until_ns <= now_ns)
        return;
    stand_still(r, rank, PP_IDLE_LINK, r->clock_ns[rank], until_ns, NONE, NONE);
    r->clock_ns[rank] = until_ns;
}

/* Queues a gather or reduction at now_ns that takes takes_ns alone. Returns its mark. */
static pp_ns add_sharding(run *r, pp_ns now_ns, pp_sharding_span span, pp_ns takes_ns)
{
    pp_ns mark = 0;
    if (pp_sharding_lanes_add(r->sharding, now_ns, &span, takes_ns, &mark, NULL))
        r->failed = true;
    return mark;
}

/* True if the rank runs another op after its next step. */
static bool runs_later(const run *r, uint32_t rank)
{
    size_t s = r->next[rank] + 1;
    while (s < r->comm->step_begin[rank + 1] && r->comm->step[s].kind != PP_COMM_STEP_RUN)
        s++;
    return s < r->comm->step_begin[rank + 1];
}

/* Gathers parameters beside the compute, one stage after the other, or reduces gradients, for which
 * the rank waits; after its last op that is a part of the end of the step. Both have one
 * communicator. */
static void take_mark(run *r, uint32_t rank, pp_comm_step step)
{
    const uint32_t stage = step.index;
    const bool gathers = step.mark == PP_MARK_UNSHARD;
    if (!gathers && step.mark != PP_MARK_REDUCE_GRAD)
        return;
    const pp_sharding_span span = { .rank = rank, .stage = (uint16_t)stage, .reduces = !gathers };
    const pp_ns mark =
        add_sharding(r, r->clock_ns[rank], span,
                     (gathers ? r->costs->unshard_ns : r->costs->reduce_grad_ns)[stage]);
    if (gathers) {
        r->gathered[stage] = mark;
        r->copied[stage] = r->freed[stage] = false;
    } else if (runs_later(r, rank)) {
        await_sharding(r, rank, mark, 0);
    }
}

/* Waits for the parameters of a stage, and copies them, before the first op that needs them. */
static void await_parameters(run *r, uint32_t rank, uint32_t stage)
{
    if (r->comm->gathers_in_ops || r->costs->shards_ops || r->copied[stage])
        return;
    await_sharding(r, rank, r->gathered[stage], r->costs->unshard_copy_ns[stage]);
    r->copied[stage] = true;
}

/* What an op gathers itself, and what it reduces. */
typedef struct own_gather {
    pp_ns all_ns, exposed_ns, copy_ns;
    pp_ns reduce_ns, last_ns; /* last_ns: exposed, as it follows the compute */
} own_gather;

/* Adds what an op gathers and reduces if every one does so (pp_costs.shards_ops). */
static void shard_op(run *r, pp_op op, own_gather *sum)
{
    const pp_costs *costs = r->costs;
    const uint32_t s = op.stage;
    const pp_ns stays_ns = r->copied[s] ? 0 : costs->unshard_ns[s];
    sum->all_ns += stays_ns + costs->regather_ns[s];
    sum->exposed_ns +=
        stays_ns + (op.kind == PP_OP_F ? costs->regather_first_ns[s] : costs->regather_last_ns[s]);
    if (op.kind != PP_OP_F) {
        sum->reduce_ns += costs->reduce_grad_ns[s];
        sum->last_ns += pp_min(costs->reduce_last_ns[s], costs->reduce_grad_ns[s]);
    }
    r->copied[s] = true;
}

/* Adds what op needs and is not there: the first gather of its stage if programs have no UNSHARD,
 * or what the forward before it has freed. (W needs no parameters.) The stage is as after the op
 * then. */
static void gather_in_op(run *r, pp_op op, own_gather *sum)
{
    const pp_costs *costs = r->costs;
    const uint32_t s = op.stage;
    if (costs->shards_ops) {
        shard_op(r, op, sum);
        return;
    }
    if (!r->copied[s]) {
        sum->all_ns += costs->unshard_ns[s];
        sum->copy_ns += costs->unshard_copy_ns[s];
    } else if (r->freed[s] && op.kind != PP_OP_W) {
        sum->all_ns += costs->regather_ns[s];
        sum->exposed_ns +=
            op.kind == PP_OP_F ? costs->regather_first_ns[s] : costs->regather_last_ns[s];
        sum->copy_ns += costs->unshard_copy_ns[s];
    }
    r->copied[s] = true;
    if (op.kind != PP_OP_W)
        r->freed[s] = costs->regathers && op.kind == PP_OP_F;
}

/* The duration of an op that the rank starts now, or of a pair, with what is gathered in it or
 * beside it. The second op of a pair takes no time. */
static pp_ns with_gather(run *r, uint32_t rank, uint32_t i, bool pair, pp_ns takes_ns)
{
    const pp_op op = r->program->op[i];
    const pp_ns begin_ns = r->clock_ns[rank];
    own_gather own = { 0 };
    gather_in_op(r, op, &own);
    if (pair)
        gather_in_op(r, r->program->op[i + 1], &own);
    if (!own.all_ns && !own.reduce_ns)
        return pp_sharding_lanes_compute(r->sharding, rank, begin_ns, takes_ns) + own.copy_ns;
    const pp_sharding_span gather = { .rank = rank, .stage = (uint16_t)op.stage };
    const pp_sharding_span reduction = { .rank = rank,
                                         .stage = (uint16_t)op.stage,
                                         .reduces = true };
    const pp_ns gathered = add_sharding(r, begin_ns, gather, own.all_ns);
    const pp_ns reduced = add_sharding(r, begin_ns, reduction, own.reduce_ns - own.last_ns);
    const pp_ns rest_ns = own.all_ns - pp_min(own.exposed_ns, own.all_ns);
    pp_ns end_ns =
        begin_ns + pp_sharding_lanes_left(r->sharding, rank, begin_ns, gathered - rest_ns);
    end_ns += pp_sharding_lanes_compute(r->sharding, rank, end_ns, takes_ns);
    end_ns += pp_sharding_lanes_left(r->sharding, rank, end_ns, reduced);
    (void)add_sharding(r, end_ns, reduction, own.last_ns);
    return end_ns + own.last_ns - begin_ns + own.copy_ns;
}

/* Asks for what lies behind the element at `at`. All arrays are in the order in which ranks post
 * (pp_comm_finish), but there are too many ranks for the processor to notice that each reads them
 * in order. (Callers do other work, too: GCC drops the call of a function that only fetches.) */
static inline void fetch_behind(const void *at)
{
    __builtin_prefetch((const void *)((uintptr_t)at + AHEAD));
}

/* Posts a group. */
static void post(run *r, uint32_t rank, uint32_t g)
{
    pp_comm_group *group = &r->lanes.group[g];
    const pp_group *posted = &r->comm->group[g];
    const pp_comm_timeline *out = r->timeline->comm;
    if (r->fetches) {
        fetch_behind(group);
        fetch_behind(posted);
        fetch_behind(&r->lanes.entry[group->first]);
        fetch_behind(&r->lanes.by_entry[posted->first]);
        fetch_behind(&r->lanes.entry_of[posted->first]);
        fetch_behind(&r->comm->transfer[posted->first]);
        fetch_behind(&r->done[posted->first]);
        fetch_behind(&out->post_ns[posted->first]);
        fetch_behind(&out->start_ns[posted->first]);
        fetch_behind(&out->end_ns[posted->first]);
    }
    group->issued = true;
    r->host[rank].clock_ns += r->comm->semantics.host.launch_ns;
    const pp_ns issued_ns = pp_max(r->clock_ns[rank], r->host[rank].clock_ns);
    for (uint32_t t = posted->first; t < posted->first + posted->count; t++)
        out->post_ns[t] = issued_ns;
    for (uint32_t e = group->first; e < group[1].first; e++)
        r->try[r->try_count++] = e;
}

/* Executes a step. Returns false when the rank cannot do so yet. */
static bool take_step(run *r, uint32_t rank, pp_comm_step step)
{
    if (step.kind == PP_COMM_STEP_POST) {
        post(r, rank, step.index);
    } else if (step.kind == PP_COMM_STEP_WAIT) {
        return !blocked_by(r, rank, step.index);
    } else if (step.kind == PP_COMM_STEP_SYNC || step.kind == PP_COMM_STEP_READ) {
        return host_waits(r, rank, step);
    } else if (step.kind == PP_COMM_STEP_MARK && r->sharding) {
        take_mark(r, rank, step);
    } else if (step.kind == PP_COMM_STEP_RUN) {
        uint32_t i = step.index;
        if (r->fetches) {
            fetch_behind(&r->comm->needs[i]);
            fetch_behind(&r->program->op[i]);
            fetch_behind(&r->timeline->start_ns[i]);
            fetch_behind(&r->timeline->end_ns[i]);
        }
        uint32_t receive = r->comm->needs[i];
        bool pair = pp_pair_starts(r->program, r->costs, i);
        if (receive != PP_NO_SOURCE && blocked_by(r, rank, r->comm->transfer[receive].group))
            return false;
        receive = pair ? r->comm->needs[i + 1] : PP_NO_SOURCE;
        if (receive != PP_NO_SOURCE && blocked_by(r, rank, r->comm->transfer[receive].group))
            return false;
        pp_op op = r->program->op[i];
        if (r->sharding) {
            await_parameters(r, rank, op.stage);
            if (pair)
                await_parameters(r, rank, r->program->op[i + 1].stage);
        }
        const pp_costs *costs = r->costs;
        const pp_ns *table[] = { costs->f_ns, costs->i_ns, costs->w_ns, costs->b_ns };
        bool ends = pp_pair_ends(
            r->program, costs,
            i); /* the second op of a pair: its time and launches were charged with the first */
        pp_ns takes_ns = table[op.kind][pp_cost_index(costs, op.stage, op.microbatch)];
        if (pair || ends)
            takes_ns = pair ? pp_pair_ns(r->program, costs, i) : 0;
        r->host[rank].clock_ns += (1 + pair - ends) * r->comm->semantics.host.launch_ns;
        await_host(r, rank, ends ? 0 : r->host[rank].clock_ns, NONE);
        if (r->sharding && !ends)
            takes_ns = with_gather(r, rank, i, pair, takes_ns);
        r->timeline->start_ns[i] = r->clock_ns[rank];
        if (r->rates) { /* the step is taken when the op has ended */
            pp_shared_rates_compute(r->rates, rank, r->clock_ns[rank], takes_ns);
            return false;
        }
        r->clock_ns[rank] += takes_ns;
        r->timeline->end_ns[i] = r->clock_ns[rank];
    }
    return true;
}

/* Runs all ranks and lanes that can continue. */
static void work(run *r)
{
    while (r->wake_count || r->try_count) {
        if (r->try_count) {
            try_entry(r, r->try[--r->try_count]);
            continue;
        }
        uint32_t rank = r->wake[--r->wake_count];
        if (r->fetches)
            fetch_behind(&r->comm->step[r->next[rank]]);
        while (r->next[rank] < r->comm->step_begin[rank + 1] &&
               take_step(r, rank, r->comm->step[r->next[rank]])) {
            if (r->timeline->comm->host_ns) {
                r->timeline->comm->host_ns[r->next[rank]] = r->host[rank].clock_ns;
                r->timeline->comm->device_ns[r->next[rank]] = r->clock_ns[rank];
            }
            r->next[rank]++;
        }
    }
}

/* Handles the end of an op or a transfer that the shared rates report. */
static void take_end(run *r, const pp_shared_rates_end *end)
{
    if (!end->transfer) {
        uint32_t rank = end->index;
        uint32_t i = r->comm->step[r->next[rank]++].index;
        r->timeline->end_ns[i] = r->clock_ns[rank] = end->end_ns;
        r->wake[r->wake_count++] = rank;
        return;
    }
    uint32_t receive = r->comm->transfer[end->index].match;
    const pp_comm_entry *e = &r->lanes.entry[r->lanes.entry_of[receive]];
    if (!r->done[end->index])
        finish(r, end->index, end->start_ns, end->end_ns);
    if (e->active)
        finish(r, receive, end->start_ns, pp_max(end->end_ns, e->ready_ns));
}

static void work_all(run *r)
{
    pp_shared_rates_end end;
    for (uint32_t rank = r->program->ranks; rank-- > 0;)
        r->wake[r->wake_count++] = rank;
    work(r);
    while (r->rates && pp_shared_rates_next(r->rates, &end)) {
        take_end(r, &end);
        work(r);
    }
}

/* Shared rates are computed in doubles, which represent whole ns up to PP_NS_MAX exactly. */
static pp_status make_rates(run *r, pp_err *err)
{
    const pp_sharing *sharing = &r->comm->semantics.sharing;
    const pp_costs *costs = r->costs;
    const pp_ns *table[] = { costs->f_ns, costs->i_ns, costs->w_ns, costs->b_ns };
    double sum_ns = 0;
    const pp_host_costs *hosts = &r->comm->semantics.host;
    if (!pp_sharing_is_on(sharing))
        return PP_OK;
    if (costs->sharded)
        return pp_err_set(err, PP_USAGE, NULL,
                          "sharded parameters (unshard_ns, or ZeRO 3 of a plan) cannot be combined "
                          "with %s and %s; leave one out",
                          pp_err_name(err, PP_FIELD_RANKS_PER_NIC),
                          pp_err_name(err, PP_FIELD_OVERLAP_SLOWDOWN));
    if (hosts->launch_ns || hosts->sync_ns || hosts->read_ns || r->comm->parts > 1)
        return pp_err_set(err, PP_USAGE,
                          r->comm->parts > 1 ? pp_err_name(err, PP_FIELD_TENSORS)
                                             : pp_err_name(err, PP_FIELD_HOST),
                          "cannot be combined with %s and %s; leave one out",
                          pp_err_name(err, PP_FIELD_RANKS_PER_NIC),
                          pp_err_name(err, PP_FIELD_OVERLAP_SLOWDOWN));
    r->timeline->comm->host_ns = NULL; /* ops end in shared_rates.c, so that steps have no clocks */
    for (size_t i = 0; i < r->program->count; i++) {
        pp_op op = r->program->op[i];
        sum_ns += (double)table[op.kind][pp_cost_index(costs, op.stage, op.microbatch)];
        if (pp_pair_starts(r->program, costs, i))
            sum_ns += (double)pp_pair_ns(r->program, costs, i);
    }
    for (size_t t = 0; t < r->comm->transfer_count; t++)
        sum_ns += (double)pp_comm_ns(r->comm, r->costs, &r->comm->transfer[t]);
    if (sum_ns * PP_SLOWDOWN_MAX > (double)PP_NS_MAX)
        return pp_err_set(
            err, PP_INPUT, NULL,
            "ops and transfers of %g s together are too long for %s and %s; give shorter durations",
            1e-9 * sum_ns, pp_err_name(err, PP_FIELD_RANKS_PER_NIC),
            pp_err_name(err, PP_FIELD_OVERLAP_SLOWDOWN));
    return pp_shared_rates_new(sharing, r->program->ranks, (uint32_t)r->comm->transfer_count,
                               &r->rates, err);
}

/* Finds, for each posted transfer, the first group of its lane that is not done. */
static void find_fronts(const run *r, uint32_t *front)
{
    const pp_comm *comm = r->comm;
    for (size_t s = 0; s < comm->step_count; s++) { /* rank by rank, so each lane is read in its
                                                       order */
        if (comm->step[s].kind != PP_COMM_STEP_POST)
            continue;
        const pp_comm_group *group = &r->lanes.group[comm->step[s].index];
        for (uint32_t e = group->first; e < group[1].first; e++) {
            const pp_comm_entry *own = &r->lanes.entry[e];
            uint32_t first = own->group;
            if (own->previous != NONE && r->lanes.group[r->lanes.entry[own->previous].group].left)
                first = front[r->lanes.by_entry[r->lanes.entry[own->previous].first]];
            for (uint32_t k = own->first; k < own[1].first; k++)
                front[r->lanes.by_entry[k]] = first;
        }
    }
}

static pp_status find_circle(const run *r, const uint32_t *front, bool *issued, pp_err *err)
{
    pp_circle *circle = &r->timeline->comm->circle;
    const pp_stuck stuck = { .program = r->program,
                             .done = r->done,
                             .front = front,
                             .issued = issued,
                             .waiting = r->waiting };
    for (size_t g = 0; g < r->comm->group_count; g++)
        issued[g] = r->lanes.group[g].issued;
    pp_circle_free(circle);
    return pp_circle_find(&stuck, circle, err);
}

static pp_status report_hang(const run *r, pp_err *err)
{
    uint32_t *front = pp_alloc_array(r->comm->transfer_count, sizeof *front);
    bool *issued = pp_alloc_array(r->comm->group_count, sizeof *issued);
    pp_status status = PP_NOMEM;
    if (front && issued) {
        find_fronts(r, front);
        status = find_circle(r, front, issued, err);
    }
    free(front);
    free(issued);
    return status ? pp_err_nomem(err)
                  : pp_circle_report(r->program, &r->timeline->comm->circle, err);
}

/* Checks that no clock of a host and no sum of size messages can leave 64 bits. */
static pp_status check_sums(const pp_comm *comm, pp_err *err)
{
    const pp_comm_semantics *s = &comm->semantics;
    const pp_ns each[] = { s->host.launch_ns, s->host.sync_ns, s->host.read_ns,
                           s->shape_message_ns };
    pp_ns longest = 0;
    for (size_t i = 0; i < 4; i++)
        longest = pp_max(longest, each[i]);
    pp_ns steps = (pp_ns)(comm->step_count + comm->transfer_count) + 1;
    if (longest <= INT64_MAX / 16 / steps)
        return PP_OK;
    return pp_err_set(err, PP_INPUT, pp_err_name(err, PP_FIELD_HOST),
                      "%" PRId64 " steps of up to %" PRId64
                      " ns each do not fit 64 bits; give shorter durations",
                      steps, longest);
}

pp_status pp_simulate_comm(const pp_program *program, const pp_costs *costs, const pp_ns *begin_ns,
                           pp_timeline *timeline, pp_err *err)
{
    run r PP_CLEANUP(run_free) = { 0 };
    pp_status status = check_sums(program->comm, err);
    if (status || (status = run_new(program, costs, timeline, &r, err)) ||
        (status = make_rates(&r, err)))
        return status;
    memcpy(r.clock_ns, begin_ns, program->ranks * sizeof *r.clock_ns);
    for (uint32_t rank = 0; rank < program->ranks; rank++)
        r.host[rank].clock_ns = begin_ns[rank];
    work_all(&r);
    if (r.sharding)
        pp_sharding_lanes_finish(r.sharding);
    if (r.failed)
        return pp_err_nomem(err);
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        if (r.next[rank] < program->comm->step_begin[rank + 1])
            return report_hang(&r, err);
    }
    return PP_OK;
}
