/* Moves single ops, exchanges microbatches, and updates the makespan.
 *
 * The ops form a graph: an op follows the one before it on its rank and the one whose result it
 * needs. Ends (heads) and tails of all ops are kept, and the ops in a topological order. A move
 * from place a to place b can only change what lies between the two in that order, the window (the
 * dynamic topological order of Pearce and Kelly 2006). What depends on the moved op is put after
 * it, and everything else keeps its order; a cycle shows as an op that would have to be on both
 * sides. The longest path through the window, with new ends inside it and old tails after it, is a
 * lower bound of the new makespan, and exact if it is not below the old one. Before that, a bound
 * of the paths over the ops between the two places of the rank rejects most moves. Sorting the
 * topological order by start times keeps windows short.
 *
 * A rejected move costs O(places) or O(window), and an accepted one O(window + ops whose ends or
 * tails change).
 * An exchange of microbatches costs O(ops + ranks * stages), and pp_movable_order_set O(ops log
 * ops). */
#include "planner/order/movable_order.h"

#include "sim/base/alloc.h"
#include "sim/base/minmax.h"

#include <stdlib.h>
#include <string.h>

pp_status pp_movable_order_new(const pp_order_problem *problem, pp_movable_order **order_out,
                               pp_err *err)
{
    size_t n = (size_t)problem->ops + 1;
    size_t places = n + problem->ranks;
    pp_movable_order *w = pp_alloc_array(1, sizeof *w);
    if (!w)
        return pp_err_nomem(err);
    w->problem = problem;
    w->begin = pp_alloc_array(problem->ranks + (size_t)1, sizeof *w->begin);
    w->sequence = pp_alloc_array(places + 5 * n, sizeof *w->sequence);
    w->end = pp_alloc_array(places + 3 * n, sizeof *w->end);
    if (!w->begin || !w->sequence || !w->end) {
        pp_movable_order_free(&w);
        return pp_err_nomem(err);
    }
    w->place = w->sequence + places;
    w->topo = w->place + n;
    w->rank_in_topo = w->topo + n;
    w->mark = w->rank_in_topo + n;
    w->later = w->mark + n;
    w->tail = w->end + n;
    w->fresh = w->tail + n;
    w->held = w->fresh + n;
    w->rank_in_topo[problem->ops] = UINT32_MAX;
    *order_out = w;
    return PP_OK;
}

void pp_movable_order_free(pp_movable_order **order)
{
    pp_movable_order *w = *order;
    if (!w)
        return;
    free(w->begin);
    free(w->sequence);
    free(w->end);
    free(w);
    *order = NULL;
}

static bool place_all(pp_movable_order *w, const uint32_t *ops)
{
    const pp_order_problem *x = w->problem;
    uint32_t at = 0;
    uint32_t k = 0;
    w->sequence[at++] = x->ops;
    for (uint32_t r = 0; r < x->ranks; r++) {
        w->begin[r] = at;
        int64_t held = 0;
        for (; k < x->ops && x->task[ops[k]].rank == r; k++, at++) {
            const pp_task_memory *memory = &x->memory[ops[k]];
            if (held + memory->need > x->room[r])
                return false;
            w->held[at] = held;
            held += memory->delta;
            w->sequence[at] = ops[k];
            w->place[ops[k]] = at;
        }
        w->sequence[at++] = x->ops;
    }
    w->begin[x->ranks] = at;
    return k == x->ops;
}

static void time_end(pp_movable_order *w, uint32_t op)
{
    const pp_task *task = &w->problem->task[op];
    int64_t before = w->end[w->sequence[w->place[op] - 1]];
    w->end[op] = pp_max(before, w->end[task->before] + task->lag) + task->ticks;
}

static int64_t tail_over(const pp_movable_order *w, uint32_t next)
{
    return w->problem->task[next].ticks + w->tail[next];
}

/* From the end of an op to the end of the step, by what needs its result. */
static int64_t tail_of_result(const pp_movable_order *w, const pp_task *task)
{
    const pp_task *tasks = w->problem->task;
    return pp_max(tail_over(w, task->after) + tasks[task->after].lag,
                  tail_over(w, task->weight) + tasks[task->weight].lag);
}

static int64_t tail_of(const pp_movable_order *w, uint32_t op)
{
    int64_t behind = tail_over(w, w->sequence[w->place[op] + 1]);
    return pp_max(behind, tail_of_result(w, &w->problem->task[op]));
}

