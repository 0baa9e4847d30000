/* Branch and bound over sequences of starts.
 *
 * Ops are fixed one after the other by start: an op starts when its rank is free and its input has
 * arrived, but never before the op that was fixed last. The ops of any schedule without needless
 * waits (a semi-active schedule), sorted by start, are such a sequence, so none is missed. A state
 * is given up when
 *  - some rank cannot finish in time: the preemptive schedule of Jackson (1955) of what is left on
 *    it, with heads and tails along the chains of the ops, as in Carlier's bound (1982);
 *  - the same ops were fixed before with no time later (dominance): whatever follows here could
 *    follow there, no later.
 *
 * The time is exponential in the number of ops, so the caller gives a budget of states. A state
 * costs O(ops^2). Up to 2^20 states are remembered for the dominance test. */
#include "planner/order/exact.h"

#include "sim/base/alloc.h"
#include "sim/base/random.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPS = PP_EXACT_OPS_MAX,
    FACTS = 1 + 2 * OPS,
    BUCKET_BITS = 16,
    KEPT_MOST = 1 << 20, /* states that are remembered: 150 MiB with 8 ranks, 500 MiB with 21 */
    LOOKS = 256          /* states between two looks at the clock */
};

typedef struct state {
    uint64_t done;                   /* a bit per op */
    int64_t last;                    /* the latest start */
    int64_t free_at[OPS], held[OPS]; /* per rank */
    int64_t end[OPS];                /* per op that is done */
} state;

/* A state that was examined. */
typedef struct kept {
    uint64_t done;
    uint32_t next;  /* the next state of the same bucket; 0: none */
    uint32_t facts; /* into pp_facts */
} kept;

typedef struct exact {
    const pp_order_problem *x;
    const pp_exact_budget *budget;
    int64_t tail[OPS]; /* least time from an op's end to the end of the step */
    int64_t best;
    uint32_t *best_ops;
    uint32_t path[OPS]; /* ops in the order in which they were fixed */
    int64_t states;
    bool ended;   /* the budget ended the search */
    bool starved; /* there is no memory for more states; they are examined but not remembered */
    uint32_t bucket[1 << BUCKET_BITS];
    kept *kept; /* [kept_count + 1]; number 0 is not used */
    size_t kept_count, kept_capacity;
    int64_t *facts;
    size_t fact_count, fact_capacity;
} exact;

static void exact_free(exact **e)
{
    if (!*e)
        return;
    free((*e)->kept);
    free((*e)->facts);
    free(*e);
    *e = NULL;
}

static bool is_done(const state *s, uint32_t op)
{
    return s->done >> op & 1;
}

static bool is_needed(const pp_order_problem *x, const state *s, uint32_t op)
{
    const pp_task *t = &x->task[op];
    return (t->after < x->ops && !is_done(s, t->after)) ||
           (t->weight < x->ops && !is_done(s, t->weight));
}

/* Lists the times that decide what may follow. Which ones these are depends on `done` alone, so
 * lists of states with the same ops can be compared. */
static size_t list_facts(const pp_order_problem *x, const state *s, int64_t facts[FACTS])
{
    size_t count = 0;
    facts[count++] = s->last;
    for (uint32_t r = 0; r < x->ranks; r++)
        facts[count++] = s->free_at[r];
    for (uint32_t op = 0; op < x->ops; op++) {
        if (is_done(s, op) && is_needed(x, s, op))
            facts[count++] = s->end[op];
    }
    return count;
}

static void keep(exact *e, uint64_t done, uint32_t *bucket, const int64_t *facts, size_t count)
{
    void *list = e->kept;
    pp_err ignored = { 0 };
    if (e->starved || e->kept_count >= KEPT_MOST)
        return;
    if (pp_grow(&list, &e->kept_capacity, e->kept_count + 2, sizeof *e->kept, &ignored)) {
        e->starved = true;
        return;
    }
    e->kept = list;
    list = e->facts;
    if (pp_grow(&list, &e->fact_capacity, e->fact_count + count, sizeof *facts, &ignored)) {
        e->starved = true;
        return;
    }
    e->facts = list;
    e->kept[++e->kept_count] = (kept){ done, *bucket, (uint32_t)e->fact_count };
    *bucket = (uint32_t)e->kept_count;
    memcpy(e->facts + e->fact_count, facts, count * sizeof *facts);
    e->fact_count += count;
}

/* Returns whether a state with the same ops and no time later was examined. If not, remembers this
 * one. */
static bool was_seen(exact *e, const state *s)
{
    int64_t facts[FACTS];
    const size_t count = list_facts(e->x, s, facts);
    uint32_t *bucket = &e->bucket[pp_random_mix(s->done) >> (64 - BUCKET_BITS)];
    for (uint32_t i = *bucket; i; i = e->kept[i].next) {
        const int64_t *before = e->facts + e->kept[i].facts;
        size_t k = 0;
        while (e->kept[i].done == s->done && k < count && before[k] <= facts[k])
            k++;
        if (k == count)
            return true;
    }
    keep(e, s->done, bucket, facts, count);
    return false;
}

/* The earliest start of an op in this state; its input must be done. */
static int64_t start_of(const pp_order_problem *x, const state *s, uint32_t op)
{
    const pp_task *t = &x->task[op];
    int64_t start = s->free_at[t->rank] > s->last ? s->free_at[t->rank] : s->last;
    if (t->before < x->ops && s->end[t->before] + t->lag > start)
        start = s->end[t->before] + t->lag;
    return start;
}

/* Earliest starts of all ops that are left, as if every rank could run any number of them at once.
 * One pass suffices, since the input of an op has a smaller number. */
