/* Simulated annealing over orders.
 *
 * A move changes a critical path, since no other move can shorten the step (Van Laarhoven, Aarts
 * and Lenstra, Job shop scheduling by simulated annealing, Operations Research 1992): an op leaves
 * the run of ops that delay each other on its rank (a block), or enters it at its front, or shifts
 * a few places. Only blocks of several ops can be broken, so half of the moves begin there if they
 * are less than 1 / BLOCKED_PART of the path. A move is accepted when the makespan grows by no more
 * than the temperature times an exponentially distributed number.
 *
 * Moves of single ops seldom take a microbatch to another place on all ranks, since the orders in
 * between take longer. So SIMILAR_PER_1024 of the moves exchange one of the path with one of about
 * the same work, wherever that is; this hardly changes times and memory. NEAR_PER_1024 exchange it
 * with one that starts at about the same time. Where the two are alike, a single op moves instead.
 *
 * A try costs one move or exchange of planner/order/movable_order.h, and exchanges of similar ones
 * are rarer beyond SIMILAR_OPS; an accepted one also costs the length of the critical path. */
#include "planner/order/local_search.h"

enum {
    FARTHEST = 64,
    HALVINGS = 8,
    NEAR_PER_1024 = 12,
    SIMILAR_PER_1024 = 60,
    SIMILAR_OPS = 25000,
    BLOCKED_PART = 4
};

/* Finds a critical path, at random if there are several. */
static void trace(pp_search_scratch *scratch, pp_rng *rng)
{
    const pp_movable_order *w = scratch->order;
    const pp_order_problem *x = w->problem;
    uint32_t op = x->ops;
    uint32_t from = pp_rng_below(rng, x->ranks);
    for (uint32_t k = 0; k < x->ranks && op == x->ops; k++) {
        uint32_t last = w->sequence[w->begin[(from + k) % x->ranks + 1] - 2];
        if (w->end[last] == w->makespan)
            op = last;
    }
    uint32_t n = 0;
    uint32_t blocked = 0;
    while (op != x->ops) {
        const pp_task *task = &x->task[op];
        uint32_t first = w->sequence[w->place[op] - 1];
        int64_t start = w->end[op] - task->ticks;
        bool rank = first != x->ops && w->end[first] == start;
        bool chain = task->before != x->ops && w->end[task->before] + task->lag == start;
        if (rank && chain)
            rank = pp_rng_below(rng, 2);
        if (rank || (n > 0 && scratch->by_rank[n - 1]))
            scratch->block[blocked++] = n;
        scratch->path[n] = op;
        scratch->by_rank[n++] = rank;
        op = rank ? first : chain ? task->before : x->ops;
    }
    scratch->length = n;
    scratch->blocked = blocked;
}

static uint32_t lower(uint32_t at, uint32_t by, uint32_t least)
{
    return at - least > by ? at - by : least;
}

static uint32_t higher(uint32_t at, uint32_t by, uint32_t most)
{
    return most - at > by ? at + by : most;
}

/* Draws a move that can break the path at its k-th op. The ops around it that delay each other on
 * that rank form a block: the op moves to an end of the block or by a few places, an op at an end
 * moves to its place, or a later op moves to the front of the block. */
static void draw_move(const pp_search_scratch *scratch, pp_rng *rng, uint32_t k, uint32_t *from,
                      uint32_t *to)
{
    const pp_movable_order *w = scratch->order;
    uint32_t first = k;
    uint32_t last = k;
    while (scratch->by_rank[first])
        first++;
    while (last > 0 && scratch->by_rank[last - 1])
        last--;
    uint32_t at = w->place[scratch->path[k]];
    uint32_t front = w->place[scratch->path[first]];
    uint32_t back = w->place[scratch->path[last]];
    uint32_t rank = w->problem->task[scratch->path[k]].rank;
    uint32_t lowest = w->begin[rank];
    uint32_t highest = w->begin[rank + 1] - 2;
    uint32_t far = 1 + pp_rng_below(rng, 1u << pp_rng_below(rng, 5));
    uint32_t what = pp_rng_below(rng, 16);
    *from = at;
    if (what < 3) {
        *to = front;
    } else if (what < 6) {
        *to = back;
    } else if (what < 10) {
        *from = what < 8 ? front : back;
        *to = at;
    } else if (what < 15) {
        *to = what < 13 ? lower(at, far, lowest) : higher(at, far, highest);
    } else {
        *from = higher(back, far, highest);
        *to = front;
    }
}

/* Draws a microbatch with the work of one of the 8 next lighter or next heavier ones than the i-th;
 * the closer, the more often. Returns i when there is none. */
