#include "sim/comm_engine.h"

#include "sim/alloc.h"
#include "sim/comm_hang.h"
#include "sim/fluid.h"
#include "sim/pairs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* The part of a group that goes through one lane. It starts when the group before it in the lane is
 * done, in all its lanes: a group ends as a unit (NCCL, p2p.rst). */
typedef struct entry {
    uint32_t group;
    uint32_t first, count;   /* into by_entry */
    uint32_t previous, next; /* in the lane, NONE at its ends */
    uint32_t left;           /* transfers not done */
    bool active;
    pp_ns ready_ns, end_ns;
} entry;

typedef struct group_state {
    uint32_t first, count; /* entries */
    uint32_t left;         /* entries not done */
    bool issued;
    pp_ns issued_ns, end_ns;
} group_state;

typedef struct run {
    const pp_program *program;
    const pp_comm *comm;
    const pp_costs *costs;
    pp_timeline *timeline;
    entry *entry; /* [transfers at most] */
    size_t entry_count;
    uint32_t *by_entry; /* [transfers], sorted by entry */
    uint32_t *entry_of; /* [transfers] */
    bool *done;         /* [transfers] */
    group_state *group;
    size_t *next;      /* [ranks]: step */
    pp_ns *clock_ns;   /* [ranks] */
    uint32_t *waiting; /* [ranks]: group, or NONE */
    uint32_t *wake;    /* stack of ranks to run */
    uint32_t *try;     /* stack of entries that may start */
    size_t wake_count, try_count;
    pp_fluid *fluid; /* speeds that depend on each other; NULL: nothing is shared */
    bool failed;     /* an allocation on the way */
} run;

static void run_free(run *r)
{
    free(r->entry);
    free(r->by_entry);
    free(r->entry_of);
    free(r->done);
    free(r->group);
    free(r->next);
    free(r->clock_ns);
    free(r->waiting);
    free(r->wake);
    free(r->try);
    pp_fluid_free(&r->fluid);
}

/* The lane of a transfer among those of its rank: less than 2 * ranks. */
static uint32_t lane_of(const pp_comm *comm, uint32_t ranks, const pp_transfer *t)
{
    uint32_t sends = pp_transfer_sends((pp_transfer_kind)t->kind);
    switch (comm->semantics.lanes) {
    case PP_LANES_SINGLE:
        return 0;
    case PP_LANES_PER_DIRECTION:
        return sends;
    case PP_LANES_PER_EDGE:
        return t->peer;
    case PP_LANES_PER_PEER:
        break;
    }
    return t->peer + sends * ranks;
}

/* Splits group g into entries; its transfers are few, so lanes are found by looking. */
static void make_entries(run *r, uint32_t g)
{
    const pp_comm *comm = r->comm;
    uint32_t ranks = r->program->ranks;
    const pp_group *group = &comm->group[g];
    group_state *state = &r->group[g];
    uint32_t sorted = group->first;
    state->first = (uint32_t)r->entry_count;
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        uint32_t lane = lane_of(comm, ranks, &comm->transfer[t]);
        bool seen = false;
        for (uint32_t u = group->first; u < t && !seen; u++)
            seen = lane_of(comm, ranks, &comm->transfer[u]) == lane;
        if (seen)
            continue;
        entry *e = &r->entry[r->entry_count];
        *e = (entry){ .group = g, .first = sorted, .previous = NONE, .next = NONE };
        for (uint32_t u = t; u < group->first + group->count; u++) {
            if (lane_of(comm, ranks, &comm->transfer[u]) != lane)
                continue;
            r->entry_of[u] = (uint32_t)r->entry_count;
            r->by_entry[sorted++] = u;
        }
        e->count = e->left = sorted - e->first;
        r->entry_count++;
    }
    state->count = state->left = (uint32_t)r->entry_count - state->first;
}

/* Lanes keep the order in which their rank posts. */
static pp_status chain_lanes(run *r, pp_err *err)
{
    const pp_comm *comm = r->comm;
    uint32_t ranks = r->program->ranks;
    uint32_t *last = pp_alloc_array(2 * (size_t)ranks, sizeof *last); /* entry of each lane */
    if (!last)
        return pp_err_nomem(err);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        memset(last, 0xff, 2 * (size_t)ranks * sizeof *last);
        for (size_t s = comm->step_begin[rank]; s < comm->step_begin[rank + 1]; s++) {
            if (comm->step[s].kind != PP_STEP_POST)
                continue;
            const group_state *group = &r->group[comm->step[s].index];
            for (uint32_t e = group->first; e < group->first + group->count; e++) {
                uint32_t lane =
                    lane_of(comm, ranks, &comm->transfer[r->by_entry[r->entry[e].first]]);
                r->entry[e].previous = last[lane];
                if (last[lane] != NONE)
                    r->entry[last[lane]].next = e;
                last[lane] = e;
            }
        }
    }
    free(last);
    return PP_OK;
}

