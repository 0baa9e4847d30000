/* Dispatch makes an order from a policy by simulating the step event by event (a non-delay schedule
 * with exceptions, in the terms of job-shop scheduling).
 *
 * The rank that becomes free first decides what it runs, among the ops that have arrived. A B has
 * priority; then the next F of the policy's order of microbatches; then a W that fits into the time
 * until the next known arrival, or that returns the memory for which an F waits. The policy's knobs
 * shift these rules. Of microbatches that yield, the Fs come later from a stage on. While the
 * urgent microbatch is on its way to a rank, next in its line there and with room for it, nothing
 * starts that ends after its arrival; once it is there, it goes first.
 *
 * An F is admitted only when everything that its rank then holds can still be finished: the largest
 * transient of the Bs and Ws to come stays free and, with several stages per rank, the microbatches
 * can be finished one after the other, oldest first (the banker's algorithm, Dijkstra 1965). So
 * a B or W never lacks memory. Tight policies keep free only the transient of the one that is
 * finished next, and let chosen microbatches pass older ones, so that a short one runs beside a
 * long one that almost fills the memory; then a B or W may have to wait, and ranks for each other.
 * They may also where some yield: the oldest may then be next in line nowhere.
 *
 * An op costs O(ranks / 8 + 8) to find the next event and O(ops in flight on its rank) to decide.
 * For admission with several stages per rank, what each microbatch still needs and holds there is
 * kept up to date, and the banker looks no further than the first microbatch after which any other
 * one fits: O(microbatches in flight) at most, and rarely more than two. A run ends early when some
 * rank can no longer finish by the caller's limit. */
#include "planner/order/dispatch.h"

#include "sim/base/alloc.h"
#include "sim/base/minmax.h"

#include <stdlib.h>
#include <string.h>

#define NEVER INT64_MAX
#define STARTED (-1) /* the arrival of an F that has */

enum { BLOCK = 8 /* ranks */, FINISH_ROUNDS = 4 };
#define UNKNOWN UINT32_MAX

/* An op that has arrived at its rank, or the time at which it will. */
typedef struct arrival {
    int64_t ticks;
    uint32_t op;
} arrival;

/* A cell (stage and microbatch) between its F and its W, and the memory that it may take beyond
 * what it holds. */
typedef struct live_cell {
    uint32_t cell;
    int64_t extra;
} live_cell;

typedef struct rank_state {
    int64_t now;              /* when its last op ends */
    int64_t rest;             /* ticks of the ops it has not started */
    int64_t held;             /* as if every activation kept its largest size until its B */
    int64_t extra;            /* the largest of its live_cells */
    int64_t ample;            /* with so much to spare any microbatch can be finished */
    int64_t *needs, *holds;   /* by place in the order: what cells yet to start will take, and what
                                 those that run hold */
    uint32_t entered, left;   /* microbatches: first F started, last B ended */
    uint32_t lowest, highest; /* stages it runs */
    uint32_t done;            /* ops */
    arrival *back;            /* backwards */
    uint32_t backs;
    uint32_t *weight; /* Ws, oldest first */
    uint32_t weights;
    live_cell *live_cell;
    uint32_t live_cells;
    uint32_t finished; /* microbatches before this place of the order have no cells left to start */
    uint32_t started;  /* one after the last microbatch of the order with a cell started */
} rank_state;