/* Invalidates all marks. */
static void next_round(pp_movable_order *w)
{
    if (++w->round == 0) { /* after 2^32 moves */
        memset(w->mark, 0, ((size_t)w->problem->ops + 1) * sizeof *w->mark);
        w->round = 1;
    }
}

/* Advances every rank as far as it gets, again and again; topo receives the ops in that order. */
static bool sort_all(pp_movable_order *w)
{
    const pp_order_problem *x = w->problem;
    uint32_t *next = w->later; /* [ranks]: there are fewer ranks than ops */
    uint32_t done = 0;
    uint32_t before;
    next_round(w);
    w->mark[x->ops] = w->round;
    for (uint32_t r = 0; r < x->ranks; r++)
        next[r] = w->begin[r];
    do {
        before = done;
        for (uint32_t r = 0; r < x->ranks; r++) {
            for (uint32_t op;
                 (op = w->sequence[next[r]]) != x->ops && w->mark[x->task[op].before] == w->round;
                 next[r]++) {
                w->mark[op] = w->round;
                w->rank_in_topo[op] = done;
                w->topo[done++] = op;
                time_end(w, op);
            }
        }
    } while (done > before);
    return done == x->ops;
}

static int compare_ends(const pp_movable_order *w, uint32_t a, uint32_t b)
{
    int64_t x = w->end[a] - w->problem->task[a].ticks;
    int64_t y = w->end[b] - w->problem->task[b].ticks;
    return x != y ? (x < y ? -1 : 1) : (w->rank_in_topo[a] < w->rank_in_topo[b] ? -1 : 1);
}

