#include "planner/order/moves.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

pp_status pp_movable_order_new(const pp_instance *instance, pp_movable_order **walk_out,
                               pp_err *err)
{
    size_t n = (size_t)instance->ops + 1;
    size_t places = n + instance->ranks;
    pp_movable_order *w = pp_alloc_array(1, sizeof *w);
    if (!w)
        return pp_err_nomem(err);
    w->instance = instance;
    w->begin = pp_alloc_array(instance->ranks + (size_t)1, sizeof *w->begin);
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
    w->rank_in_topo[instance->ops] = UINT32_MAX;
    *walk_out = w;
    return PP_OK;
}

void pp_movable_order_free(pp_movable_order **walk)
{
    pp_movable_order *w = *walk;
    if (!w)
        return;
    free(w->begin);
    free(w->sequence);
    free(w->end);
    free(w);
    *walk = NULL;
}

static bool place_all(pp_movable_order *w, const uint32_t *ops)
{
    const pp_instance *x = w->instance;
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
    const pp_task *task = &w->instance->task[op];
    int64_t before = w->end[w->sequence[w->place[op] - 1]];
    w->end[op] = most(before, w->end[task->before] + task->lag) + task->ticks;
}

static int64_t tail_over(const pp_movable_order *w, uint32_t next)
{
    return w->instance->task[next].ticks + w->tail[next];
}

static int64_t tail_of(const pp_movable_order *w, uint32_t op)
{
    const pp_task *task = &w->instance->task[op];
    int64_t behind = tail_over(w, w->sequence[w->place[op] + 1]);
    int64_t chain = tail_over(w, task->after) + w->instance->task[task->after].lag;
    int64_t weight = tail_over(w, task->weight) + w->instance->task[task->weight].lag;
    return most(behind, most(chain, weight));
}

/* Old marks mean nothing from here on. */
static void next_round(pp_movable_order *w)
{
    if (++w->round == 0) { /* after 2^32 moves */
        memset(w->mark, 0, ((size_t)w->instance->ops + 1) * sizeof *w->mark);
        w->round = 1;
    }
}

/* Walks every rank as far as it gets, again and again; topo is the order of that. */
static bool sort_all(pp_movable_order *w)
{
    const pp_instance *x = w->instance;
    uint32_t *next = w->later; /* [ranks], of which there are fewer than ops */
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
    int64_t x = w->end[a] - w->instance->task[a].ticks;
    int64_t y = w->end[b] - w->instance->task[b].ticks;
    return x != y ? (x < y ? -1 : 1) : (w->rank_in_topo[a] < w->rank_in_topo[b] ? -1 : 1);
}

/* By start, ties as they are: windows of a move become short. Merge sort. */
static void sort_by_start(pp_movable_order *w)
{
    uint32_t n = w->instance->ops;
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
    for (uint32_t r = 0; r < w->instance->ranks; r++)
        w->makespan = most(w->makespan, w->end[w->sequence[w->begin[r + 1] - 2]]);
}

bool pp_movable_order_set(pp_movable_order *w, const uint32_t *ops)
{
    if (!place_all(w, ops) || !sort_all(w))
        return false;
    sort_by_start(w);
    for (uint32_t k = w->instance->ops; k-- > 0;)
        w->tail[w->topo[k]] = tail_of(w, w->topo[k]);
    set_makespan(w);
    return true;
}

void pp_movable_order_get(const pp_movable_order *w, uint32_t *ops)
{
    uint32_t k = 0;
    for (uint32_t r = 0; r < w->instance->ranks; r++)
        for (uint32_t at = w->begin[r]; at + 1 < w->begin[r + 1]; at++)
            ops[k++] = w->sequence[at];
}

/* A move at hand: in the order of topo, only ops from `low` to `high` can start at another time
 * because of what moves past them; those behind follow, and their tails stay as they are. */
typedef struct window {
    uint32_t moved; /* op */
    uint32_t rank;
    uint32_t low, high;
} window;

static bool fits_at(const pp_movable_order *w, uint32_t op, int64_t room, int64_t *held)
{
    const pp_task_memory *memory = &w->instance->memory[op];
    bool fits = *held + memory->need <= room;
    *held += memory->delta;
    return fits;
}

static bool move_fits(const pp_movable_order *w, uint32_t from, uint32_t to)
{
    uint32_t moved = w->sequence[from];
    int64_t room = w->instance->room[w->instance->task[moved].rank];
    int64_t held = w->held[from < to ? from : to];
    bool fits = from < to || fits_at(w, moved, room, &held);
    uint32_t end = from < to ? to + 1 : from;
    for (uint32_t at = from < to ? from + 1 : to; at < end && fits; at++)
        fits = fits_at(w, w->sequence[at], room, &held);
    return fits && (from > to || fits_at(w, moved, room, &held));
}

/* Rotates the places; its own inverse with the arguments exchanged. */
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
        held += w->instance->memory[w->sequence[at]].delta;
    }
}

/* The window's ops in their new order, into `later`: what hangs on the moved op goes behind it.
 * false: something it must run behind hangs on it. */