struct pp_dispatch {
    const pp_order_problem *problem;
    const pp_policy *policy;
    rank_state *rank;
    int64_t *next;         /* [ranks, rounded up to blocks]: when it can decide next; set_next */
    uint32_t *soonest;     /* [blocks]: its first rank with the least `next`, or UNKNOWN */
    const uint32_t **line; /* [stages]: microbatches in the order of their Fs there */
    uint32_t *lines;       /* [stages * microbatches]: the lines of stages at which some yield */
    uint32_t *stage_next;  /* [stages]: place in the line of the next F */
    int64_t *arrive;       /* [stages * microbatches]: F, by cell; or STARTED */
    uint32_t *spot;        /* [microbatches]: place in the order */
    uint32_t *begin;       /* [ranks + 1]: index into `ops` */
    uint32_t *ops;
    int64_t *size;       /* by cell: the most that it holds from F to B */
    int64_t *extra;      /* by cell */
    int64_t *work;       /* [ranks] */
    uint32_t *stages_of; /* stages, by rank */
    uint32_t *first;     /* [ranks + 1]: index into `stages_of` */
    arrival *arrivals;
    live_cell *live_cells;
    uint32_t *weights;
    int64_t *holding;    /* by cell: what it holds now */
    uint32_t *live_at;   /* by cell: its place among the live cells of its rank */
    int64_t *all_sizes;  /* [ranks * microbatches]: the sum of its cells' sizes on that rank */
    int64_t *most_extra; /* [ranks * microbatches]: the largest of its cells' extras there */
    int64_t *accounts;   /* `needs` and `holds` of all ranks */
};

static uint32_t cell_of(const pp_order_problem *x, uint32_t stage, uint32_t microbatch)
{
    return microbatch * x->stages + stage;
}

/* Fills in what is the same in all runs: sizes, beginnings, work. */
static void prepare(pp_dispatch *d)
{
    const pp_order_problem *x = d->problem;
    for (uint32_t s = 0; s < x->stages; s++)
        d->first[x->stage_rank[s] + 1]++;
    for (uint32_t r = 0; r < x->ranks; r++) {
        d->begin[r + 1] = d->begin[r] + 3 * x->microbatches * d->first[r + 1];
        d->first[r + 1] += d->first[r];
        d->rank[r].back = d->arrivals + d->begin[r] / 3;
        d->rank[r].live_cell = d->live_cells + d->begin[r] / 3;
        d->rank[r].weight = d->weights + d->begin[r] / 3;
    }
    for (uint32_t s = x->stages; s-- > 0;)
        d->stages_of[--d->first[x->stage_rank[s] + 1]] = s;
    memmove(d->first, d->first + 1, x->ranks * sizeof *d->first);
    d->first[x->ranks] = x->stages;
    for (uint32_t i = 0; i < x->microbatches; i++) {
        for (uint32_t s = 0; s < x->stages; s++) {
            const pp_task_memory *f = &x->memory[pp_order_problem_op(x, PP_TASK_F, s, i)];
            const pp_task_memory *b = &x->memory[pp_order_problem_op(x, PP_TASK_B, s, i)];
            const pp_task_memory *w = &x->memory[pp_order_problem_op(x, PP_TASK_W, s, i)];
            uint32_t cell = cell_of(x, s, i);
            d->size[cell] = pp_max(f->delta, -w->delta);
            d->extra[cell] = pp_max(f->need - f->delta, pp_max(b->need, w->need));
            for (int kind = 0; kind < 3; kind++)
                d->work[x->stage_rank[s]] +=
                    x->task[pp_order_problem_op(x, (pp_task_kind)kind, s, i)].ticks;
            const size_t at = (size_t)x->stage_rank[s] * x->microbatches + i;
            d->all_sizes[at] += d->size[cell];
            d->most_extra[at] = pp_max(d->most_extra[at], d->extra[cell]);
        }
    }
    for (uint32_t r = 0; r < x->ranks; r++) {
        const int64_t *sizes = d->all_sizes + (size_t)r * x->microbatches;
        const int64_t *extras = d->most_extra + (size_t)r * x->microbatches;
        int64_t size = 0, extra = 0;
        for (uint32_t i = 0; i < x->microbatches; i++) {
            size = pp_max(size, sizes[i]);
            extra = pp_max(extra, extras[i]);
        }
        d->rank[r].ample = size + extra;
        d->rank[r].needs = d->accounts + 2 * (size_t)r * x->microbatches;
        d->rank[r].holds = d->rank[r].needs + x->microbatches;
    }
}