/* A stable merge sort of topo by start. */
static void sort_by_start(pp_movable_order *w)
{
    uint32_t n = w->problem->ops;
    uint32_t *from = w->topo;
    uint32_t *to = w->later;
    for (uint32_t width = 1; width < n; width *= 2) {
        for (uint32_t begin = 0; begin < n; begin += 2 * width) {
            uint32_t a = begin;
            uint32_t middle = n - begin > width ? begin + width : n;
            uint32_t b = middle;
            uint32_t last = n - begin > 2 * width ? begin + 2 * width : n;
            for (uint32_t k = begin; k < last; k++) {
                bool left = b == last || (a < middle && compare_ends(w, from[a], from[b]) < 0);
                to[k] = left ? from[a++] : from[b++];
            }
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != w->topo)
        memcpy(w->topo, from, n * sizeof *from);
    for (uint32_t k = 0; k < n; k++)
        w->rank_in_topo[w->topo[k]] = k;
}

static void set_makespan(pp_movable_order *w)
{
    w->makespan = 0;
    for (uint32_t r = 0; r < w->problem->ranks; r++)
        w->makespan = pp_max(w->makespan, w->end[w->sequence[w->begin[r + 1] - 2]]);
}

bool pp_movable_order_set(pp_movable_order *w, const uint32_t *ops)
{
    if (!place_all(w, ops) || !sort_all(w))
        return false;
    sort_by_start(w);
    for (uint32_t k = w->problem->ops; k-- > 0;)
        w->tail[w->topo[k]] = tail_of(w, w->topo[k]);
    set_makespan(w);
    return true;
}

void pp_movable_order_get(const pp_movable_order *w, uint32_t *ops)
{
    uint32_t k = 0;
    for (uint32_t r = 0; r < w->problem->ranks; r++)
        for (uint32_t at = w->begin[r]; at + 1 < w->begin[r + 1]; at++)
            ops[k++] = w->sequence[at];
}

/* The window of a move, as places in topo: only ops from `low` to `high` change their order. Ops
 * after it may end at another time, but their tails stay as they are. */
typedef struct window {
    uint32_t moved; /* op */
    uint32_t rank;
    uint32_t low, high;
} window;

static bool fits_at(const pp_movable_order *w, uint32_t op, int64_t room, int64_t *held)
{
    const pp_task_memory *memory = &w->problem->memory[op];
    bool fits = *held + memory->need <= room;
    *held += memory->delta;
    return fits;
}

static bool move_fits(const pp_movable_order *w, uint32_t from, uint32_t to)
{
    uint32_t moved = w->sequence[from];
    int64_t room = w->problem->room[w->problem->task[moved].rank];
    int64_t held = w->held[from < to ? from : to];
    bool fits = from < to || fits_at(w, moved, room, &held);
    uint32_t end = from < to ? to + 1 : from;
    for (uint32_t at = from < to ? from + 1 : to; at < end && fits; at++)
        fits = fits_at(w, w->sequence[at], room, &held);
    return fits && (from > to || fits_at(w, moved, room, &held));
}

/* Rotates the places from `from` to `to`; with the arguments exchanged it undoes itself. */
static void shift(pp_movable_order *w, uint32_t from, uint32_t to)
{
    uint32_t moved = w->sequence[from];
    uint32_t step = from < to ? 1 : UINT32_MAX;
    for (uint32_t at = from; at != to; at += step) {
        uint32_t op = w->sequence[at + step];
        w->sequence[at] = op;
        w->place[op] = at;
    }
    w->sequence[to] = moved;
    w->place[moved] = to;
}

static void set_held(pp_movable_order *w, uint32_t from, uint32_t to)
{
    uint32_t low = from < to ? from : to;
    uint32_t high = from < to ? to : from;
    int64_t held = w->held[low];
    for (uint32_t at = low; at <= high; at++) {
        w->held[at] = held;
        held += w->problem->memory[w->sequence[at]].delta;
    }
}

/* Writes the window's ops in their new order to `later`: what depends on the moved op goes after
 * it. Returns false when the move would make a cycle: an op that must run before it depends on
 * it. */
static bool order_behind(pp_movable_order *w, const window *x)
{
    const pp_task *task = w->problem->task;
    uint32_t count = 0;
    uint32_t dependent = x->high - x->low + 1;
    w->mark[x->moved] = w->round;
    for (uint32_t t = x->low + 1; t <= x->high; t++) {
        uint32_t op = w->topo[t];
        bool own = task[op].rank == x->rank;
        bool depends = w->mark[task[op].before] == w->round ||
                       (!own && w->mark[w->sequence[w->place[op] - 1]] == w->round);
        if (depends && own)
            return false;
        if (depends) {
            w->mark[op] = w->round;
            w->later[--dependent] = op;
        } else {
            w->later[count++] = op;
        }
    }
    w->later[count] = x->moved;
    for (uint32_t a = count + 1, b = x->high - x->low; a < b; a++, b--) {
        uint32_t op = w->later[a];
        w->later[a] = w->later[b];
        w->later[b] = op;
    }
    return true;
}

/* Like order_behind, for a move towards the front: what the moved op depends on goes before it. */
static bool order_before(pp_movable_order *w, const window *x)
{
    const pp_task *task = w->problem->task;
    uint32_t last = x->high - x->low;
    uint32_t count = 0;
    w->mark[x->moved] = w->round;
    for (uint32_t t = x->high; t-- > x->low;) {
        uint32_t op = w->topo[t];
        bool own = task[op].rank == x->rank;
        bool needed = w->mark[task[op].after] == w->round || w->mark[task[op].weight] == w->round ||
                      (!own && w->mark[w->sequence[w->place[op] + 1]] == w->round);
        if (needed && own)
            return false;
        if (needed) {
            w->mark[op] = w->round;
            w->later[count++] = op;
        } else {
            w->later[last--] = op;
        }
    }
    for (uint32_t a = 0, b = count; a + 1 < b; a++) {
        uint32_t op = w->later[a];
        w->later[a] = w->later[--b];
        w->later[b] = op;
    }
    w->later[count] = x->moved;
    return true;
}

/* Writes the ends of the window's ops to `fresh`. Returns false when a path through one of them is
 * longer than `limit`. */
static bool time_window(pp_movable_order *w, const window *x, int64_t limit)
{
    const pp_task *tasks = w->problem->task;
    uint32_t count = x->high - x->low + 1;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t op = w->later[k];
        const pp_task *task = &tasks[op];
        uint32_t first = w->sequence[w->place[op] - 1];
        uint32_t next = w->sequence[w->place[op] + 1];
        int64_t a = (w->rank_in_topo[first] - x->low < count ? w->fresh : w->end)[first];
        int64_t b =
            (w->rank_in_topo[task->before] - x->low < count ? w->fresh : w->end)[task->before];
        int64_t end = pp_max(a, b + task->lag) + task->ticks;
        w->fresh[op] = end;
        int64_t rest = 0;
        if (w->rank_in_topo[next] > x->high)
            rest = tail_over(w, next);
        if (w->rank_in_topo[task->after] > x->high)
            rest = pp_max(rest, tail_over(w, task->after) + tasks[task->after].lag);
        if (w->rank_in_topo[task->weight] > x->high)
            rest = pp_max(rest, tail_over(w, task->weight) + tasks[task->weight].lag);
        if (end + rest > limit)
            return false;
    }
    return true;
}