static bool order_behind(pp_movable_order *w, const window *x)
{
    const pp_task *task = w->instance->task;
    uint32_t count = 0;
    uint32_t hanging = x->high - x->low + 1;
    w->mark[x->moved] = w->round;
    for (uint32_t t = x->low + 1; t <= x->high; t++) {
        uint32_t op = w->topo[t];
        bool own = task[op].rank == x->rank;
        bool hangs = w->mark[task[op].before] == w->round ||
                     (!own && w->mark[w->sequence[w->place[op] - 1]] == w->round);
        if (hangs && own)
            return false;
        if (hangs) {
            w->mark[op] = w->round;
            w->later[--hanging] = op;
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

/* The same for a move to the front: what the moved op hangs on goes before it. */
static bool order_before(pp_movable_order *w, const window *x)
{
    const pp_task *task = w->instance->task;
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

/* Ends of the window's ops, into `fresh`; false when a path through one of them is too long. */
static bool time_window(pp_movable_order *w, const window *x, int64_t limit)
{
    const pp_task *tasks = w->instance->task;
    uint32_t count = x->high - x->low + 1;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t op = w->later[k];
        const pp_task *task = &tasks[op];
        uint32_t first = w->sequence[w->place[op] - 1];
        uint32_t next = w->sequence[w->place[op] + 1];
        int64_t a = (w->rank_in_topo[first] - x->low < count ? w->fresh : w->end)[first];
        int64_t b =
            (w->rank_in_topo[task->before] - x->low < count ? w->fresh : w->end)[task->before];
        int64_t end = most(a, b + task->lag) + task->ticks;
        w->fresh[op] = end;
        int64_t rest = 0;
        if (w->rank_in_topo[next] > x->high)
            rest = tail_over(w, next);
        if (w->rank_in_topo[task->after] > x->high)
            rest = most(rest, tail_over(w, task->after) + tasks[task->after].lag);
        if (w->rank_in_topo[task->weight] > x->high)
            rest = most(rest, tail_over(w, task->weight) + tasks[task->weight].lag);
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

/* Ends behind the window, as far as they change. */
static void push_ends(pp_movable_order *w, const window *x)
{
    const pp_instance *instance = w->instance;
    uint32_t reach = x->high;
    for (uint32_t t = x->low; t <= reach && t < instance->ops; t++) {
        uint32_t op = w->topo[t];
        int64_t old = w->end[op];
        time_end(w, op);
        if (t > x->high && w->end[op] == old)
            continue;
        const uint32_t next[] = { w->sequence[w->place[op] + 1], instance->task[op].after,
                                  instance->task[op].weight };
        for (int k = 0; k < 3; k++)
            if (next[k] < instance->ops)
                reach = latest(reach, w->rank_in_topo[next[k]]);
    }
}

/* Tails before the window, likewise. */
static void pull_tails(pp_movable_order *w, const window *x)
{
    const pp_instance *instance = w->instance;
    uint32_t reach = x->low;
    for (uint32_t t = x->high + 1; t-- > reach;) {
        uint32_t op = w->topo[t];
        int64_t old = w->tail[op];
        w->tail[op] = tail_of(w, op);
        if (t < x->low && w->tail[op] == old)
            continue;
        reach = earliest(reach, w->rank_in_topo[w->sequence[w->place[op] - 1]]);
        reach = earliest(reach, w->rank_in_topo[instance->task[op].before]);
    }
}

bool pp_movable_order_move(pp_movable_order *w, uint32_t from, uint32_t to, int64_t limit)
{
    uint32_t a = w->rank_in_topo[w->sequence[from]];
    uint32_t b = w->rank_in_topo[w->sequence[to]];
    window x = { w->sequence[from], w->instance->task[w->sequence[from]].rank, earliest(a, b),
                 latest(a, b) };
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
    uint32_t chain = 3 * w->instance->stages;
    for (uint32_t k = 0; k < chain; k++)
        exchange_ops(w, i * chain + k, j * chain + k);
}

/* Between the first and the last place of the two on every rank. */
static bool exchange_fits(pp_movable_order *w, uint32_t i, uint32_t j)
{
    const pp_instance *x = w->instance;
    for (uint32_t s = 0; s < x->stages; s++) {
        uint32_t fi = w->place[pp_instance_op(x, PP_TASK_F, s, i)];
        uint32_t fj = w->place[pp_instance_op(x, PP_TASK_F, s, j)];
        uint32_t wi = w->place[pp_instance_op(x, PP_TASK_W, s, i)];
        uint32_t wj = w->place[pp_instance_op(x, PP_TASK_W, s, j)];
        uint32_t last = latest(wi, wj);
        uint32_t at = earliest(fi, fj);
        int64_t held = w->held[at];
        for (; at <= last; at++)
            if (!fits_at(w, w->sequence[at], x->room[x->stage_rank[s]], &held))
                return false;
    }
    return true;
}

bool pp_movable_order_exchange(pp_movable_order *w, uint32_t i, uint32_t j, int64_t limit)
{
    const pp_instance *x = w->instance;
    uint32_t low = earliest(w->rank_in_topo[pp_instance_op(x, PP_TASK_F, 0, i)],
                            w->rank_in_topo[pp_instance_op(x, PP_TASK_F, 0, j)]);
    exchange_all(w, i, j);
    bool good = exchange_fits(w, i, j);
    for (uint32_t t = low; good && t < x->ops; t++) {
        uint32_t op = w->topo[t];
        const pp_task *task = &x->task[op];
        uint32_t first = w->sequence[w->place[op] - 1];
        int64_t a = (w->rank_in_topo[first] - low < x->ops ? w->fresh : w->end)[first];
        int64_t b =
            (w->rank_in_topo[task->before] - low < x->ops ? w->fresh : w->end)[task->before];
        w->fresh[op] = most(a, b + task->lag) + task->ticks;
        good = w->fresh[op] <= limit;
    }
    if (!good) {
        exchange_all(w, i, j);
        return false;
    }
    for (uint32_t t = low; t < x->ops; t++)
        w->end[w->topo[t]] = w->fresh[w->topo[t]];
    for (uint32_t k = x->ops; k-- > 0;)
        w->tail[w->topo[k]] = tail_of(w, w->topo[k]);
    for (uint32_t r = 0; r < x->ranks; r++)
        set_held(w, w->begin[r], w->begin[r + 1] - 2);
    set_makespan(w);
    return true;
}