pp_status pp_dispatch_new(const pp_order_problem *x, pp_dispatch **dispatch_out, pp_err *err)
{
    const size_t cells = x->ops / 3, blocks = ((size_t)x->ranks + BLOCK - 1) / BLOCK;
    pp_dispatch *d = pp_alloc_array(1, sizeof *d);
    if (!d)
        return pp_err_nomem(err);
    d->problem = x;
    d->rank = pp_alloc_array(x->ranks, sizeof *d->rank);
    d->line = pp_alloc_array(x->stages, sizeof *d->line);
    d->lines = pp_alloc_array(cells, sizeof *d->lines);
    d->stage_next = pp_alloc_array(2 * (size_t)x->stages + x->microbatches +
                                       2 * (x->ranks + (size_t)1) + x->ops + 2 * cells + blocks,
                                   sizeof *d->stage_next);
    d->arrive = pp_alloc_array(4 * cells + x->ranks + BLOCK * blocks, sizeof *d->arrive);
    d->arrivals = pp_alloc_array(cells, sizeof *d->arrivals);
    d->live_cells = pp_alloc_array(cells, sizeof *d->live_cells);
    d->all_sizes = pp_alloc_array(4 * (size_t)x->ranks * x->microbatches, sizeof *d->all_sizes);
    if (!d->rank || !d->line || !d->lines || !d->stage_next || !d->arrive || !d->arrivals ||
        !d->live_cells || !d->all_sizes) {
        pp_dispatch_free(&d);
        return pp_err_nomem(err);
    }
    d->stages_of = d->stage_next + x->stages;
    d->spot = d->stages_of + x->stages;
    d->begin = d->spot + x->microbatches;
    d->first = d->begin + x->ranks + 1;
    d->ops = d->first + x->ranks + 1;
    d->weights = d->ops + x->ops;
    d->live_at = d->weights + cells;
    d->soonest = d->live_at + cells;
    d->size = d->arrive + cells;
    d->extra = d->size + cells;
    d->holding = d->extra + cells;
    d->work = d->holding + cells;
    d->next = d->work + x->ranks;
    for (size_t r = 0; r < BLOCK * blocks; r++)
        d->next[r] = NEVER;
    d->most_extra = d->all_sizes + (size_t)x->ranks * x->microbatches;
    d->accounts = d->most_extra + (size_t)x->ranks * x->microbatches;
    prepare(d);
    *dispatch_out = d;
    return PP_OK;
}

void pp_dispatch_free(pp_dispatch **dispatch)
{
    pp_dispatch *d = *dispatch;
    if (!d)
        return;
    free(d->rank);
    free(d->line);
    free(d->lines);
    free(d->stage_next);
    free(d->arrive);
    free(d->arrivals);
    free(d->live_cells);
    free(d->all_sizes);
    free(d);
    *dispatch = NULL;
}

const uint32_t *pp_dispatch_ops(const pp_dispatch *d)
{
    return d->ops;
}

static void set_next(pp_dispatch *d, uint32_t r, int64_t ticks)
{
    d->next[r] = ticks;
    d->soonest[r / BLOCK] = UNKNOWN;
}

/* Without branches, which could not be predicted. */
static uint32_t soonest_of(const pp_dispatch *d, uint32_t block)
{
    const int64_t *next = d->next + (size_t)block * BLOCK;
    int64_t least = next[0];
    uint32_t at = 0;
    for (uint32_t k = 1; k < BLOCK; k++) {
        const bool sooner = next[k] < least;
        least = sooner ? next[k] : least;
        at = sooner ? k : at;
    }
    return block * BLOCK + at;
}

/* The first of the ranks that can decide soonest. */
static uint32_t next_rank(pp_dispatch *d)
{
    uint32_t r = 0;
    for (uint32_t block = 0; block * BLOCK < d->problem->ranks; block++) {
        if (d->soonest[block] == UNKNOWN)
            d->soonest[block] = soonest_of(d, block);
        const uint32_t own = d->soonest[block];
        r = block == 0 || d->next[own] < d->next[r] ? own : r;
    }
    return r;
}