static pp_status run_new(const pp_program *program, const pp_costs *costs, pp_timeline *timeline,
                         run *r, pp_err *err)
{
    const pp_comm *comm = program->comm;
    size_t transfers = comm->transfer_count;
    *r = (run){ .program = program, .comm = comm, .costs = costs, .timeline = timeline };
    r->entry = pp_alloc_array(transfers, sizeof *r->entry);
    r->by_entry = pp_alloc_array(transfers, sizeof *r->by_entry);
    r->entry_of = pp_alloc_array(transfers, sizeof *r->entry_of);
    r->done = pp_alloc_array(transfers, sizeof *r->done);
    r->group = pp_alloc_array(comm->group_count, sizeof *r->group);
    r->next = pp_alloc_array(program->ranks, sizeof *r->next);
    r->clock_ns = pp_alloc_array(program->ranks, sizeof *r->clock_ns);
    r->waiting = pp_alloc_array(program->ranks, sizeof *r->waiting);
    r->wake = pp_alloc_array(program->ranks, sizeof *r->wake);
    r->try = pp_alloc_array(2 * transfers, sizeof *r->try);
    if (!r->entry || !r->by_entry || !r->entry_of || !r->done || !r->group || !r->next ||
        !r->clock_ns || !r->waiting || !r->wake || !r->try)
        return pp_err_nomem(err);
    for (uint32_t g = 0; g < comm->group_count; g++)
        make_entries(r, g);
    memcpy(r->next, comm->step_begin, program->ranks * sizeof *r->next);
    memset(r->waiting, 0xff, program->ranks * sizeof *r->waiting);
    timeline->comm->wait_count = 0;
    memset(timeline->comm->idle_ns, 0, program->ranks * PP_IDLE_COUNT * sizeof(pp_ns));
    return chain_lanes(r, err);
}

static pp_ns later(pp_ns a, pp_ns b)
{
    return a > b ? a : b;
}

static pp_ns transfer_ns(const run *r, const pp_transfer *t)
{
    const pp_costs *costs = r->costs;
    size_t row = (size_t)costs->class_of[t->microbatch] * costs->stages;
    switch ((pp_transfer_kind)t->kind) {
    case PP_SEND_F:
        return costs->send_f_ns[row + t->stage];
    case PP_RECV_F:
        return t->stage ? costs->send_f_ns[row + t->stage - 1] : 0;
    case PP_SEND_B:
        return costs->send_b_ns[row + t->stage];
    case PP_RECV_B:
        return t->stage + 1u < costs->stages ? costs->send_b_ns[row + t->stage + 1] : 0;
    case PP_TRANSFER_KIND_COUNT:
        break;
    }
    return 0;
}

static int64_t transfer_bytes(const run *r, const pp_transfer *t)
{
    const pp_costs *costs = r->costs;
    bool downward = t->kind == PP_RECV_F || t->kind == PP_SEND_B; /* boundary below the stage */
    uint32_t stage = downward && t->stage ? t->stage - 1u : t->stage;
    int64_t bytes =
        costs->has_memory ? costs->message_bytes[pp_cost_index(costs, stage, t->microbatch)] : 0;
    return bytes ? bytes : 1;
}

/* Ends transfer t; whatever that allows goes on the stacks. */
static void finish(run *r, uint32_t t, pp_ns start_ns, pp_ns end_ns)
{
    entry *e = &r->entry[r->entry_of[t]];
    r->done[t] = true;
    r->timeline->comm->start_ns[t] = start_ns;
    r->timeline->comm->end_ns[t] = end_ns;
    e->end_ns = later(e->end_ns, end_ns);
    if (--e->left)
        return;
    group_state *group = &r->group[e->group];
    group->end_ns = later(group->end_ns, e->end_ns);
    if (--group->left)
        return;
    for (uint32_t k = group->first; k < group->first + group->count; k++) {
        if (r->entry[k].next != NONE)
            r->try[r->try_count++] = r->entry[k].next;
    }
    uint32_t rank = r->comm->group[e->group].rank;
    if (r->waiting[rank] == e->group) {
        r->waiting[rank] = NONE;
        r->wake[r->wake_count++] = rank;
    }
}