static uint32_t draw_similar(const pp_search_scratch *scratch, pp_rng *rng, uint32_t i)
{
    const uint32_t m = scratch->order->problem->microbatches;
    const uint32_t far = pp_rng_below(rng, 1u << pp_rng_below(rng, 4));
    const bool up = pp_rng_below(rng, 2);
    const uint32_t others = up ? scratch->heavier[i] : scratch->lighter[i];
    if (others == 0)
        return i;
    const uint32_t step = far % others;
    const uint32_t j = scratch->by_work[up ? m - others + step : others - 1 - step];
    const uint32_t equal = m - scratch->lighter[j] - scratch->heavier[j];
    return scratch->by_work[scratch->lighter[j] + pp_rng_below(rng, equal)];
}

/* Whether exchanging two microbatches changes nothing but their numbers. */
static bool are_alike(const pp_order_problem *x, uint32_t i, uint32_t j)
{
    const uint32_t chain = 3 * x->stages;
    for (uint32_t k = 0; k < chain && i != j; k++) {
        const uint32_t a = i * chain + k;
        const uint32_t b = j * chain + k;
        if (x->task[a].ticks != x->task[b].ticks || x->task[a].lag != x->task[b].lag ||
            x->memory[a].need != x->memory[b].need || x->memory[a].delta != x->memory[b].delta)
            return false;
    }
    return true;
}

/* An exchange takes longer, the more ops there are. */
static uint32_t similar_per_1024(const pp_order_problem *x)
{
    return x->ops <= SIMILAR_OPS ? SIMILAR_PER_1024
                                 : (uint32_t)((uint64_t)SIMILAR_PER_1024 * SIMILAR_OPS / x->ops);
}

/* Draws a microbatch that starts up to 16 places before or after that of `op`. Returns the one of
 * `op` itself when there is none. */
static uint32_t draw_near(const pp_search_scratch *scratch, pp_rng *rng, uint32_t op)
{
    const pp_movable_order *w = scratch->order;
    const pp_order_problem *x = w->problem;
    uint32_t i = x->task[op].microbatch;
    uint32_t j = i;
    uint32_t rank = x->stage_rank[0];
    uint32_t at = w->place[pp_order_problem_op(x, PP_TASK_F, 0, i)];
    uint32_t step = pp_rng_below(rng, 2) ? 1 : UINT32_MAX;
    uint32_t far = 1 + pp_rng_below(rng, 1u << pp_rng_below(rng, 5));
    while (far && at + step >= w->begin[rank] && at + step < w->begin[rank + 1] - 1) {
        at += step;
        const pp_task *other = &x->task[w->sequence[at]];
        if (other->kind != PP_TASK_F || other->stage != 0)
            continue;
        j = other->microbatch;
        far--;
    }
    return j;
}

/* Tries one random change; returns true if it was made. */
static bool change(pp_search_scratch *scratch, pp_rng *rng, double heat)
{
    pp_movable_order *w = scratch->order;
    uint32_t k = pp_rng_below(rng, scratch->length);
    if (scratch->blocked && BLOCKED_PART * scratch->blocked < scratch->length &&
        pp_rng_below(rng, 2))
        k = scratch->block[pp_rng_below(rng, scratch->blocked)];
    int64_t limit = w->makespan + (int64_t)(heat * pp_rng_exponential(rng));
    const uint32_t kind = pp_rng_below(rng, 1024);
    if (kind < NEAR_PER_1024 + similar_per_1024(w->problem)) {
        const uint32_t i = w->problem->task[scratch->path[k]].microbatch;
        const uint32_t j = kind < NEAR_PER_1024 ? draw_near(scratch, rng, scratch->path[k])
                                                : draw_similar(scratch, rng, i);
        if (!are_alike(w->problem, i, j))
            return pp_movable_order_exchange(w, i, j, limit);
    }
    uint32_t from, to;
    draw_move(scratch, rng, k, &from, &to);
    uint32_t far = from > to ? from - to : to - from;
    return far > 0 && far <= FARTHEST && pp_movable_order_move(w, from, to, limit);
}

void pp_local_search(const pp_order_problem *x, pp_search_scratch *scratch, double hot,
                     int64_t bound, pp_iteration_budget *budget, pp_search_chain *chain)
{
    pp_movable_order *w = scratch->order;
    if (chain->makespan == INT64_MAX || !pp_movable_order_set(w, chain->ops) || x->ops == 0)
        return;
    chain->makespan = w->makespan; /* a dispatch may contain unnecessary waits */
    trace(scratch, &chain->rng);
    while (chain->makespan > bound && pp_iteration_budget_run(budget, 1)) {
        double heat = pp_iteration_budget_cool(budget, hot, HALVINGS);
        for (int k = 0; k < PP_LOCAL_SEARCH_MOVES && chain->makespan > bound; k++) {
            if (!change(scratch, &chain->rng, heat))
                continue;
            trace(scratch, &chain->rng);
            if (w->makespan >= chain->makespan)
                continue;
            chain->makespan = w->makespan;
            pp_movable_order_get(w, chain->ops);
        }
    }
}