/* Puts those that yield at a stage so many places back, the last of the line first. */
static void let_yield(const pp_policy *policy, uint32_t stage, uint32_t count, uint32_t *line)
{
    for (uint32_t k = count; k-- > 0;) {
        const uint32_t moved = line[k];
        const pp_yield *yield = &policy->yield[moved];
        if (yield->places == 0 || yield->stage != stage)
            continue;
        const uint32_t places = yield->places < count - 1 - k ? yield->places : count - 1 - k;
        memmove(line + k, line + k + 1, places * sizeof *line);
        line[k + places] = moved;
    }
}

static void line_up(pp_dispatch *d, const pp_policy *policy)
{
    const pp_order_problem *x = d->problem;
    const uint32_t m = x->microbatches;
    const uint32_t *line = policy->order;
    for (uint32_t s = 0; s < x->stages; s++) {
        bool some = false;
        for (uint32_t i = 0; i < m && policy->yields; i++)
            some = some || (policy->yield[i].places && policy->yield[i].stage == s);
        if (some) {
            uint32_t *own = d->lines + (size_t)s * m;
            memcpy(own, line, m * sizeof *own);
            let_yield(policy, s, m, own);
            line = own;
        }
        d->line[s] = line;
    }
}

static void reset(pp_dispatch *d, const pp_policy *policy)
{
    const pp_order_problem *x = d->problem;
    d->policy = policy;
    line_up(d, policy);
    for (uint32_t k = 0; k < x->ops / 3; k++)
        d->arrive[k] = NEVER;
    memset(d->holding, 0, x->ops / 3 * sizeof *d->holding);
    for (uint32_t k = 0; k < x->microbatches; k++) {
        d->spot[policy->order[k]] = k;
        d->arrive[cell_of(x, 0, k)] = 0;
    }
    memset(d->stage_next, 0, x->stages * sizeof *d->stage_next);
    for (uint32_t r = 0; r < x->ranks; r++) {
        rank_state *rank = &d->rank[r];
        uint32_t stages = d->first[r + 1] - d->first[r];
        *rank = (rank_state){ .back = rank->back,
                              .weight = rank->weight,
                              .live_cell = rank->live_cell,
                              .ample = rank->ample,
                              .needs = rank->needs,
                              .holds = rank->holds };
        for (uint32_t k = 0; k < x->microbatches; k++) {
            rank->needs[k] = d->all_sizes[(size_t)r * x->microbatches + policy->order[k]];
            rank->holds[k] = 0;
        }
        rank->rest = d->work[r];
        set_next(d, r, NEVER);
        rank->lowest = stages ? d->stages_of[d->first[r]] : 0;
        rank->highest = stages ? d->stages_of[d->first[r + 1] - 1] : 0;
    }
    set_next(d, x->stage_rank[0], 0);
}

static bool is_tight(const pp_dispatch *d)
{
    return (d->policy->flags & PP_POLICY_TIGHT) != 0;
}

/* Returns whether all microbatches can be finished, oldest first, after the F of `cell` was
 * admitted. */
static bool banker_agrees(const pp_dispatch *d, uint32_t r, uint32_t cell)
{
    const pp_order_problem *x = d->problem;
    const rank_state *rank = &d->rank[r];
    const int64_t *most_extra = d->most_extra + (size_t)r * x->microbatches;
    const uint32_t k = d->spot[cell / x->stages];
    const int64_t size = d->size[cell];
    const int64_t transient = is_tight(d) ? 0 : pp_max(rank->extra, d->extra[cell]);
    int64_t spare = x->room[r] - rank->held - size;
    uint32_t end = k + 1 > rank->started ? k + 1 : rank->started;
    for (uint32_t j = rank->finished; j < end && spare < rank->ample; j++) {
        const int64_t admitted = j == k ? size : 0;
        if (is_tight(d) && rank->needs[j] + rank->holds[j] + admitted == 0)
            continue; /* finished, behind one that is not */
        const int64_t extra = pp_max(transient, most_extra[d->policy->order[j]]);
        if (rank->needs[j] - admitted + extra > spare)
            return false;
        spare += rank->holds[j] + admitted;
    }
    return true;
}

/* Returns whether `cell` and the live cells of the rank can be finished one after the other, those
 * with small transients first, when `spare` is left beside them. False if that is not found within
 * a few passes over them. */