/* As meet, where the transfer's end depends on others: it is under way from now on. */
static void meet_sharing(run *r, uint32_t t, const pp_transfer *own, pp_ns takes_ns, bool eager)
{
    bool sends = pp_transfer_sends((pp_transfer_kind)own->kind);
    const entry *partner = &r->entry[r->entry_of[own->match]];
    pp_ns ready_ns = r->entry[r->entry_of[t]].ready_ns;
    if (eager && !sends) { /* has it come already? */
        pp_ns came_ns = pp_fluid_ended_ns(r->fluid, own->match);
        if (came_ns >= 0)
            finish(r, t, r->timeline->comm->start_ns[own->match], later(ready_ns, came_ns));
        return;
    }
    if (!eager && !partner->active)
        return;
    uint32_t from = sends ? own->rank : own->peer;
    uint32_t to = sends ? own->peer : own->rank;
    pp_fluid_move(r->fluid, sends ? t : own->match, from, to, r->comm->collective,
                  eager ? ready_ns : later(ready_ns, partner->ready_ns), takes_ns);
    if (eager)
        finish(r, t, ready_ns, ready_ns);
}

/* t has become active; does it meet its partner? */
static void meet(run *r, uint32_t t)
{
    const pp_transfer *own = &r->comm->transfer[t];
    pp_ns ready_ns = r->entry[r->entry_of[t]].ready_ns;
    uint32_t other = own->match;
    if (other == PP_NO_SOURCE) { /* outside a partial program */
        finish(r, t, ready_ns, ready_ns);
        return;
    }
    bool sends = pp_transfer_sends((pp_transfer_kind)own->kind);
    const entry *partner = &r->entry[r->entry_of[other]];
    pp_ns takes_ns = transfer_ns(r, own);
    const pp_comm_semantics *comm = &r->comm->semantics;
    bool eager = comm->mode == PP_COMM_EAGER && !r->comm->collective &&
                 transfer_bytes(r, own) <= comm->eager_bytes;
    if (r->fluid) {
        meet_sharing(r, t, own, takes_ns, eager);
        return;
    }
    if (eager) {
        if (sends)
            finish(r, t, ready_ns, ready_ns);
        pp_ns sent_ns = sends ? ready_ns : partner->ready_ns;
        pp_ns posted_ns = sends ? partner->ready_ns : ready_ns;
        if (partner->active)
            finish(r, sends ? other : t, sent_ns, later(posted_ns, sent_ns + takes_ns));
        return;
    }
    if (!partner->active)
        return;
    pp_ns start_ns = later(ready_ns, partner->ready_ns);
    finish(r, t, start_ns, start_ns + takes_ns);
    finish(r, other, start_ns, start_ns + takes_ns);
}

static void try_entry(run *r, uint32_t index)
{
    entry *e = &r->entry[index];
    const group_state *group = &r->group[e->group];
    const group_state *ahead = e->previous == NONE ? NULL : &r->group[r->entry[e->previous].group];
    if (e->active || !group->issued || (ahead && ahead->left))
        return;
    e->active = true;
    e->ready_ns = ahead ? later(group->issued_ns, ahead->end_ns) : group->issued_ns;
    for (uint32_t k = e->first; k < e->first + e->count; k++) {
        if (!r->done[r->by_entry[k]])
            meet(r, r->by_entry[k]);
    }
}

