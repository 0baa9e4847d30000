/* No lower bound is above the optimum of small drawn problems, which a branch and bound of its own
 * finds here. Problems in which microbatches are alike have the same bounds if these are counted.
 * Then what a bound says where the optimum can be derived by hand. */
#include "planner/order/problem_bound.h"
#include "planner/order/search.h"
#include "sim/base/alloc.h"
#include "sim/base/minmax.h"
#include "tests/support/sample.h"
#include "tests/support/step.h"

#include <check.h>
#include <string.h>

enum { OPS_MOST = 48, RANKS_MOST = 4, RANK_OPS_MOST = 24, TRIED_BITS = 18 };

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

static int64_t draw_from(uint64_t *state, int64_t least, int64_t most)
{
    return least + (int64_t)draw(state, (uint64_t)(most - least + 1));
}

/* One order per rank, as far as it has been decided. Ops start as early as their rank, the op that
 * they need and its transfer allow. */
typedef struct partial {
    uint64_t done;
    int64_t end[OPS_MOST + 1]; /* of the ops that are done; of "no op" 0 */
    int64_t free_at[RANKS_MOST], held[RANKS_MOST];
    int64_t now;   /* the latest start so far: no later decision is about an earlier one */
    uint32_t last; /* the op that was decided upon last; ops: it was not a decision */
} partial;

/* What is remembered of a beginning that was tried. */
typedef struct beginning {
    uint64_t done, sum; /* the ops, and all else on which what follows depends */
    uint64_t problem;
} beginning;

/* Shared by problems, which are counted, so that it need not be cleared. */
typedef struct tries {
    beginning tried[1 << TRIED_BITS];
    uint64_t problem;
} tries;

typedef struct oracle {
    const pp_order_problem *x;
    tries *known;
    bool limited;               /* orders must fit into memory */
    int64_t best;               /* only shorter orders are looked for */
    int64_t tail[OPS_MOST + 1]; /* least time from the op's end to that of the step */
    uint32_t twin[OPS_MOST]; /* [microbatches]: the last one before that is the same; or itself */
} oracle;

typedef struct job {
    int64_t head, ticks, tail;
} job;

/* One rank whose ops may be interrupted: always the one with the longest tail. jobs: by head. */
static int64_t run_interrupted(job *jobs, uint32_t count)
{
    int64_t now = 0, end = 0;
    for (uint32_t arrived = 0, left = count; left;) {
        uint32_t first = count;
        while (arrived < count && jobs[arrived].head <= now)
            arrived++;
        for (uint32_t k = 0; k < arrived; k++) {
            if (jobs[k].ticks >= 0 && (first == count || jobs[k].tail > jobs[first].tail))
                first = k;
        }
        if (first == count) {
            now = jobs[arrived].head;
            continue;
        }
        const int64_t until = arrived < count ? jobs[arrived].head - now : INT64_MAX;
        const int64_t run = pp_min(jobs[first].ticks, until);
        now += run;
        jobs[first].ticks -= run;
        if (jobs[first].ticks > 0)
            continue;
        jobs[first].ticks = -1; /* it is over */
        end = pp_max(end, now + jobs[first].tail);
        left--;
    }
    return end;
}

/* What an order that begins like this takes at least: along the chains, and on each rank. */
static int64_t least_makespan(const oracle *o, const partial *p)
{
    const pp_order_problem *x = o->x;
    job jobs[RANKS_MOST][RANK_OPS_MOST];
    uint32_t count[RANKS_MOST] = { 0 };
    int64_t end[OPS_MOST + 1];
    int64_t most = 0;
    end[x->ops] = 0;
    for (uint32_t op = 0; op < x->ops; op++) {
        const pp_task *task = &x->task[op];
        end[op] = p->end[op];
        if (p->done >> op & 1) {
            most = pp_max(most, end[op] + o->tail[op]);
            continue;
        }
        const int64_t own = pp_max(p->now, end[task->before] + task->lag);
        const job one = { pp_max(own, p->free_at[task->rank]), task->ticks, o->tail[op] };
        end[op] = one.head + one.ticks;
        most = pp_max(most, end[op] + one.tail);
        uint32_t k = count[task->rank]++;
        for (; k && jobs[task->rank][k - 1].head > one.head; k--)
            jobs[task->rank][k] = jobs[task->rank][k - 1];
        jobs[task->rank][k] = one;
    }
    for (uint32_t r = 0; r < x->ranks && most < o->best; r++)
        most = pp_max(most, run_interrupted(jobs[r], count[r]));
    return most;
}