static bool can_finish(const pp_dispatch *d, uint32_t r, uint32_t cell, int64_t spare)
{
    const rank_state *rank = &d->rank[r];
    bool admitted = false; /* `cell` is finished */
    int64_t done = -1;     /* the cells with at most this transient are */
    int rounds = 0;
    while (spare < rank->extra || (!admitted && spare < d->extra[cell])) {
        int64_t freed = 0;
        for (uint32_t g = 0; g < rank->live_cells; g++) {
            const live_cell *one = &rank->live_cell[g];
            if (one->extra > done && one->extra <= spare)
                freed += d->holding[one->cell];
        }
        const bool now = !admitted && d->extra[cell] <= spare;
        freed += now ? d->size[cell] : 0;
        admitted = admitted || now;
        if ((freed == 0 && !now) || ++rounds == FINISH_ROUNDS)
            return false;
        done = spare;
        spare += freed;
    }
    return true;
}

/* i: a microbatch whose F is the next of stage `s`. */
static bool admits(const pp_dispatch *d, uint32_t r, uint32_t s, uint32_t i)
{
    const pp_order_problem *x = d->problem;
    const rank_state *rank = &d->rank[r];
    const uint32_t cell = cell_of(x, s, i);
    const int64_t spare = x->room[r] - rank->held - d->size[cell];
    const bool one_stage = rank->lowest == rank->highest;
    const bool any = one_stage && pp_max(rank->extra, d->extra[cell]) <= spare;
    if (any || !is_tight(d))
        return any || (!one_stage && banker_agrees(d, r, cell));
    const pp_task_memory *f = &x->memory[pp_order_problem_op(x, PP_TASK_F, s, i)];
    if (spare < 0 || spare < f->need - f->delta)
        return false;
    return banker_agrees(d, r, cell) ||
           (one_stage && d->policy->passes[i] && can_finish(d, r, cell, spare));
}

/* What a rank bases its decision on. */
typedef struct outlook {
    uint32_t f_stage, back; /* f_stage: an admissible F; back: place in the list of an arrived B */
    bool f, b;
    bool urgent_f, urgent_b; /* these are the urgent microbatch's */
    bool blocked;            /* an F has arrived but does not fit into the memory */
    int64_t left;   /* ticks until the urgent microbatch arrives, if it then fits; or NEVER */
    int64_t next_b; /* the next known arrival of a B */
    int64_t next_f; /* the next known arrival of an F */
} outlook;

static bool f_goes_first(const pp_dispatch *d, uint32_t s, uint32_t than)
{
    bool shallow = (d->policy->flags & PP_POLICY_SHALLOW_F) != 0;
    const uint32_t place = d->spot[d->line[s][d->stage_next[s]]];
    const uint32_t other = d->spot[d->line[than][d->stage_next[than]]];
    if (d->policy->flags & PP_POLICY_OLD_F && place != other)
        return place < other;
    return shallow ? s < than : s > than;
}

static void look_at_forwards(const pp_dispatch *d, uint32_t r, outlook *o)
{
    const pp_order_problem *x = d->problem;
    const rank_state *rank = &d->rank[r];
    int32_t limit = d->policy->knob[r * PP_KNOBS + PP_KNOB_IN_FLIGHT];
    for (uint32_t n = d->first[r]; n < d->first[r + 1]; n++) {
        uint32_t s = d->stages_of[n];
        uint32_t k = d->stage_next[s];
        if (k == x->microbatches ||
            (s == rank->lowest && rank->entered - rank->left >= (uint32_t)limit))
            continue;
        const uint32_t i = d->line[s][k];
        const bool urgent = i == d->policy->urgent;
        int64_t at = d->arrive[cell_of(x, s, i)];
        if (at > d->next[r]) {
            o->next_f = pp_min(o->next_f, at);
            if (urgent && at < NEVER && admits(d, r, s, i))
                o->left = pp_min(o->left, at - d->next[r]);
        } else if (!o->f || urgent || (!o->urgent_f && f_goes_first(d, s, o->f_stage))) {
            bool fits = admits(d, r, s, i);
            o->blocked = o->blocked || !fits;
            o->f_stage = fits ? s : o->f_stage;
            o->f = o->f || fits;
            o->urgent_f = o->urgent_f || (fits && urgent);
        }
    }
}