static uint32_t latest(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t earliest(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Updates the ends after the window, as far as they change. */
static void push_ends(pp_movable_order *w, const window *x)
{
    const pp_order_problem *problem = w->problem;
    uint32_t reach = x->high;
    for (uint32_t t = x->low; t <= reach && t < problem->ops; t++) {
        uint32_t op = w->topo[t];
        int64_t old = w->end[op];
        time_end(w, op);
        if (t > x->high && w->end[op] == old)
            continue;
        const uint32_t next[] = { w->sequence[w->place[op] + 1], problem->task[op].after,
                                  problem->task[op].weight };
        for (int k = 0; k < 3; k++)
            if (next[k] < problem->ops)
                reach = latest(reach, w->rank_in_topo[next[k]]);
    }
}

/* Updates the tails before the window, as far as they change. */
static void pull_tails(pp_movable_order *w, const window *x)
{
    const pp_order_problem *problem = w->problem;
    uint32_t reach = x->low;
    for (uint32_t t = x->high + 1; t-- > reach;) {
        uint32_t op = w->topo[t];
        int64_t old = w->tail[op];
        w->tail[op] = tail_of(w, op);
        if (t < x->low && w->tail[op] == old)
            continue;
        reach = earliest(reach, w->rank_in_topo[w->sequence[w->place[op] - 1]]);
        reach = earliest(reach, w->rank_in_topo[problem->task[op].before]);
    }
}

/* A bound of the paths over the ops between the two places, without the window: most moves fail
 * already here. Towards the back the ops before the window end as they did, and no tail becomes
 * shorter of what needs a result, since none of it runs before `from`. */
static bool is_late_behind(const pp_movable_order *w, uint32_t from, uint32_t to, int64_t limit)
{
    const pp_task *tasks = w->problem->task;
    const uint32_t moved = w->sequence[from];
    const uint32_t low = w->rank_in_topo[moved];
    int64_t end = w->end[w->sequence[from - 1]];
    for (uint32_t at = from + 1; at <= to; at++) {
        const pp_task *task = &tasks[w->sequence[at]];
        if (w->rank_in_topo[task->before] < low || task->before == w->problem->ops)
            end = pp_max(end, w->end[task->before] + task->lag);
        end += task->ticks;
        if (end + tail_of_result(w, task) > limit)
            return true;
    }
    end += tasks[moved].ticks;
    return end + pp_max(tail_of_result(w, &tasks[moved]), tail_over(w, w->sequence[to + 1])) >
           limit;
}

/* Likewise; towards the front nothing but the moved op starts earlier than it did. */
static bool is_late_before(const pp_movable_order *w, uint32_t from, uint32_t to, int64_t limit)
{
    const pp_task *tasks = w->problem->task;
    const pp_task *task = &tasks[w->sequence[from]];
    int64_t end = pp_max(w->end[w->sequence[to - 1]], w->end[task->before] + task->lag);
    end += task->ticks;
    if (end + tail_of_result(w, task) > limit)
        return true;
    for (uint32_t at = to; at < from; at++) {
        const uint32_t op = w->sequence[at];
        end = pp_max(end + tasks[op].ticks, w->end[op]);
    }
    return end + tail_over(w, w->sequence[from + 1]) > limit;
}

bool pp_movable_order_move(pp_movable_order *w, uint32_t from, uint32_t to, int64_t limit)
{
    uint32_t a = w->rank_in_topo[w->sequence[from]];
    uint32_t b = w->rank_in_topo[w->sequence[to]];
    window x = { w->sequence[from], w->problem->task[w->sequence[from]].rank, earliest(a, b),
                 latest(a, b) };
    if (from < to ? is_late_behind(w, from, to, limit) : is_late_before(w, from, to, limit))
        return false;
    next_round(w);
    if (!move_fits(w, from, to) || !(from < to ? order_behind(w, &x) : order_before(w, &x)))
        return false;
    shift(w, from, to);
    if (!time_window(w, &x, limit)) {
        shift(w, to, from);
        return false;
    }
    set_held(w, from, to);
    for (uint32_t t = x.low; t <= x.high; t++) {
        w->topo[t] = w->later[t - x.low];
        w->rank_in_topo[w->topo[t]] = t;
    }
    push_ends(w, &x);
    pull_tails(w, &x);
    set_makespan(w);
    return true;
}

static void exchange_ops(pp_movable_order *w, uint32_t a, uint32_t b)
{
    uint32_t place = w->place[a];
    uint32_t topo = w->rank_in_topo[a];
    w->place[a] = w->place[b];
    w->rank_in_topo[a] = w->rank_in_topo[b];
    w->place[b] = place;
    w->rank_in_topo[b] = topo;
    w->sequence[w->place[a]] = w->topo[w->rank_in_topo[a]] = a;
    w->sequence[w->place[b]] = w->topo[w->rank_in_topo[b]] = b;
}

static void exchange_all(pp_movable_order *w, uint32_t i, uint32_t j)
{
    uint32_t chain = 3 * w->problem->stages;
    for (uint32_t k = 0; k < chain; k++)
        exchange_ops(w, i * chain + k, j * chain + k);
}

typedef struct stretch {
    uint32_t first, last; /* places */
} stretch;

static void add_stage(const pp_movable_order *w, uint32_t s, uint32_t i, stretch *of)
{
    const uint32_t first = w->place[pp_order_problem_op(w->problem, PP_TASK_F, s, i)];
    const uint32_t last = w->place[pp_order_problem_op(w->problem, PP_TASK_W, s, i)];
    of->first = first < of->first ? first : of->first;
    of->last = last > of->last ? last : of->last;
}

static bool stretch_fits(const pp_movable_order *w, uint32_t rank, const stretch *of)
{
    int64_t held = w->held[of->first];
    for (uint32_t at = of->first; at <= of->last; at++)
        if (!fits_at(w, w->sequence[at], w->problem->room[rank], &held))
            return false;
    return true;
}

/* Checks the memory of a rank from the first op of each microbatch there to its last, which gives
 * back all that it held. All stages of the rank go together, as what precedes an op of one may have
 * been exchanged on another. */
static bool exchange_fits(const pp_movable_order *w, uint32_t rank, uint32_t i, uint32_t j)
{
    const pp_order_problem *x = w->problem;
    stretch a = { w->begin[rank + 1] - 1, 0 }; /* no op */
    stretch b = a;
    for (uint32_t s = 0; s < x->stages; s++) {
        if (x->stage_rank[s] != rank)
            continue;
        add_stage(w, s, i, &a);
        add_stage(w, s, j, &b);
    }
    if (a.last < b.first || b.last < a.first)
        return stretch_fits(w, rank, &a) && stretch_fits(w, rank, &b);
    const stretch both = { earliest(a.first, b.first), latest(a.last, b.last) };
    return stretch_fits(w, rank, &both);
}

bool pp_movable_order_exchange(pp_movable_order *w, uint32_t i, uint32_t j, int64_t limit)
{
    const pp_order_problem *x = w->problem;
    uint32_t low = earliest(w->rank_in_topo[pp_order_problem_op(x, PP_TASK_F, 0, i)],
                            w->rank_in_topo[pp_order_problem_op(x, PP_TASK_F, 0, j)]);
    uint32_t high = low;
    for (uint32_t s = 0; s < x->stages; s++) { /* the last op of a microbatch is a W */
        high = latest(high, w->rank_in_topo[pp_order_problem_op(x, PP_TASK_W, s, i)]);
        high = latest(high, w->rank_in_topo[pp_order_problem_op(x, PP_TASK_W, s, j)]);
    }
    exchange_all(w, i, j);
    bool good = true;
    for (uint32_t r = 0; good && r < x->ranks; r++)
        good = exchange_fits(w, r, i, j);
    for (uint32_t t = low; good && t < x->ops; t++) {
        uint32_t op = w->topo[t];
        const pp_task *task = &x->task[op];
        uint32_t first = w->sequence[w->place[op] - 1];
        int64_t a = (w->rank_in_topo[first] - low < x->ops ? w->fresh : w->end)[first];
        int64_t b =
            (w->rank_in_topo[task->before] - low < x->ops ? w->fresh : w->end)[task->before];
        w->fresh[op] = pp_max(a, b + task->lag) + task->ticks;
        good = w->fresh[op] + (t > high ? w->tail[op] : 0) <=
               limit; /* tails behind `high` do not change */
    }
    if (!good) {
        exchange_all(w, i, j);
        return false;
    }
    for (uint32_t t = low; t < x->ops; t++)
        w->end[w->topo[t]] = w->fresh[w->topo[t]];
    for (uint32_t k = high + 1; k-- > 0;)
        w->tail[w->topo[k]] = tail_of(w, w->topo[k]);
    for (uint32_t r = 0; r < x->ranks; r++)
        set_held(w, w->begin[r], w->begin[r + 1] - 2);
    set_makespan(w);
    return true;
}