static bool can_run(const oracle *o, const partial *p, uint32_t op)
{
    const pp_task *task = &o->x->task[op];
    if (p->done >> op & 1 || (task->before < o->x->ops && !(p->done >> task->before & 1)))
        return false;
    /* of two that are the same the first begins first */
    const uint32_t twin = o->twin[task->microbatch];
    if (task->before == o->x->ops && twin != task->microbatch &&
        !(p->done >> pp_order_problem_op(o->x, PP_TASK_F, 0, twin) & 1))
        return false;
    return !o->limited || p->held[task->rank] + o->x->memory[op].need <= o->x->room[task->rank];
}

static int64_t start_of(const oracle *o, const partial *p, uint32_t op)
{
    const pp_task *task = &o->x->task[op];
    return pp_max(p->free_at[task->rank], p->end[task->before] + task->lag);
}

/* Can other ops of the rank wait until this one is over, as far as memory is concerned? */
static bool only_gives(const oracle *o, uint32_t op)
{
    return !o->limited || o->x->memory[op].delta <= 0;
}

static void append(const oracle *o, partial *p, uint32_t op)
{
    const pp_task *task = &o->x->task[op];
    p->end[op] = p->free_at[task->rank] = start_of(o, p, op) + task->ticks;
    p->held[task->rank] += o->x->memory[op].delta;
    p->done |= 1ull << op;
}