/* Only with a tight policy a B or W may not. */
static bool fits_now(const pp_dispatch *d, uint32_t r, uint32_t op)
{
    return !is_tight(d) || d->rank[r].held + d->problem->memory[op].need <= d->problem->room[r];
}

static void look_at_backwards(const pp_dispatch *d, uint32_t r, outlook *o)
{
    const pp_order_problem *x = d->problem;
    const rank_state *rank = &d->rank[r];
    bool by_order = (d->policy->flags & PP_POLICY_ORDER_B) != 0;
    int64_t best = NEVER;
    for (uint32_t k = 0; k < rank->backs; k++) {
        const arrival *a = &rank->back[k];
        const bool urgent = x->task[a->op].microbatch == d->policy->urgent;
        if (a->ticks > d->next[r]) {
            o->next_b = pp_min(o->next_b, a->ticks);
            if (urgent && fits_now(d, r, a->op))
                o->left = pp_min(o->left, a->ticks - d->next[r]);
            continue;
        }
        if (!fits_now(d, r, a->op)) {
            o->blocked = true;
            continue;
        }
        int64_t key = by_order ? (int64_t)d->spot[x->task[a->op].microbatch] : a->ticks;
        o->urgent_b = o->urgent_b || urgent;
        key = urgent ? -1 : key;
        if (key < best) {
            best = key;
            o->back = k;
            o->b = true;
        }
    }
}

static void look(const pp_dispatch *d, uint32_t r, outlook *o)
{
    *o = (outlook){ .next_b = NEVER, .next_f = NEVER, .left = NEVER };
    look_at_backwards(d, r, o);
    look_at_forwards(d, r, o);
}

/* Returns whether the rank after stage `s` will be idle before an F of `ticks` that starts `now`
 * reaches it. */
static bool is_hungry(const pp_dispatch *d, uint32_t s, int64_t now, int64_t ticks, int16_t level)
{
    const pp_order_problem *x = d->problem;
    if (level == 0 || s + 1 == x->stages)
        return false;
    uint32_t r = x->stage_rank[s + 1];
    const rank_state *rank = &d->rank[r];
    if (d->next[r] == NEVER)
        return true;
    uint32_t k = d->stage_next[s + 1];
    return level > 1 && rank->backs == 0 && rank->now < now + ticks && k < x->microbatches &&
           d->arrive[cell_of(x, s + 1, d->line[s + 1][k])] == NEVER;
}

/* Returns the W to run now, as a place in the list; x->ops: none. gap: ticks until something better
 * arrives. */
static uint32_t pick_weight(const pp_dispatch *d, uint32_t r, int64_t gap, int64_t overrun)
{
    const pp_order_problem *x = d->problem;
    const rank_state *rank = &d->rank[r];
    uint32_t pick = x->ops;
    int64_t longest = -1;
    const bool tight = is_tight(d);
    for (uint32_t k = 0; k < rank->weights; k++) {
        int64_t ticks = x->task[rank->weight[k]].ticks;
        if (tight && !fits_now(d, r, rank->weight[k]))
            continue;
        if (pick == x->ops)
            pick = k;
        if (!(d->policy->flags & PP_POLICY_FIT_W))
            break;
        if (ticks <= gap && ticks > longest) {
            longest = ticks;
            pick = k;
        }
    }
    if (pick == x->ops)
        return x->ops;
    int64_t ticks = x->task[rank->weight[pick]].ticks;
    return ticks / 16 * (16 - overrun) <= gap ? pick : x->ops;
}

static void wake(pp_dispatch *d, uint32_t r, int64_t at)
{
    rank_state *rank = &d->rank[r];
    set_next(d, r, pp_min(d->next[r], pp_max(rank->now, at)));
}