/* The rank stands still from `from_ns` to `to_ns`, for one cause. blocker: a transfer. */
static void stand_still(run *r, uint32_t rank, pp_idle_cause cause, pp_ns from_ns, pp_ns to_ns,
                        uint32_t transfer, uint32_t blocker)
{
    pp_comm_timeline *out = r->timeline->comm;
    if (to_ns <= from_ns)
        return;
    out->idle_ns[rank * PP_IDLE_COUNT + (size_t)cause] += to_ns - from_ns;
    void *grown = out->wait;
    if (pp_grow(&grown, &out->wait_capacity, out->wait_count + 1, sizeof *out->wait, NULL)) {
        r->failed = true;
        return;
    }
    out->wait = grown;
    out->wait[out->wait_count++] = (pp_wait){ .at_ns = from_ns,
                                              .waits_ns = to_ns - from_ns,
                                              .step = r->next[rank],
                                              .rank = rank,
                                              .transfer = transfer,
                                              .blocker = blocker,
                                              .cause = cause };
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

/* After both ends were posted at `posted_ns`: what kept transfer t from starting, in the lane of
 * either end; or itself, which takes its time. */
static uint32_t held_by(const run *r, uint32_t t, pp_ns posted_ns)
{
    uint32_t other = r->comm->transfer[t].match;
    const entry *late = &r->entry[r->entry_of[t]];
    if (other != PP_NO_SOURCE && r->entry[r->entry_of[other]].ready_ns > late->ready_ns)
        late = &r->entry[r->entry_of[other]];
    if (late->ready_ns <= posted_ns || late->previous == NONE)
        return t;
    return last_of(r, r->entry[late->previous].group);
}

/* The rank stood still from its clock to the end of group g. Until the other end of the last
 * transfer was posted it waited for data (its input was not made) or for a buffer (its output was
 * not asked for); after that for the link. */
static void account_wait(run *r, uint32_t rank, uint32_t g)
{
    pp_ns end_ns = r->group[g].end_ns;
    pp_ns clock_ns = r->clock_ns[rank];
    if (end_ns <= clock_ns)
        return;
    uint32_t last = last_of(r, g);
    const pp_transfer *transfer = &r->comm->transfer[last];
    pp_ns posted_ns = transfer->match == PP_NO_SOURCE
                          ? clock_ns
                          : r->group[r->comm->transfer[transfer->match].group].issued_ns;
    pp_ns split_ns = posted_ns < clock_ns ? clock_ns : posted_ns > end_ns ? end_ns : posted_ns;
    bool sends = pp_transfer_sends((pp_transfer_kind)transfer->kind);
    stand_still(r, rank, sends ? PP_IDLE_BUFFER : PP_IDLE_DATA, clock_ns, split_ns, last,
                transfer->match);
    stand_still(r, rank, PP_IDLE_LINK, split_ns, end_ns, last, held_by(r, last, split_ns));
    r->clock_ns[rank] = end_ns;
}

/* true when the rank must wait for group g. */
static bool blocked_by(run *r, uint32_t rank, uint32_t g)
{
    if (r->group[g].left) {
        r->waiting[rank] = g;
        return true;
    }
    account_wait(r, rank, g);
    return false;
}

/* false when the rank cannot take this step yet. */
static bool take_step(run *r, uint32_t rank, pp_step step)
{
    if (step.kind == PP_STEP_POST) {
        group_state *group = &r->group[step.index];
        group->issued = true;
        group->issued_ns = r->clock_ns[rank];
        for (uint32_t t = 0; t < r->comm->group[step.index].count; t++)
            r->timeline->comm->post_ns[r->comm->group[step.index].first + t] = group->issued_ns;
        for (uint32_t e = group->first; e < group->first + group->count; e++)
            r->try[r->try_count++] = e;
    } else if (step.kind == PP_STEP_WAIT) {
        return !blocked_by(r, rank, step.index);
    } else if (step.kind == PP_STEP_RUN) {
        uint32_t i = step.index;
        uint32_t receive = r->comm->needs[i];
        bool pair = pp_pair_starts(r->program, r->costs, i);
        if (receive != PP_NO_SOURCE && blocked_by(r, rank, r->comm->transfer[receive].group))
            return false;
        receive = pair ? r->comm->needs[i + 1] : PP_NO_SOURCE;
        if (receive != PP_NO_SOURCE && blocked_by(r, rank, r->comm->transfer[receive].group))
            return false;
        pp_op op = r->program->op[i];
        const pp_costs *costs = r->costs;
        const pp_ns *table[] = { costs->f_ns, costs->i_ns, costs->w_ns, costs->b_ns };
        pp_ns takes_ns = table[op.kind][pp_cost_index(costs, op.stage, op.microbatch)];
        if (pair || pp_pair_ends(r->program, costs, i))
            takes_ns = pair ? pp_pair_ns(r->program, costs, i) : 0;
        r->timeline->start_ns[i] = r->clock_ns[rank];
        if (r->fluid) { /* the step is taken when the op has ended */
            pp_fluid_compute(r->fluid, rank, r->clock_ns[rank], takes_ns);
            return false;
        }
        r->clock_ns[rank] += takes_ns;
        r->timeline->end_ns[i] = r->clock_ns[rank];
    }
    return true;
}

/* Whatever can go on now. */
static void work(run *r)
{
    while (r->wake_count || r->try_count) {
        if (r->try_count) {
            try_entry(r, r->try[--r->try_count]);
            continue;
        }
        uint32_t rank = r->wake[--r->wake_count];
        while (r->next[rank] < r->comm->step_begin[rank + 1] &&
               take_step(r, rank, r->comm->step[r->next[rank]]))
            r->next[rank]++;
    }
}

/* An op or a transfer of the fluid has ended. */
static void take_end(run *r, const pp_fluid_end *end)
{
    if (!end->transfer) {
        uint32_t rank = end->index;
        uint32_t i = r->comm->step[r->next[rank]++].index;
        r->timeline->end_ns[i] = r->clock_ns[rank] = end->end_ns;
        r->wake[r->wake_count++] = rank;
        return;
    }
    uint32_t receive = r->comm->transfer[end->index].match;
    const entry *e = &r->entry[r->entry_of[receive]];
    if (!r->done[end->index])
        finish(r, end->index, end->start_ns, end->end_ns);
    if (e->active)
        finish(r, receive, end->start_ns, later(end->end_ns, e->ready_ns));
}

static void work_all(run *r)
{
    pp_fluid_end end;
    for (uint32_t rank = r->program->ranks; rank-- > 0;)
        r->wake[r->wake_count++] = rank;
    work(r);
    while (r->fluid && pp_fluid_next(r->fluid, &end)) {
        take_end(r, &end);
        work(r);
    }
}

/* The fluid counts in doubles, which hold whole ns up to PP_NS_MAX. */
static pp_status make_fluid(run *r, pp_err *err)
{
    const pp_sharing *sharing = &r->comm->semantics.sharing;
    const pp_costs *costs = r->costs;
    const pp_ns *table[] = { costs->f_ns, costs->i_ns, costs->w_ns, costs->b_ns };
    double sum_ns = 0;
    if (!pp_sharing_is_on(sharing))
        return PP_OK;
    for (size_t i = 0; i < r->program->count; i++) {
        pp_op op = r->program->op[i];
        sum_ns += (double)table[op.kind][pp_cost_index(costs, op.stage, op.microbatch)];
    }
    for (size_t t = 0; t < r->comm->transfer_count; t++)
        sum_ns += (double)transfer_ns(r, &r->comm->transfer[t]);
    if (sum_ns * PP_SLOWDOWN_MAX > (double)PP_NS_MAX)
        return pp_err_set(err, PP_INPUT, NULL,
                          "ops and transfers of %g s together are too long for --nic and "
                          "--overlap-slowdown; give shorter durations",
                          1e-9 * sum_ns);
    return pp_fluid_new(sharing, r->program->ranks, (uint32_t)r->comm->transfer_count, &r->fluid,
                        err);
}

/* For each transfer the first group of its lane that is not done, where it is posted. */
static void find_fronts(const run *r, uint32_t *front)
{
    const pp_comm *comm = r->comm;
    for (size_t s = 0; s < comm->step_count; s++) { /* rank by rank, so lanes in their order */
        if (comm->step[s].kind != PP_STEP_POST)
            continue;
        const group_state *group = &r->group[comm->step[s].index];
        for (uint32_t e = group->first; e < group->first + group->count; e++) {
            const entry *own = &r->entry[e];
            uint32_t first = own->group;
            if (own->previous != NONE && r->group[r->entry[own->previous].group].left)
                first = front[r->by_entry[r->entry[own->previous].first]];
            for (uint32_t k = own->first; k < own->first + own->count; k++)
                front[r->by_entry[k]] = first;
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
        issued[g] = r->group[g].issued;
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

pp_status pp_simulate_comm(const pp_program *program, const pp_costs *costs, const pp_ns *begin_ns,
                           pp_timeline *timeline, pp_err *err)
{
    run r PP_CLEANUP(run_free) = { 0 };
    pp_status status = run_new(program, costs, timeline, &r, err);
    if (status || (status = make_fluid(&r, err)))
        return status;
    memcpy(r.clock_ns, begin_ns, program->ranks * sizeof *r.clock_ns);
    work_all(&r);
    if (r.failed)
        return pp_err_nomem(err);
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        if (r.next[rank] < program->comm->step_begin[rank + 1])
            return report_hang(&r, err);
    }
    return PP_OK;
}