static uint64_t mix(uint64_t sum, uint64_t value)
{
    sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

/* Has a beginning been tried from which all goes on in the same way? That two differ
 * although their ops and their sums are the same has a probability of 2^-64. Remembers this one,
 * for which another may be forgotten. */
static bool was_here(const oracle *o, const partial *p)
{
    const pp_order_problem *x = o->x;
    uint64_t sum = mix(mix(1, (uint64_t)p->now), p->last);
    for (uint32_t r = 0; r < x->ranks; r++)
        sum = mix(sum, (uint64_t)p->free_at[r]);
    for (uint32_t op = 0; op < x->ops; op++) {
        const uint32_t before = x->task[op].before;
        if (!(p->done >> op & 1) && before < x->ops && p->done >> before & 1)
            sum = mix(sum, (uint64_t)p->end[before]);
    }
    beginning *one = &o->known->tried[mix(sum, p->done) >> (64 - TRIED_BITS)];
    const beginning now = { p->done, sum, o->known->problem };
    const bool same = one->problem == now.problem && one->done == now.done && one->sum == now.sum;
    *one = now;
    return same;
}

/* Finds the best of the orders that begin like this, if it is shorter than o->best. Starts are
 * decided upon from early to late. An op that takes no time, delays none and takes no memory runs
 * as soon as it can. No op waits for another to pass that could as well run before it. Of two that
 * start at the same time on different ranks, and do not need each other, the one of the first rank
 * is decided upon first. */
static void branch(oracle *o, const partial *from)
{
    const pp_order_problem *x = o->x;
    partial p = *from;
    uint32_t can[OPS_MOST];
    int64_t start[OPS_MOST];
    uint32_t count = 0;
    for (uint32_t op = 0; op < x->ops; op++) {
        if (x->task[op].ticks == 0 && only_gives(o, op) && can_run(o, &p, op) &&
            start_of(o, &p, op) == p.free_at[x->task[op].rank]) {
            append(o, &p, op);
            p.last = x->ops;
            op = UINT32_MAX; /* from the beginning: others may run now */
        }
    }
    const int64_t least = least_makespan(o, &p);
    if (least >= o->best || was_here(o, &p))
        return;
    if (p.done == (1ull << x->ops) - 1) {
        o->best = least;
        return;
    }
    for (uint32_t op = 0; op < x->ops; op++) {
        if (!can_run(o, &p, op))
            continue;
        uint32_t k = count++;
        const int64_t now = start_of(o, &p, op);
        for (; k && start[k - 1] > now; k--) {
            start[k] = start[k - 1];
            can[k] = can[k - 1];
        }
        start[k] = now;
        can[k] = op;
    }
    for (uint32_t k = 0; k < count; k++) {
        const pp_task *task = &x->task[can[k]];
        bool passed =
            start[k] < p.now || (start[k] == p.now && p.last < x->ops && task->before != p.last &&
                                 task->rank < x->task[p.last].rank);
        for (uint32_t j = 0; j < k && !passed; j++)
            passed = x->task[can[j]].rank == task->rank && only_gives(o, can[j]) &&
                     start[j] < start[k] && start[j] + x->task[can[j]].ticks <= start[k];
        if (passed)
            continue;
        partial next = p;
        append(o, &next, can[k]);
        next.now = start[k];
        next.last = can[k];
        branch(o, &next);
    }
}

static bool are_same(const pp_order_problem *x, uint32_t i, uint32_t j)
{
    for (uint32_t at = 0; at < 3 * x->stages; at++) {
        const uint32_t a = i * 3 * x->stages + at, b = j * 3 * x->stages + at;
        if (x->task[a].ticks != x->task[b].ticks || x->task[a].lag != x->task[b].lag ||
            x->memory[a].need != x->memory[b].need || x->memory[a].delta != x->memory[b].delta)
            return false;
    }
    return true;
}

/* The makespan of the best order, if it is less than `below`; else `below`. */
static int64_t optimum(const pp_order_problem *x, tries *known, int64_t below)
{
    oracle o = { .x = x, .known = known, .limited = !x->rooms_are_low, .best = below };
    partial none = { .last = x->ops };
    ck_assert_uint_le(x->ops, OPS_MOST);
    known->problem++;
    for (uint32_t op = x->ops; op-- > 0;) {
        const pp_task *task = &x->task[op], *after = &x->task[task->after];
        o.tail[op] = pp_max(after->lag + after->ticks + o.tail[task->after],
                            x->task[task->weight].lag + x->task[task->weight].ticks);
    }
    for (uint32_t i = 0; i < x->microbatches; i++) {
        o.twin[i] = i;
        for (uint32_t j = 0; j < i; j++)
            o.twin[i] = are_same(x, i, j) ? j : o.twin[i];
    }
    branch(&o, &none);
    return o.best;
}

typedef enum lengths { EQUAL, LONG, LONGS, RATES, ANY, ZEROS } lengths;
typedef enum lags { NONE, FEW, HIDING, WILD } lags;
typedef enum memory { WIDE, TIGHT, LOW } memory;

/* What is drawn. */
typedef struct kind {
    const char *name;
    uint32_t ranks, each, microbatches; /* each: stages of a rank, placed to and fro */
    lengths lengths;
    lags lags;
    bool weights; /* W takes time */
    memory memory;
    uint32_t problems;
} kind;

static const kind kinds[] = {
    { "one long, 3 of 3", 3, 1, 3, LONG, NONE, false, WIDE, 800 },
    { "one long, 4 of 3", 3, 1, 4, LONG, NONE, false, WIDE, 400 },
    { "one long, 3 of 4", 4, 1, 3, LONG, NONE, false, WIDE, 800 },
    { "one long, 4 of 4", 4, 1, 4, LONG, NONE, false, WIDE, 200 },
    { "one long, hiding, 3 of 3", 3, 1, 3, LONG, HIDING, false, WIDE, 800 },
    { "one long, hiding, 4 of 3", 3, 1, 4, LONG, HIDING, false, WIDE, 400 },
    { "one long, hiding, 3 of 4", 4, 1, 3, LONG, HIDING, false, WIDE, 800 },
    { "one long, hiding, 4 of 4", 4, 1, 4, LONG, HIDING, false, WIDE, 200 },
    { "one long, W, 3 of 3", 3, 1, 3, LONG, HIDING, true, WIDE, 800 },
    { "one long, W, 4 of 3", 3, 1, 4, LONG, NONE, true, WIDE, 100 },
    { "one long, tight, 3 of 3", 3, 1, 3, LONG, HIDING, false, TIGHT, 800 },
    { "one long, to and fro", 2, 2, 3, LONG, HIDING, false, WIDE, 800 },
    { "one long, to and fro, W", 2, 2, 3, LONG, FEW, true, WIDE, 800 },
    { "two long, 4 of 3", 3, 1, 4, LONGS, HIDING, false, WIDE, 800 },
    { "rates, 3 of 3", 3, 1, 3, RATES, HIDING, false, WIDE, 800 },
    { "rates, 4 of 3, W", 3, 1, 4, RATES, FEW, true, WIDE, 100 },
    { "any, 4 of 2", 2, 1, 4, ANY, WILD, true, WIDE, 800 },
    { "any, 3 of 3", 3, 1, 3, ANY, WILD, false, WIDE, 800 },
    { "any, 3 of 3, W", 3, 1, 3, ANY, FEW, true, WIDE, 800 },
    { "any, 3 of 3, tight", 3, 1, 3, ANY, WILD, true, TIGHT, 800 },
    { "any, 2 of 4, low", 4, 1, 2, ANY, WILD, true, LOW, 800 },
    { "any, to and fro, tight", 2, 2, 2, ANY, WILD, true, TIGHT, 800 },
    { "zeros, 3 of 3", 3, 1, 3, ZEROS, WILD, true, WIDE, 800 },
    { "zeros, 4 of 3", 3, 1, 4, ZEROS, HIDING, false, WIDE, 800 },
    { "zeros, 3 of 2, tight", 2, 1, 3, ZEROS, WILD, true, TIGHT, 800 },
    { "zeros, to and fro", 2, 2, 3, ZEROS, WILD, false, WIDE, 800 },
    { "equal, 4 of 3", 3, 1, 4, EQUAL, FEW, true, WIDE, 800 },
    { "equal, 4 of 2, tight", 2, 1, 4, EQUAL, FEW, true, TIGHT, 800 },
    { "equal, to and fro, tight", 2, 2, 3, EQUAL, FEW, true, TIGHT, 800 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static pp_order_problem *new_problem(uint32_t ranks, uint32_t each, uint32_t microbatches)
{
    uint32_t stage_rank[2 * RANKS_MOST];
    pp_order_problem *x = NULL;
    pp_err err = { 0 };
    for (uint32_t s = 0; s < ranks * each; s++)
        stage_rank[s] = s < ranks ? s : 2 * ranks - 1 - s;
    STEP_OK(pp_order_problem_new("drawn", ranks, ranks * each, microbatches, stage_rank, &x, &err),
            err);
    for (uint32_t r = 0; r < ranks; r++)
        x->room[r] = PP_ORDER_PROBLEM_BYTES_MAX;
    return x;
}

static bool is_remote(const pp_order_problem *x, const pp_task *task)
{
    return task->before < x->ops && x->task[task->before].rank != task->rank;
}

/* Lengths of the microbatches, to which the durations of LONG, LONGS and RATES are proportional. */
static void draw_lengths(const kind *k, uint64_t *rng, int64_t *length)
{
    const uint32_t longest = (uint32_t)draw(rng, k->microbatches);
    const int64_t same = draw(rng, 2) ? draw_from(rng, 1, 3) : 0; /* all short ones are alike */
    for (uint32_t j = 0; j < k->microbatches; j++) {
        length[j] = same ? same : draw_from(rng, 1, 4);
        if (k->lengths == RATES)
            length[j] = draw_from(rng, 1, 9);
        if (k->lengths == EQUAL)
            length[j] = 1;
        if ((k->lengths == LONG && j == longest) || (k->lengths == LONGS && j % 2))
            length[j] = draw_from(rng, 6, 12);
    }
}

static void draw_times(const kind *k, uint64_t *rng, pp_order_problem *x)
{
    int64_t length[8], rate[3 * 2 * RANKS_MOST], late[2 * 2 * RANKS_MOST];
    const bool flat = draw(rng, 2);            /* all stages are alike */
    const uint64_t none = draw(rng, 1u << 24); /* ZEROS: which ops of a microbatch take no time */
    draw_lengths(k, rng, length);
    for (uint32_t at = 0; at < 3 * x->stages; at++) {
        rate[at] = k->lengths == EQUAL ? draw_from(rng, 1, 6) : flat ? 1 : draw_from(rng, 1, 2);
        if (at < 2 * x->stages)
            late[at] = draw_from(rng, 0, 3);
    }
    for (uint32_t op = 0; op < x->ops; op++) {
        const uint32_t at = op % (3 * x->stages);
        pp_task *task = &x->task[op];
        const int64_t own = length[task->microbatch];
        task->ticks = own * rate[at];
        if (k->lengths == ANY)
            task->ticks = draw_from(rng, 1, draw(rng, 4) ? 6 : 15);
        if (k->lengths == ZEROS)
            task->ticks = none >> at & 1 ? 0 : draw_from(rng, 0, 6);
        if (task->kind == PP_TASK_W && !k->weights)
            task->ticks = 0;
        if (k->lags == NONE || !is_remote(x, task))
            continue;
        task->lag = late[at];
        if (k->lags == HIDING) /* the longer the microbatch, the longer its transfers, or not */
            task->lag = draw(rng, 3) ? draw_from(rng, 0, own) : draw_from(rng, 0, 2);
        if (k->lags == WILD)
            task->lag = draw(rng, 3) ? draw_from(rng, 0, 3) : draw_from(rng, 0, 25);
    }
}

/* As in test_search.c, and Fs and Ws with transients: some B leave more memory than they found. */
static void draw_memory(const kind *k, uint64_t *rng, pp_order_problem *x)
{
    int64_t largest = 0;
    for (uint32_t i = 0; i < x->microbatches; i++) {
        for (uint32_t s = 0; s < x->stages; s++) {
            const uint32_t f = pp_order_problem_op(x, PP_TASK_F, s, i);
            const uint32_t b = pp_order_problem_op(x, PP_TASK_B, s, i);
            const uint32_t w = pp_order_problem_op(x, PP_TASK_W, s, i);
            const int64_t taken = draw_from(rng, 1, 8), kept = draw_from(rng, 0, taken + 2);
            const int64_t extra = draw_from(rng, 0, 2);
            x->memory[f] = (pp_task_memory){ taken + draw_from(rng, 0, 1), taken };
            x->memory[b] = (pp_task_memory){ extra, kept - taken };
            x->memory[w] = (pp_task_memory){ draw_from(rng, 0, 1), -kept };
            largest = pp_max(largest, pp_max(taken + extra + 1, kept + 1));
        }
    }
    if (k->lengths == EQUAL)
        for (uint32_t op = 3 * x->stages; op < x->ops; op++)
            x->memory[op] = x->memory[op % (3 * x->stages)];
    for (uint32_t r = 0; r < x->ranks; r++)
        x->room[r] = largest * k->each + draw_from(rng, 0, 8);
    x->rooms_are_low = k->memory == LOW;
}

static pp_order_problem *draw_problem(const kind *k, uint64_t seed)
{
    uint64_t rng = seed * 977 + 5;
    draw(&rng, 2);
    pp_order_problem *x = new_problem(k->ranks, k->each, k->microbatches);
    draw_times(k, &rng, x);
    if (k->memory != WIDE)
        draw_memory(k, &rng, x);
    return x;
}

/* Every part is at most the optimum if no order is shorter than the largest of them. */
START_TEST(no_part_is_above_the_optimum)
{
    const kind *k = &kinds[_i];
    const uint32_t stride = sample_stride(1, 8);
    tries *known PP_CLEANUP(pp_free_array) = pp_alloc_array(1, sizeof *known);
    ck_assert_ptr_nonnull(known);
    for (uint32_t seed = 0; seed < k->problems; seed += stride) {
        pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = draw_problem(k, seed);
        pp_order_bounds bounds;
        pp_err err = { 0 };
        STEP_OK(pp_order_bounds_find(x, &bounds, &err), err);
        const int64_t best = optimum(x, known, bounds.ticks);
        for (int part = 0; part < PP_ORDER_BOUND_COUNT; part++)
            ck_assert_msg(bounds.part[part] <= best,
                          "%s, seed %u: %s says %lld, an order takes %lld", k->name, seed,
                          pp_order_bound_key((pp_order_bound_part)part),
                          (long long)bounds.part[part], (long long)best);
    }
}
END_TEST

/* The optimum of this file is what the search finds, where it proves that there is no better one.
 */
START_TEST(the_optimum_is_that_of_the_search)
{
    const kind *k = &kinds[_i];
    const pp_order_search_options budget = { .iterations = 300, .seed = 1 };
    tries *known PP_CLEANUP(pp_free_array) = pp_alloc_array(1, sizeof *known);
    ck_assert_ptr_nonnull(known);
    for (uint32_t seed = 0; seed < 5; seed++) {
        pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = draw_problem(k, seed);
        pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
        pp_err err = { 0 };
        if (x->rooms_are_low)
            continue; /* the search keeps to them */
        const pp_status status = pp_order_search(x, 0, &budget, &found, &err);
        const int64_t best = optimum(x, known, INT64_MAX);
        ck_assert_int_eq(status, best == INT64_MAX ? PP_INFEASIBLE : PP_OK);
        ck_assert_msg(!found || found->makespan == best ||
                          (found->makespan > best && !found->proved),
                      "%s, seed %u: %lld, but the search says %lld", k->name, seed, (long long)best,
                      (long long)found->makespan);
    }
}
END_TEST

/* A problem with copies[j] microbatches like microbatch j of x, in a drawn order. */
static pp_order_problem *write_out(const pp_order_problem *x, const uint32_t *copies, uint64_t *rng)
{
    const uint32_t n = 3 * x->stages;
    uint32_t left[8], all = 0;
    for (uint32_t j = 0; j < x->microbatches; j++)
        all += left[j] = copies[j];
    pp_order_problem *y = new_problem(x->ranks, x->stages / x->ranks, all);
    for (uint32_t i = 0; i < all; i++) {
        uint32_t j = (uint32_t)draw(rng, x->microbatches);
        while (!left[j])
            j = (j + 1) % x->microbatches;
        left[j]--;
        for (uint32_t at = 0; at < n; at++) {
            y->task[i * n + at].ticks = x->task[j * n + at].ticks;
            y->task[i * n + at].lag = x->task[j * n + at].lag;
            y->memory[i * n + at] = x->memory[j * n + at];
        }
    }
    memcpy(y->room, x->room, x->ranks * sizeof *x->room);
    y->rooms_are_low = x->rooms_are_low;
    return y;
}

/* Microbatches that are alike may be counted: no part changes, but for CHAINED, which is for
 * problems of which all microbatches are counted as one. */
START_TEST(counted_microbatches_have_the_same_bounds)
{
    const uint32_t stride = sample_stride(1, 8);
    for (uint32_t seed = 0; seed < 1000; seed += stride) {
        uint64_t rng = seed * 31 + 7;
        kind k = kinds[_i];
        uint32_t copies[8];
        const uint32_t one_each[32] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
        pp_order_bounds counted, written, found, some;
        pp_err err = { 0 };
        draw(&rng, 2);
        k.microbatches = k.lengths == EQUAL ? 1 : 1 + (uint32_t)draw(&rng, k.microbatches);
        for (uint32_t j = 0; j < k.microbatches; j++)
            copies[j] = 1 + (uint32_t)draw(&rng, 6);
        pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = draw_problem(&k, seed);
        pp_order_problem *y PP_CLEANUP(pp_order_problem_free) = write_out(x, copies, &rng);
        STEP_OK(pp_order_bounds_find_counted(x, copies, INT64_MAX, &counted, &err), err);
        STEP_OK(pp_order_bounds_find_counted(y, one_each, INT64_MAX, &written, &err), err);
        STEP_OK(pp_order_bounds_find(y, &found, &err), err);
        const int64_t enough = draw_from(&rng, 0, counted.ticks + 1);
        STEP_OK(pp_order_bounds_find_counted(x, copies, enough, &some, &err), err);
        ck_assert_int_eq(some.ticks >= enough, counted.ticks >= enough);
        for (int part = 0; part < PP_ORDER_BOUND_COUNT; part++) {
            const int64_t now = counted.part[part];
            const bool same = part == PP_ORDER_BOUND_CHAINED
                                  ? now == (k.microbatches == 1 ? found.part[part] : 0)
                                  : now == written.part[part] && now == found.part[part];
            ck_assert_msg(same && (some.part[part] == now || !some.part[part]),
                          "%s, seed %u: %s is %lld counted, %lld and %lld written out, %lld or "
                          "left out up to %lld",
                          k.name, seed, pp_order_bound_key((pp_order_bound_part)part),
                          (long long)now, (long long)written.part[part],
                          (long long)found.part[part], (long long)some.part[part],
                          (long long)enough);
        }
    }
}
END_TEST

/* All ops of a microbatch take its length, or no time if it is a W of a rank below `weights_from`.
 * Only the long ones have transfers that take time. `next` is the largest of the other bounds. */
typedef struct example {
    uint32_t ranks, weights_from;
    int64_t slow;      /* rank 0 takes so many times longer for an op than the others */
    int64_t length[4]; /* 0: no more */
    int64_t lag;       /* of microbatches that are longer than 3 */
    int64_t best, ahead, next;
} example;

static const example examples[] = {
    /* The long one's chain takes 60. Each short one is ahead from the first rank on, or overtakes
     * between two, or is behind: it costs the long one 3, or rank 0 its work of 3 after that. */
    { 3, 3, 1, { 10, 3, 3 }, 0, 66, 66, 60 },
    { 3, 3, 1, { 10, 3, 2, 1 }, 0, 66, 66, 60 },
    { 4, 4, 1, { 3, 3, 12 }, 0, 102, 102, 96 },
    /* While the long one is under way for 3, a short one runs an op, but not the next one, too. So
     * nothing changes but the chain, which takes 72. */
    { 3, 3, 1, { 10, 3, 3 }, 3, 78, 78, 72 },
    /* While it is under way for 4, a short one can run an op and 1 of the next: overtaking costs 2
     * and not 3, and each of the four transfers lets one pass at this price. The chain takes 76. */
    { 3, 3, 1, { 10, 3, 3 }, 4, 80, 80, 76 },
    /* The same on two ranks: what 1 of each transfer is worth counts once, 2 for both, not 1 for
     * each short one. So they cost 9 - 2. */
    { 2, 2, 1, { 10, 3, 3, 3 }, 4, 57, 55, 48 },
    /* A short one takes 3 on rank 0 and 1 on rank 1. It costs least, 2, where it overtakes between
     * F and B of the long one on rank 1, since it runs both its ops there. The chain takes 80. */
    { 2, 2, 3, { 10, 1, 1 }, 0, 84, 84, 80 },
    /* Under way for 6, and short ones overtake for nothing. */
    { 3, 3, 1, { 10, 3, 3 }, 6, 84, 84, 84 },
    /* The last op of rank 0 may be the long one's W, after F, F, B and B: 3 + 40 + 10. */
    { 2, 0, 1, { 10, 3 }, 0, 53, 53, 50 },
    /* Two long ones: rank 1 begins with the F of the first, after 10 and the short one's 1. Then
     * there is work for 3 x 10 + 3 x 12, and none of the short one. */
    { 2, 1, 1, { 12, 10, 1 }, 0, 77, 77, 76 },
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

START_TEST(those_ahead_delay_a_long_one)
{
    const example *e = &examples[_i];
    tries *known PP_CLEANUP(pp_free_array) = pp_alloc_array(1, sizeof *known);
    uint32_t count = 0;
    pp_order_bounds bounds;
    pp_err err = { 0 };
    ck_assert_ptr_nonnull(known);
    while (count < 4 && e->length[count])
        count++;
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = new_problem(e->ranks, 1, count);
    for (uint32_t op = 0; op < x->ops; op++) {
        pp_task *task = &x->task[op];
        const int64_t length = e->length[task->microbatch];
        task->ticks = task->kind == PP_TASK_W && task->rank < e->weights_from ? 0 : length;
        task->ticks *= task->rank == 0 ? e->slow : 1;
        task->lag = is_remote(x, task) && length > 3 ? e->lag : 0;
    }
    STEP_OK(pp_order_bounds_find(x, &bounds, &err), err);
    ck_assert_int_eq(optimum(x, known, INT64_MAX), e->best);
    ck_assert_int_eq(bounds.part[PP_ORDER_BOUND_AHEAD], e->ahead);
    bounds.part[PP_ORDER_BOUND_AHEAD] = 0;
    int64_t next = 0;
    for (int part = 0; part < PP_ORDER_BOUND_COUNT; part++)
        next = pp_max(next, bounds.part[part]);
    ck_assert_int_eq(next, e->next);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("problem_bound");
    TCase *tc = tcase_create("problem_bound");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, no_part_is_above_the_optimum, 0, KINDS);
    tcase_add_loop_test(tc, the_optimum_is_that_of_the_search, 0, KINDS);
    tcase_add_loop_test(tc, counted_microbatches_have_the_same_bounds, 0, KINDS);
    tcase_add_loop_test(tc, those_ahead_delay_a_long_one, 0, EXAMPLES);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