/* Announces the end of `op` to the rank of the op that needs its result. */
static void pass_on(pp_dispatch *d, uint32_t op, int64_t end)
{
    const pp_order_problem *x = d->problem;
    uint32_t after = x->task[op].after;
    if (after == x->ops)
        return;
    uint32_t r = x->task[after].rank;
    int64_t at = end + x->task[after].lag;
    if (x->task[after].kind == PP_TASK_F) {
        uint32_t s = x->task[after].stage;
        uint32_t i = x->task[after].microbatch;
        d->arrive[cell_of(x, s, i)] = at;
        if (d->line[s][d->stage_next[s]] != i)
            return;
    } else {
        d->rank[r].back[d->rank[r].backs++] = (arrival){ at, after };
    }
    if (r != x->task[op].rank)
        wake(d, r, at);
}

static void admit(pp_dispatch *d, uint32_t r, uint32_t cell)
{
    rank_state *rank = &d->rank[r];
    const uint32_t place = d->spot[cell / d->problem->stages];
    rank->held += d->size[cell];
    rank->needs[place] -= d->size[cell];
    rank->holds[place] += d->size[cell];
    d->holding[cell] = d->size[cell];
    d->live_at[cell] = rank->live_cells;
    rank->live_cell[rank->live_cells++] = (live_cell){ cell, d->extra[cell] };
    rank->extra = pp_max(rank->extra, d->extra[cell]);
}

static void give_back(pp_dispatch *d, uint32_t r, uint32_t cell, int64_t keep)
{
    rank_state *rank = &d->rank[r];
    rank->held -= d->holding[cell] - keep;
    rank->holds[d->spot[cell / d->problem->stages]] -= d->holding[cell] - keep;
    d->holding[cell] = keep;
}

static void dismiss(pp_dispatch *d, uint32_t r, uint32_t cell)
{
    rank_state *rank = &d->rank[r];
    give_back(d, r, cell, 0);
    const uint32_t at = d->live_at[cell];
    const int64_t most = rank->extra;
    const bool was_most = rank->live_cell[at].extra == most;
    const live_cell moved = rank->live_cell[--rank->live_cells];
    rank->live_cell[at] = moved;
    d->live_at[moved.cell] = at;
    rank->extra = was_most ? 0 : most;
    for (uint32_t g = 0; rank->extra < most && g < rank->live_cells; g++)
        rank->extra = pp_max(rank->extra, rank->live_cell[g].extra);
    if (rank->lowest == rank->highest && !is_tight(d))
        return;
    for (bool over = true; over && rank->finished < rank->started; rank->finished += over) {
        for (uint32_t n = d->first[r]; n < d->first[r + 1]; n++) {
            uint32_t s = d->stages_of[n];
            const uint32_t own = cell_of(d->problem, s, d->policy->order[rank->finished]);
            over = over && d->arrive[own] == STARTED && d->holding[own] == 0;
        }
    }
}

/* Runs `op` on rank `r` at the time at which the rank decides. */
static void execute(pp_dispatch *d, uint32_t r, uint32_t op)
{
    const pp_order_problem *x = d->problem;
    rank_state *rank = &d->rank[r];
    uint32_t s = x->task[op].stage;
    uint32_t cell = cell_of(x, s, x->task[op].microbatch);
    pp_task_kind kind = x->task[op].kind;
    d->ops[d->begin[r] + rank->done++] = op;
    rank->now = d->next[r] + x->task[op].ticks;
    rank->rest -= x->task[op].ticks;
    set_next(d, r, rank->now);
    if (kind == PP_TASK_F) {
        const uint32_t place = d->spot[x->task[op].microbatch];
        d->stage_next[s]++;
        d->arrive[cell] = STARTED;
        rank->started = place + 1 > rank->started ? place + 1 : rank->started;
        rank->entered += s == rank->lowest;
        admit(d, r, cell);
    } else if (kind == PP_TASK_B) {
        give_back(d, r, cell, -x->memory[op + x->stages].delta);
        rank->left += s == rank->lowest;
        rank->weight[rank->weights++] = x->task[op].weight;
    } else {
        dismiss(d, r, cell);
    }
    pass_on(d, op, rank->now);
}