static void find_heads(const exact *e, const state *s, int64_t head[OPS])
{
    const pp_order_problem *x = e->x;
    state now = *s;
    for (uint32_t op = 0; op < x->ops; op++) {
        if (is_done(s, op))
            continue;
        head[op] = start_of(x, &now, op);
        now.end[op] = head[op] + x->task[op].ticks;
    }
}

/* The end of Jackson's preemptive schedule of a rank: of the ops that have arrived, the one with
 * the longest tail runs. */
static int64_t bound_rank(const exact *e, const state *s, uint32_t rank, const int64_t *head)
{
    const pp_order_problem *x = e->x;
    int64_t left[OPS], now = 0, bound = 0;
    uint32_t op[OPS], count = 0;
    for (uint32_t i = 0; i < x->ops; i++) {
        if (x->task[i].rank == rank && !is_done(s, i)) {
            left[count] = x->task[i].ticks;
            op[count++] = i;
        }
    }
    while (count > 0) {
        uint32_t chosen = count;
        int64_t until = INT64_MAX; /* when the next op arrives */
        for (uint32_t k = 0; k < count; k++) {
            if (head[op[k]] > now)
                until = head[op[k]] < until ? head[op[k]] : until;
            else if (chosen == count || e->tail[op[k]] > e->tail[op[chosen]])
                chosen = k;
        }
        if (chosen == count) {
            now = until;
            continue;
        }
        int64_t part = until - now < left[chosen] ? until - now : left[chosen];
        now += part;
        left[chosen] -= part;
        if (left[chosen] > 0)
            continue;
        bound = now + e->tail[op[chosen]] > bound ? now + e->tail[op[chosen]] : bound;
        left[chosen] = left[--count];
        op[chosen] = op[count];
    }
    return bound;
}

static bool is_hopeless(const exact *e, const state *s)
{
    int64_t head[OPS];
    find_heads(e, s, head);
    for (uint32_t r = 0; r < e->x->ranks; r++) {
        if (bound_rank(e, s, r, head) >= e->best)
            return true;
    }
    return false;
}

/* All ops are fixed: keeps them, rank after rank, in the order of their starts. */
static void take(exact *e, const state *s)
{
    const pp_order_problem *x = e->x;
    int64_t makespan = 0;
    size_t count = 0;
    for (uint32_t r = 0; r < x->ranks; r++)
        makespan = s->free_at[r] > makespan ? s->free_at[r] : makespan;
    if (makespan >= e->best)
        return;
    e->best = makespan;
    for (uint32_t r = 0; r < x->ranks; r++) {
        for (uint32_t k = 0; k < x->ops; k++) {
            if (x->task[e->path[k]].rank == r)
                e->best_ops[count++] = e->path[k];
        }
    }
}

typedef struct choice {
    int64_t start;
    uint32_t op;
} choice;

/* Lists the ops that fit and have their input, the earliest start first. */
static uint32_t list_choices(const pp_order_problem *x, const state *s, choice list[OPS])
{
    uint32_t count = 0;
    for (uint32_t op = 0; op < x->ops; op++) {
        const pp_task *t = &x->task[op];
        if (is_done(s, op) || (t->before < x->ops && !is_done(s, t->before)) ||
            s->held[t->rank] + x->memory[op].need > x->room[t->rank])
            continue;
        const choice now = { start_of(x, s, op), op };
        uint32_t k = count++;
        for (; k > 0 && list[k - 1].start > now.start; k--)
            list[k] = list[k - 1];
        list[k] = now;
    }
    return count;
}

static bool may_go_on(exact *e)
{
    const pp_exact_budget *b = e->budget;
    if (e->ended)
        return false;
    e->ended = e->states >= b->states || (b->stop && e->states % LOOKS == 0 && b->stop(b->context));
    e->states++;
    return !e->ended;
}

static void branch(exact *e, const state *s, uint32_t depth)
{
    const pp_order_problem *x = e->x;
    choice list[OPS];
    if (depth == x->ops) {
        take(e, s);
        return;
    }
    if (!may_go_on(e) || is_hopeless(e, s) || was_seen(e, s))
        return;
    const uint32_t count = list_choices(x, s, list);
    for (uint32_t k = 0; k < count; k++) {
        const pp_task *t = &x->task[list[k].op];
        state then = *s;
        then.done |= (uint64_t)1 << list[k].op;
        then.last = list[k].start;
        then.end[list[k].op] = then.free_at[t->rank] = list[k].start + t->ticks;
        then.held[t->rank] += x->memory[list[k].op].delta;
        e->path[depth] = list[k].op;
        branch(e, &then, depth + 1);
    }
}

static void find_tails(exact *e)
{
    const pp_order_problem *x = e->x;
    for (uint32_t op = x->ops; op-- > 0;) {
        const uint32_t next[] = { x->task[op].after, x->task[op].weight };
        for (int k = 0; k < 2; k++) {
            if (next[k] >= x->ops)
                continue;
            const pp_task *t = &x->task[next[k]];
            const int64_t tail = t->lag + t->ticks + e->tail[next[k]];
            e->tail[op] = tail > e->tail[op] ? tail : e->tail[op];
        }
    }
}

pp_status pp_exact_solve(const pp_order_problem *problem, const pp_exact_budget *budget,
                         int64_t *makespan, uint32_t *ops, bool *decided_out, pp_err *err)
{
    const state begin = { .done = 0 };
    exact *e PP_CLEANUP(exact_free) = pp_alloc_array(1, sizeof *e);
    assert(problem->ops <= PP_EXACT_OPS_MAX);
    if (!e)
        return pp_err_nomem(err);
    e->x = problem;
    e->budget = budget;
    e->best = *makespan;
    e->best_ops = ops;
    find_tails(e);
    branch(e, &begin, 0);
    *makespan = e->best;
    *decided_out = !e->ended;
    return PP_OK;
}