static void run_back(pp_dispatch *d, uint32_t r, uint32_t at)
{
    rank_state *rank = &d->rank[r];
    uint32_t op = rank->back[at].op;
    rank->back[at] = rank->back[--rank->backs];
    execute(d, r, op);
}

static void run_weight(pp_dispatch *d, uint32_t r, uint32_t at)
{
    rank_state *rank = &d->rank[r];
    uint32_t op = rank->weight[at];
    memmove(rank->weight + at, rank->weight + at + 1, (--rank->weights - at) * sizeof op);
    execute(d, r, op);
}

static void run_forward(pp_dispatch *d, uint32_t r, uint32_t s)
{
    const pp_order_problem *x = d->problem;
    execute(d, r, pp_order_problem_op(x, PP_TASK_F, s, d->line[s][d->stage_next[s]]));
}

static bool decide_forward(pp_dispatch *d, uint32_t r, const outlook *o)
{
    const pp_order_problem *x = d->problem;
    const int16_t *knob = d->policy->knob + r * PP_KNOBS;
    rank_state *rank = &d->rank[r];
    uint32_t s = o->f_stage;
    int64_t ticks =
        x->task[pp_order_problem_op(x, PP_TASK_F, s, d->line[s][d->stage_next[s]])].ticks;
    if (o->urgent_f) {
        run_forward(d, r, s);
        return true;
    }
    if (ticks > o->left)
        return false;
    if (o->b && !is_hungry(d, s, d->next[r], ticks, knob[PP_KNOB_FEED]))
        return false;
    if (rank->weights && rank->held >= x->room[r] / 16 * knob[PP_KNOB_FILL] &&
        x->task[rank->weight[0]].ticks <= o->left && fits_now(d, r, rank->weight[0])) {
        run_weight(d, r, 0);
        return true;
    }
    if (!o->b && o->next_b != NEVER && o->next_b - d->next[r] < ticks / 16 * knob[PP_KNOB_HOLD])
        return false;
    run_forward(d, r, s);
    return true;
}

/* Makes rank `r` run an op, or wait for the next known arrival. */
static void decide(pp_dispatch *d, uint32_t r)
{
    const int16_t *knob = d->policy->knob + r * PP_KNOBS;
    outlook o;
    look(d, r, &o);
    if (!o.urgent_b && o.f && decide_forward(d, r, &o))
        return;
    if (o.b && (o.urgent_b || d->problem->task[d->rank[r].back[o.back].op].ticks <= o.left)) {
        run_back(d, r, o.back);
        return;
    }
    bool press = o.blocked && !o.f;
    int64_t next = press ? o.next_b : pp_min(o.next_b, o.next_f);
    int64_t gap = next == NEVER ? NEVER : next - d->next[r];
    uint32_t w = pick_weight(d, r, gap, knob[press ? PP_KNOB_PRESS : PP_KNOB_OVERRUN]);
    if (w < d->problem->ops && d->problem->task[d->rank[r].weight[w]].ticks <= o.left)
        run_weight(d, r, w);
    else
        set_next(d, r, pp_min(o.next_b, o.next_f));
}

int64_t pp_dispatch_run(pp_dispatch *d, const pp_policy *policy, int64_t limit)
{
    const pp_order_problem *x = d->problem;
    reset(d, policy);
    for (;;) {
        const uint32_t r = next_rank(d);
        if (d->next[r] == NEVER)
            break;
        if (d->rank[r].rest > limit - d->next[r])
            return NEVER;
        decide(d, r);
        if (d->rank[r].rest == 0 && d->rank[r].done == d->begin[r + 1] - d->begin[r])
            set_next(d, r, NEVER);
    }
    int64_t makespan = 0;
    for (uint32_t r = 0; r < x->ranks; r++) {
        if (d->rank[r].done < d->begin[r + 1] - d->begin[r])
            return NEVER;
        makespan = pp_max(makespan, d->rank[r].now);
    }
    return makespan;
}
