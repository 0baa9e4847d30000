/* Lower bounds of four kinds, each for every rank; the largest of all is the bound.
 *
 * - Work: all ops of the rank after the shortest way in (load); Jackson's preemptive schedule of
 *   the rank's ops between their heads and tails (jackson; Jackson 1955); the work and the time
 *   that the rank must idle until the first backward can come, and after the last forward (start,
 *   start_end), because only a limited number of activations fit into its memory (a fractional
 *   knapsack).
 * - Way in, and who is ahead: of a set of long microbatches one comes first to the rank. It has its
 *   own way behind it, all that are ahead of it have held it up, those together that overtook it at
 *   one place, and the work of all others is still to come (ahead; the bound of one job and all
 *   machines of Lageweg, Lenstra and Rinnooy Kan, 1978, for any machine and set of jobs).
 * - Memory x time: the sum over all activations along their own chains, divided by the available
 *   memory (area), also with sizes rounded by the dual feasible functions of Fekete and Schepers
 *   (2001) (dff).
 * - Counting, if all microbatches are equal: the k-th forward of a stage needs k forwards of the
 *   stage before it, and memory of an earlier backward (chained).
 *
 * Microbatches with the same times and sizes are one class, which is worked once and counted. The
 * bounds are found in the order of their list, and a caller who knows a makespan needs none after
 * one that reaches it.
 *
 * Products of ticks and memory are 128 bits wide. O(n log n) in the ops of one microbatch per
 * class; dff is computed 32 times, for the distinct sizes, and ahead takes O(n s) for s stages of a
 * rank, at most 64. chained, for a single class, is O(ops log stages of a rank). */
#include "planner/order/problem_bound.h"

#include "sim/base/alloc.h"
#include "sim/base/heap.h"
#include "sim/base/minmax.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide; /* products of ticks and memory */

enum { DFF_MOST = 32, LATE_MOST = 64 };

/* Jobs of a rank that run one after the other: heads grow from each to the next, and tails do not.
 * A head is the time before which a job cannot start, a tail the least time that follows its end.
 */
typedef struct flow {
    const int64_t *head; /* of the k-th job: head[k] + later */
    const int64_t *tail; /* of the k-th job: *(tail - k); NULL: 0 */
    int64_t later;
    int64_t ticks; /* of each job */
    int64_t left;  /* of the next one */
    uint32_t next, count;
} flow;

/* Items of a knapsack that are alike: each has `size` in memory and is worth `ticks`. */
typedef struct item {
    int64_t ticks, size;
    int64_t count;
} item;

/* What is held with one size, and for how long, all together. */
typedef struct holding {
    int64_t size;
    wide ticks;
} holding;

/* The microbatches of a class on their way to an op of a rank. */
typedef struct comer {
    int64_t way;    /* the op's earliest start */
    int64_t hidden; /* how much of the waits for those ahead may pass during its transfers */
    int64_t whole; /* all copies: what those behind them lose at least, with what is hidden of it */
    int64_t least; /* all copies: what those behind them lose at least, whatever is hidden */
    uint32_t class;
} comer;

typedef struct bounding {
    const pp_order_problem *x;
    const uint32_t *copies; /* [classes]: microbatches that are like the k-th, it included */
    uint32_t classes;       /* the first microbatches of x, one per class */
    uint32_t ops;           /* of one microbatch per class */
    int64_t *head, *tail;   /* [x->ops + 1]: along its own microbatch */
    int64_t *hidden;        /* [ops]: of F and B: see comer; of one microbatch */
    int64_t *whole, *least; /* likewise */
    uint32_t *own;          /* [ops], by rank */
    uint32_t *begin;        /* [ranks + 1]: index into `own` */
    flow *flows;            /* [ops]: of the current rank */
    uint32_t *waiting;      /* [ops]: a heap of flows whose next job can start */
    uint32_t *arriving;     /* [ops]: a heap of the other flows */
    item *items;            /* [ops] */
    holding *held;          /* [ops] */
    comer *comers;          /* [classes] */
    int64_t *work;          /* [F and B of a rank + 1, classes]: see add_up */
} bounding;

static const struct {
    const char *key, *text;
} texts[] = {
#define PP_ORDER_BOUND_TEXT(name, key, text) { key, text },
    PP_ORDER_BOUND_MAP(PP_ORDER_BOUND_TEXT)
#undef PP_ORDER_BOUND_TEXT
};

const char *pp_order_bound_key(pp_order_bound_part part)
{
    return texts[part].key;
}

const char *pp_order_bound_text(pp_order_bound_part part)
{
    return texts[part].text;
}

static void raise(pp_order_bounds *bounds, pp_order_bound_part part, int64_t ticks)
{
    bounds->part[part] = pp_max(bounds->part[part], ticks);
}

static int64_t copies_of(const bounding *b, const pp_task *task)
{
    return b->copies[task->microbatch];
}

/* Finds head and tail of every op. One pass each suffices, since numbers grow along a chain. */
static void find_ways(bounding *b, pp_order_bounds *bounds)
{
    const pp_order_problem *x = b->x;
    for (uint32_t op = 0; op < b->ops; op++) {
        const pp_task *task = &x->task[op];
        uint32_t before = task->before;
        b->head[op] = b->head[before] + x->task[before].ticks + task->lag;
    }
    for (uint32_t op = b->ops; op-- > 0;) {
        const pp_task *after = &x->task[x->task[op].after];
        const pp_task *weight = &x->task[x->task[op].weight];
        b->tail[op] = pp_max(after->lag + after->ticks + b->tail[x->task[op].after],
                             weight->lag + weight->ticks + b->tail[x->task[op].weight]);
        raise(bounds, PP_ORDER_BOUND_PATH, b->head[op] + x->task[op].ticks + b->tail[op]);
    }
}

static int64_t next_head(const flow *f)
{
    return f->head[f->next] + f->later;
}

static int64_t next_tail(const flow *f)
{
    return f->tail ? *(f->tail - f->next) : 0;
}

static bool sooner(const void *context, uint32_t a, uint32_t b)
{
    const flow *flows = context;
    return next_head(&flows[a]) < next_head(&flows[b]);
}

/* The job with the longest tail first. */
static bool longer_tail(const void *context, uint32_t a, uint32_t b)
{
    const flow *flows = context;
    return next_tail(&flows[a]) > next_tail(&flows[b]);
}

/* The end of the preemptive schedule of Jackson, which always runs the job with the longest tail.
 * It is optimal for one machine that may interrupt jobs, so no order of the rank ends earlier. Of a
 * flow only the next job competes, since those after it come later and have no longer tails. */
static int64_t jackson(bounding *b, uint32_t count)
{
    pp_heap waiting = { .id = b->waiting, .context = b->flows };
    pp_heap arriving = { .id = b->arriving, .context = b->flows };
    int64_t now = 0;
    int64_t end = 0;
    for (uint32_t k = 0; k < count; k++)
        pp_heap_push(&arriving, sooner, k);
    while (arriving.count || waiting.count) {
        if (!waiting.count)
            now = pp_max(now, next_head(&b->flows[arriving.id[0]]));
        while (arriving.count && next_head(&b->flows[arriving.id[0]]) <= now)
            pp_heap_push(&waiting, longer_tail, pp_heap_pop(&arriving, sooner));
        uint32_t id = waiting.id[0];
        flow *first = &b->flows[id];
        int64_t until = arriving.count ? next_head(&b->flows[arriving.id[0]]) : INT64_MAX;
        int64_t run = pp_min(first->left, until - now);
        now += run;
        first->left -= run;
        if (first->left > 0)
            continue;
        end = pp_max(end, now + next_tail(first));
        first->left = first->ticks;
        if (++first->next < first->count && next_head(first) <= now) {
            pp_heap_sink(&waiting, longer_tail, 0, id);
            continue;
        }
        pp_heap_pop(&waiting, longer_tail);
        if (first->next < first->count)
            pp_heap_push(&arriving, sooner, id);
    }
    return end;
}

/* Sorts by ticks per unit of memory, largest first. */
static int by_density(const void *left, const void *right)
{
    const item *a = left;
    const item *b = right;
    wide x = (wide)a->ticks * b->size;
    wide y = (wide)b->ticks * a->size;
    return (x < y) - (x > y);
}

/* The fractional knapsack: the most ticks of items that fit together if items may be divided,
 * rounded up. */
static int64_t knapsack(item *items, uint32_t count, int64_t room)
{
    int64_t ticks = 0;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (items[k].ticks > 0) /* an item of 0 ticks and size 0 would be as dense as any other */
            items[kept++] = items[k];
    }
    if (room < 0)
        return 0;
    count = kept;
    qsort(items, count, sizeof *items, by_density);
    for (uint32_t k = 0; k < count; k++) {
        const item *one = &items[k];
        int64_t whole = one->count;
        if (one->size > 0)
            whole = pp_min(whole, room / one->size);
        ticks += one->ticks * whole;
        room -= one->size * whole;
        if (whole == one->count)
            continue;
        if (room > 0)
            ticks += (int64_t)(((wide)one->ticks * room + one->size - 1) / one->size);
        return ticks;
    }
    return ticks;
}

/* What the bounds START and START_END need to know about a rank. */
typedef struct rank_view {
    bool forwards;
    int64_t head, load, forward;
    wide size;          /* of all activations */
    int64_t first_back; /* no B can start before */
    int64_t down_up;    /* the shortest way out of an F */
    int64_t extra;      /* the smallest transient of a B */
    bool alike;         /* all activations have one size, and one F time */
    item one;
} rank_view;

static rank_view view(const bounding *b, uint32_t rank)
{
    const pp_order_problem *x = b->x;
    rank_view v = { .head = INT64_MAX,
                    .first_back = INT64_MAX,
                    .down_up = INT64_MAX,
                    .extra = INT64_MAX,
                    .alike = true };
    for (uint32_t k = b->begin[rank]; k < b->begin[rank + 1]; k++) {
        uint32_t op = b->own[k];
        const pp_task *task = &x->task[op];
        v.head = pp_min(v.head, b->head[op]);
        v.load += copies_of(b, task) * task->ticks;
        if (task->kind == PP_TASK_B) {
            v.first_back = pp_min(v.first_back, b->head[op]);
            v.extra = pp_min(v.extra, x->memory[op].need);
        }
        if (task->kind != PP_TASK_F)
            continue;
        item now = { task->ticks, x->memory[op].delta, copies_of(b, task) };
        v.one = v.forwards ? v.one : now;
        v.forwards = true;
        v.alike = v.alike && now.ticks == v.one.ticks && now.size == v.one.size;
        v.forward += now.count * now.ticks;
        v.size += (wide)now.count * now.size;
        v.down_up = pp_min(v.down_up, b->tail[op]);
    }
    return v;
}

/* The most forward work that can be done before the first B of the rank, which needs v->extra. */
static int64_t early_work(bounding *b, uint32_t rank, const rank_view *v)
{
    const pp_order_problem *x = b->x;
    int64_t room = x->room[rank] - v->extra;
    if (v->size <= pp_max(room, 0)) /* activations may take nothing */
        return v->forward;
    if (v->alike)
        return pp_max(0, room / v->one.size * v->one.ticks);
    uint32_t n = 0;
    for (uint32_t k = b->begin[rank]; k < b->begin[rank + 1]; k++) {
        uint32_t op = b->own[k];
        if (x->task[op].kind == PP_TASK_F)
            b->items[n++] =
                (item){ x->task[op].ticks, x->memory[op].delta, copies_of(b, &x->task[op]) };
    }
    return knapsack(b->items, n, room);
}

/* The most work that can be left after the last F: B and W of what is held then, or W alone. */
static int64_t late_work(bounding *b, uint32_t rank)
{
    const pp_order_problem *x = b->x;
    uint32_t n = 0;
    for (uint32_t k = b->begin[rank]; k < b->begin[rank + 1]; k++) {
        uint32_t op = b->own[k];
        if (x->task[op].kind != PP_TASK_B)
            continue;
        uint32_t w = x->task[op].weight;
        const int64_t count = copies_of(b, &x->task[op]);
        item weight = { x->task[w].ticks, -x->memory[w].delta, count };
        item back = { x->task[op].ticks, -x->memory[op].delta, count };
        if (back.size <= 0 || by_density(&weight, &back) > 0) {
            weight.ticks += back.ticks; /* both as one item, or the denser half first */
            weight.size += back.size;
            back = (item){ 0, 1, count };
        }
        b->items[n++] = weight;
        b->items[n++] = back;
    }
    return knapsack(b->items, n, x->room[rank]);
}

static void bound_load(bounding *b, uint32_t rank, pp_order_bounds *bounds)
{
    rank_view v = view(b, rank);
    if (v.head < INT64_MAX)
        raise(bounds, PP_ORDER_BOUND_LOAD, v.head + v.load);
}

static void bound_starts(bounding *b, uint32_t rank, pp_order_bounds *bounds)
{
    rank_view v = view(b, rank);
    if (v.head == INT64_MAX)
        return;
    int64_t idle = pp_max(0, v.first_back - v.head - early_work(b, rank, &v));
    raise(bounds, PP_ORDER_BOUND_START, v.head + idle + v.load);
    bool fills = v.size > b->x->room[rank]; /* not everything fits, so a B runs before the last F */
    int64_t late = pp_max(0, v.down_up - late_work(b, rank));
    raise(bounds, PP_ORDER_BOUND_START_END, v.head + (fills ? idle : 0) + v.load + late);
}

/* The k-th dual feasible function of Fekete and Schepers: sizes that fit into `room` together still
 * do so afterwards, in units of room / k. k 0: the identity. It is valid for every set of
 * activations that is held at one time. */
static wide rounded(int64_t size, int64_t room, int64_t k)
{
    wide product = (wide)size * (k + 1);
    if (k == 0 || product % room == 0)
        return (wide)size * pp_max(k, 1);
    return product / room * room;
}

static int by_size(const void *left, const void *right)
{
    const holding *a = left;
    const holding *b = right;
    return (a->size > b->size) - (a->size < b->size);
}

/* Sorts by size and adds up what has one size. Returns the number of sizes. */
static uint32_t merge_sizes(holding *held, uint32_t count)
{
    uint32_t sizes = 0;
    qsort(held, count, sizeof *held, by_size);
    for (uint32_t k = 0; k < count; k++) {
        if (sizes && held[sizes - 1].size == held[k].size)
            held[sizes - 1].ticks += held[k].ticks;
        else
            held[sizes++] = held[k];
    }
    return sizes;
}

/* The most memory that a set of held sizes takes is `units` of the room: their sum over time,
 * divided by it, rounded up. */
static int64_t share(wide sum, int64_t room, int64_t units)
{
    wide whole = (wide)room * units;
    return (int64_t)((sum + whole - 1) / whole);
}

/* What the activations of a rank take, as memory x time, and what is needed to tell how much of the
 * memory stays unused while it fills up and is emptied. */
typedef struct rank_area {
    int64_t head, first_back; /* the first F and B cannot start before */
    wide held;                /* from F to B */
    wide other;               /* transients, and what is kept after B, while W runs */
    int64_t size, kept;       /* the largest of each */
    int64_t transient[3];
    int64_t ticks[3]; /* of the longest F, B and W */
} rank_area;

/* Returns false if something does not fit, so that there is no bound. */
static bool add_area(bounding *b, uint32_t rank, rank_area *area, uint32_t *sizes)
{
    const pp_order_problem *x = b->x;
    const int64_t room = x->room[rank];
    *area = (rank_area){ .head = INT64_MAX, .first_back = INT64_MAX };
    *sizes = 0;
    for (uint32_t n = b->begin[rank]; n < b->begin[rank + 1]; n++) {
        uint32_t op = b->own[n];
        const pp_task *task = &x->task[op];
        const wide copies = copies_of(b, task);
        const int64_t transient =
            x->memory[op].need - (task->kind == PP_TASK_F ? x->memory[op].delta : 0);
        area->head = pp_min(area->head, b->head[op]);
        area->transient[task->kind] = pp_max(area->transient[task->kind], transient);
        area->ticks[task->kind] = pp_max(area->ticks[task->kind], task->ticks);
        area->other += transient * (copies * task->ticks);
        if (task->kind != PP_TASK_B)
            continue;
        uint32_t f = pp_order_problem_op(x, PP_TASK_F, task->stage, task->microbatch);
        const int64_t size = x->memory[f].delta;
        const int64_t kept = -x->memory[task->weight].delta;
        if (size > room || kept > room)
            return false;
        area->first_back = pp_min(area->first_back, b->head[op]);
        area->size = pp_max(area->size, size);
        area->kept = pp_max(area->kept, kept);
        const wide held = copies * (b->head[op] + task->ticks - b->head[f]);
        const wide after = copies * x->task[task->weight].ticks;
        area->held += size * held;
        area->other += kept * after;
        if (size)
            b->held[(*sizes)++] = (holding){ size, held };
        if (kept)
            b->held[(*sizes)++] = (holding){ kept, after };
    }
    return room > 0 && area->head < INT64_MAX;
}

/* The most memory per tick first; of equal ones the shortest. */
static int by_slimness(const void *left, const void *right)
{
    const item *a = left;
    const item *b = right;
    const int order = by_density(right, left);
    return order ? order : (a->ticks > b->ticks) - (a->ticks < b->ticks);
}

/* The rank's activations, with the ticks of F, or of B and W. */
static uint32_t line_up_sizes(bounding *b, uint32_t rank, bool forward)
{
    const pp_order_problem *x = b->x;
    uint32_t count = 0;
    for (uint32_t n = b->begin[rank]; n < b->begin[rank + 1]; n++) {
        const pp_task *task = &x->task[b->own[n]];
        if (task->kind != PP_TASK_B)
            continue;
        const uint32_t f = pp_order_problem_op(x, PP_TASK_F, task->stage, task->microbatch);
        const int64_t ticks =
            forward ? x->task[f].ticks : task->ticks + x->task[task->weight].ticks;
        if (x->memory[f].delta > 0)
            b->items[count++] = (item){ ticks, x->memory[f].delta, copies_of(b, task) };
    }
    qsort(b->items, count, sizeof *b->items, by_slimness);
    return count;
}

/* Memory x time, doubled, that a rank cannot use while it fills up for at most `ticks`. What it
 * holds is at most what fits into the ticks so far if activations come bit by bit while their ops
 * run, and on average excess / 2 more, since they come whole. */
static wide unused(const item *items, uint32_t count, int64_t room, wide excess, int64_t ticks)
{
    wide lost = 0;
    wide unheld = 2 * (wide)room - excess; /* twice the memory that is not held */
    for (uint32_t k = 0; k < count && unheld > 0; k++) {
        const item *one = &items[k];
        const wide step = 2 * (wide)one->size;
        int64_t whole = one->ticks ? pp_min(one->count, ticks / one->ticks) : one->count;
        whole = unheld / step < whole ? (int64_t)(unheld / step) : whole;
        lost += (wide)whole * one->ticks * (unheld - (wide)one->size * whole);
        unheld -= step * whole;
        ticks -= whole * one->ticks;
        if (whole == one->count)
            continue;
        if (one->ticks == 0)
            return lost;
        const wide until = unheld * one->ticks / step; /* all is held */
        const int64_t part = pp_min(ticks, until < one->ticks ? (int64_t)until : one->ticks);
        const wide gone = (wide)one->size * part / one->ticks + 1;
        return lost + (unheld > gone ? part * (unheld - gone) : 0);
    }
    return lost;
}

/* The same for the window in which it fills up, which ends before its first B, and for the one in
 * which it is emptied, where each B needs its W, too. They have no tick in common, since the first
 * is no longer than all F, and the second than all B and W. While an op runs, its activation is
 * held whole, which is half of it more on average than if it came bit by bit: in each tick half of
 * the largest at most. Of an op that the end of the window cuts it is more, by an eighth of the
 * activation x the op's ticks (`last`). all: with transients, and with what is kept until W, where
 * each tick has the most of these. */
static wide unused_ends(bounding *b, uint32_t rank, const rank_area *area, bool all)
{
    const int64_t room = b->x->room[rank];
    const int64_t *transient = area->transient;
    const wide size = area->size;
    const wide start = all ? size + 2 * (wide)transient[PP_TASK_F] : size;
    wide end = size;
    if (all) {
        const wide kept = 2 * ((wide)area->kept + transient[PP_TASK_W]);
        end += 2 * (wide)transient[PP_TASK_B];
        end = kept > end ? kept : end;
        end = 2 * (wide)transient[PP_TASK_F] > end ? 2 * (wide)transient[PP_TASK_F] : end;
    }
    uint32_t count = line_up_sizes(b, rank, true);
    wide in = unused(b->items, count, room, start, area->first_back - area->head);
    wide last = (size * area->ticks[PP_TASK_F] + 3) / 4;
    const wide lost = in > last ? in - last : 0;
    count = line_up_sizes(b, rank, false);
    in = unused(b->items, count, room, end, INT64_MAX);
    last = (size * area->ticks[PP_TASK_B] + 3) / 4;
    return lost + (in > last ? in - last : 0);
}

/* Memory x time of the rank's microbatches, divided by the memory of the rank: once with sizes as
 * they are, with transients or without, and with what is lost while the memory fills up and is
 * emptied, and then rounded in all ways. */
static void bound_area(bounding *b, uint32_t rank, pp_order_bounds *bounds)
{
    const int64_t room = b->x->room[rank];
    rank_area area;
    uint32_t count;
    if (!add_area(b, rank, &area, &count))
        return;
    const int64_t head = area.head;
    const wide all = area.held + area.other;
    raise(bounds, PP_ORDER_BOUND_AREA,
          head + share(2 * all + unused_ends(b, rank, &area, true), room, 2));
    raise(bounds, PP_ORDER_BOUND_AREA,
          head + share(2 * area.held + unused_ends(b, rank, &area, false), room, 2));
    raise(bounds, PP_ORDER_BOUND_DFF, head);
    count = merge_sizes(b->held, count);
    for (int64_t k = 1; k <= DFF_MOST && count; k++) {
        if ((wide)b->held[count - 1].size * (k + 1) < room)
            continue; /* all are rounded to 0 */
        wide sum = 0;
        for (uint32_t n = 0; n < count; n++)
            sum += rounded(b->held[n].size, room, k) * b->held[n].ticks;
        raise(bounds, PP_ORDER_BOUND_DFF, head + share(sum, room, k));
    }
}

static bool are_alike(const pp_order_problem *x)
{
    for (uint32_t op = 3 * x->stages; op < x->ops; op++) {
        const pp_task *task = &x->task[op];
        const pp_task *first = &x->task[op % (3 * x->stages)];
        const pp_task_memory *memory = &x->memory[op];
        const pp_task_memory *other = &x->memory[op % (3 * x->stages)];
        if (task->ticks != first->ticks || task->lag != first->lag || memory->need != other->need ||
            memory->delta != other->delta)
            return false;
    }
    return true;
}

/* For a stage with equal microbatches: how many fit between F and B, and the least number of ticks
 * from the B that returns memory to the F that uses it. */
typedef struct reuse {
    int64_t fit, gap;
} reuse;

static reuse reuse_of(const bounding *b, uint32_t s)
{
    const pp_order_problem *x = b->x;
    uint32_t f = pp_order_problem_op(x, PP_TASK_F, s, 0);
    uint32_t back = pp_order_problem_op(x, PP_TASK_B, s, 0);
    uint32_t w = pp_order_problem_op(x, PP_TASK_W, s, 0);
    int64_t size = x->memory[f].delta;
    int64_t room = x->room[x->stage_rank[s]];
    int64_t extra = x->memory[f].need - size;
    if (size <= 0)
        return (reuse){ b->copies[0], 0 };
    int64_t fit = (room - pp_max(extra, x->memory[back].need)) / size;
    /* with `fit` of them held, either the W of that B or one more B has run */
    bool tight = room - extra - fit * size < -x->memory[w].delta;
    return (reuse){ pp_max(fit, 1), tight ? pp_min(x->task[back].ticks, x->task[w].ticks) : 0 };
}

/* Earliest starts of the k-th F and the k-th B on every stage, whichever microbatches they belong
 * to. ways: [2 * stages * microbatches], by place in the chain, then k. */
static void count_starts(const bounding *b, const reuse *of, int64_t *ways)
{
    const pp_order_problem *x = b->x;
    uint32_t m = b->copies[0];
    for (uint32_t k = 0; k < m; k++) {
        for (uint32_t at = 0; at < 2 * x->stages; at++) {
            const pp_task *task = &x->task[at];
            const pp_task *before = &x->task[task->before];
            int64_t *way = ways + (size_t)at * m;
            int64_t start = at ? (way - m)[k] + before->ticks + task->lag : 0;
            if (k)
                start = pp_max(start, way[k - 1] + task->ticks);
            const reuse *t = &of[task->stage];
            if (task->kind == PP_TASK_F && (int64_t)k >= t->fit) {
                uint32_t back = 2 * x->stages - 1 - at;
                start = pp_max(start, (ways + (size_t)back * m)[k - t->fit] + x->task[back].ticks +
                                          t->gap);
            }
            way[k] = start;
        }
    }
}

/* Like count_starts, from the other side: ticks from the end of the k-th last op to the end of the
 * step. */
static void count_ends(const bounding *b, const reuse *of, int64_t *ways)
{
    const pp_order_problem *x = b->x;
    uint32_t m = b->copies[0];
    for (uint32_t k = 0; k < m; k++) {
        for (uint32_t at = 2 * x->stages; at-- > 0;) {
            const pp_task *task = &x->task[at];
            const pp_task *after = &x->task[task->after];
            int64_t *way = ways + (size_t)at * m;
            int64_t tail = task->after < x->ops ? (way + m)[k] + after->ticks + after->lag : 0;
            if (task->kind == PP_TASK_B)
                tail = pp_max(tail, x->task[task->weight].ticks);
            if (k)
                tail = pp_max(tail, way[k - 1] + task->ticks);
            const reuse *t = &of[task->stage];
            if (task->kind == PP_TASK_B && (int64_t)k >= t->fit) {
                uint32_t f = 2 * x->stages - 1 - at;
                tail = pp_max(tail, (ways + (size_t)f * m)[k - t->fit] + x->task[f].ticks + t->gap);
            }
            way[k] = tail;
        }
    }
}

/* The ways in and out of all microbatches, which are alike. Fails: NOMEM. */
static pp_status bound_chained(bounding *b, pp_order_bounds *bounds, pp_err *err)
{
    const pp_order_problem *x = b->x;
    const uint32_t m = b->copies[0];
    const size_t ways = (size_t)2 * x->stages * m;
    int64_t *ways_in PP_CLEANUP(pp_free_array) = pp_alloc_array(2 * ways, sizeof *ways_in);
    reuse *of PP_CLEANUP(pp_free_array) = pp_alloc_array(x->stages, sizeof *of);
    if (!ways_in || !of)
        return pp_err_nomem(err);
    int64_t *ways_out = ways_in + ways;
    for (uint32_t s = 0; s < x->stages; s++)
        of[s] = reuse_of(b, s);
    count_starts(b, of, ways_in);
    count_ends(b, of, ways_out);
    for (uint32_t r = 0; r < x->ranks; r++) {
        uint32_t count = 0;
        for (uint32_t n = b->begin[r]; n < b->begin[r + 1]; n++) {
            uint32_t at = b->own[n];
            const pp_task *task = &x->task[at];
            flow f = { .ticks = task->ticks, .left = task->ticks, .count = m };
            if (task->kind == PP_TASK_W) {
                f.head = ways_in + (size_t)(at - x->stages) * m;
                f.later = x->task[task->before].ticks;
            } else {
                f.head = ways_in + (size_t)at * m;
                f.tail = ways_out + (size_t)at * m + m - 1;
            }
            b->flows[count++] = f;
        }
        raise(bounds, PP_ORDER_BOUND_CHAINED, jackson(b, count));
    }
    return PP_OK;
}

/* Microbatches of a class have the same heads and tails, so that they are one long job. */
static void bound_jackson(bounding *b, uint32_t rank, pp_order_bounds *bounds)
{
    const pp_order_problem *x = b->x;
    uint32_t count = 0;
    for (uint32_t n = b->begin[rank]; n < b->begin[rank + 1]; n++) {
        uint32_t op = b->own[n];
        int64_t ticks = copies_of(b, &x->task[op]) * x->task[op].ticks;
        const flow f = {
            .head = &b->head[op], .tail = &b->tail[op], .ticks = ticks, .left = ticks, .count = 1
        };
        b->flows[count++] = f;
    }
    raise(bounds, PP_ORDER_BOUND_JACKSON, jackson(b, count));
}

/* Between two ops of its chain a microbatch may be overtaken by others. They all run the first of
 * the two after its own and the second before its own. So meanwhile there is time for all their
 * first ops, and for the rest of one of them: its transfer and second op. There is also time for
 * all their second ops and for the rest of one: its first op and transfer. If one rank runs both
 * ops, there is time for both of all. What of this takes longer than the transfer of the microbatch
 * that is overtaken, it loses. */
typedef struct overtaking {
    bool both, before; /* whose ops are added up; not both and not before: the second ones */
    int64_t longest;   /* transfer */
    int64_t quickest;  /* rest */
} overtaking;

static int64_t added_up(const overtaking *o, const pp_task *task)
{
    return (o->both || o->before ? (task - 1)->ticks : 0) +
           (o->both || !o->before ? task->ticks : 0);
}

/* The rest, as said above. */
static int64_t left_out(const overtaking *o, const pp_task *task)
{
    return o->both ? 0 : task->lag + (o->before ? task : task - 1)->ticks;
}

/* place: of the second op in the chain. Where two sums would do, that is chosen which is longer for
 * all microbatches together. */
static overtaking find_overtaking(const bounding *b, uint32_t place)
{
    const pp_order_problem *x = b->x;
    const uint32_t n = 3 * x->stages;
    int64_t before = 0, here = 0;
    overtaking o = { .both = x->task[place - 1].rank == x->task[place].rank,
                     .quickest = INT64_MAX };
    for (uint32_t op = place; op < b->ops; op += n) {
        before += copies_of(b, &x->task[op]) * x->task[op - 1].ticks;
        here += copies_of(b, &x->task[op]) * x->task[op].ticks;
        o.longest = pp_max(o.longest, x->task[op].lag);
    }
    o.before = before >= here;
    for (uint32_t op = place; op < b->ops; op += n)
        o.quickest = pp_min(o.quickest, left_out(&o, &x->task[op]));
    return o;
}

/* What a microbatch costs those that it is ahead of, wherever it passed them: before their first
 * op, or later. */
static void find_crossings(const bounding *b)
{
    const pp_order_problem *x = b->x;
    const uint32_t n = 3 * x->stages;
    for (uint32_t first = 0; first < b->ops; first += n) {
        b->hidden[first] = 0;
        b->whole[first] = b->least[first] = x->task[first].ticks;
    }
    for (uint32_t place = 1; place < 2 * x->stages; place++) {
        const overtaking o = find_overtaking(b, place);
        for (uint32_t op = place; op < b->ops; op += n) {
            const pp_task *task = &x->task[op];
            const int64_t ticks = added_up(&o, task);
            const int64_t hidden = pp_max(0, o.longest - left_out(&o, task));
            b->whole[op] = pp_min(b->whole[op - 1], ticks);
            b->least[op] = pp_min(b->least[op - 1], pp_max(0, ticks - hidden));
            b->hidden[op] = b->hidden[op - 1] + pp_max(0, task->lag - o.quickest);
        }
    }
}

/* Of equal ways that which hides less first, so that numbers do not matter. */
static int comes_later(const void *left, const void *right)
{
    const comer *a = left;
    const comer *b = right;
    const int order = (a->way < b->way) - (a->way > b->way);
    return order ? order : (a->hidden > b->hidden) - (a->hidden < b->hidden);
}

/* Work of the rank from its k-th F or B on, by class: [classes] for each k, and 0 behind the last.
 * Returns the shortest way out of it. */
static int64_t add_up(bounding *b, const uint32_t *own, uint32_t each, uint32_t count)
{
    const pp_order_problem *x = b->x;
    int64_t out = INT64_MAX;
    memset(b->work + (size_t)count * b->classes, 0, b->classes * sizeof *b->work);
    for (uint32_t k = count; k-- > 0;) {
        for (uint32_t j = 0; j < b->classes; j++) {
            const uint32_t op = own[j * each + k];
            const pp_task *task = &x->task[op];
            const int64_t weight = x->task[task->weight].ticks;
            int64_t *work = &b->work[(size_t)k * b->classes + j];
            *work = work[b->classes] + copies_of(b, task) * (task->ticks + weight);
            out = pp_min(out, weight > 0 ? 0 : b->tail[op]);
        }
    }
    return out;
}

/* The microbatches that come to run the k-th of the rank's F and B, the latest first. */
static void line_up(bounding *b, const uint32_t *own, uint32_t each, uint32_t k)
{
    for (uint32_t j = 0; j < b->classes; j++) {
        const uint32_t op = own[j * each + k];
        const int64_t copies = copies_of(b, &b->x->task[op]);
        b->comers[j] =
            (comer){ b->head[op], b->hidden[op], copies * b->whole[op], copies * b->least[op], j };
    }
    qsort(b->comers, b->classes, sizeof *b->comers, comes_later);
}

/* For every set of those whose ways in are the longest. The first of it to run the op starts after
 * its way in, held up by each microbatch ahead (find_crossings). What passes during transfers is
 * taken off once for the whole way, or for each of them; the larger counts. From that start on, the
 * rank has the work of the set, and of all others that are not ahead; also, unless it is later than
 * `late_from`, what nobody can have run there before that time (late). If it is later, the rank has
 * run nothing of the set until then. */
static int64_t find_ahead(const bounding *b, const int64_t *first, const int64_t *from,
                          const int64_t *late, int64_t late_from)
{
    int64_t rest = 0, whole = 0, work = 0, later = 0, all = 0, early = 0;
    int64_t way = INT64_MAX, open = INT64_MAX, most = 0;
    for (uint32_t j = 0; j < b->classes; j++) {
        const comer *one = &b->comers[j];
        rest += pp_min(one->least, from[one->class] - late[one->class]);
        whole += pp_min(one->whole, from[one->class] - late[one->class]);
        later += late[j];
        all += first[j];
        early += first[j] - late[j];
    }
    for (uint32_t j = 0; j < b->classes; j++) {
        const comer *one = &b->comers[j];
        const int64_t mine = from[one->class], soon = mine - late[one->class];
        rest -= pp_min(one->least, soon);
        whole -= pp_min(one->whole, soon);
        work += mine;
        later -= late[one->class];
        early -= soon;
        way = pp_min(way, one->way);
        open = pp_min(open, one->way - one->hidden);
        int64_t end = pp_max(way + rest, open + whole) + work + later;
        if (late_from < INT64_MAX)
            end = pp_min(end, late_from + all - early);
        most = pp_max(most, end);
    }
    return most;
}

/* For every op with which microbatches come to the rank, and every later one as `late`: of more
 * than LATE_MOST as many, evenly. */
static void bound_ahead(bounding *b, uint32_t rank, pp_order_bounds *bounds)
{
    const uint32_t *own = b->own + b->begin[rank];
    const uint32_t each = (b->begin[rank + 1] - b->begin[rank]) / b->classes;
    const uint32_t count = each / 3 * 2; /* F and B come before W */
    const uint32_t step = 1 + count / LATE_MOST;
    const int64_t out = add_up(b, own, each, count);
    for (uint32_t k = 0; k < count && out < INT64_MAX; k++) {
        if (own[k] == 0)
            continue; /* nothing can be ahead before the first op of all */
        line_up(b, own, each, k);
        for (uint32_t next = count; next > k; next -= next - k < step ? next - k : step) {
            int64_t late_from = INT64_MAX;
            for (uint32_t j = 0; j < b->classes && next < count; j++)
                late_from = pp_min(late_from, b->head[own[j * each + next]]);
            const int64_t end = find_ahead(b, b->work, b->work + (size_t)k * b->classes,
                                           b->work + (size_t)next * b->classes, late_from);
            raise(bounds, PP_ORDER_BOUND_AHEAD, end + out);
        }
    }
}

static void bounding_free(bounding *b)
{
    free(b->head);
    free(b->own);
    free(b->flows);
    free(b->items);
    free(b->held);
    free(b->comers);
    free(b->work);
}

static pp_status bounding_new(bounding *b, pp_err *err)
{
    const pp_order_problem *x = b->x;
    size_t n = (size_t)b->ops;
    size_t all = (size_t)x->ops + 1; /* the last one is "no op" */
    b->head = pp_alloc_array(2 * all + 3 * n, sizeof *b->head);
    b->own = pp_alloc_array(3 * n + x->ranks + 1, sizeof *b->own);
    b->flows = pp_alloc_array(n, sizeof *b->flows);
    b->items = pp_alloc_array(n, sizeof *b->items);
    b->held = pp_alloc_array(n, sizeof *b->held);
    b->comers = pp_alloc_array(b->classes, sizeof *b->comers);
    b->work = pp_alloc_array(n + b->classes, sizeof *b->work);
    if (!b->head || !b->own || !b->flows || !b->items || !b->held || !b->comers || !b->work)
        return pp_err_nomem(err);
    b->tail = b->head + all;
    b->hidden = b->tail + all;
    b->whole = b->hidden + n;
    b->least = b->whole + n;
    b->waiting = b->own + n;
    b->arriving = b->waiting + n;
    b->begin = b->arriving + n;
    for (uint32_t op = 0; op < b->ops; op++)
        b->begin[x->task[op].rank + 1]++;
    for (uint32_t r = 0; r < x->ranks; r++)
        b->begin[r + 1] += b->begin[r];
    for (uint32_t op = b->ops;
         op-- > 0;) /* begin[r + 1] is the end of rank r and becomes its beginning */
        b->own[--b->begin[x->task[op].rank + 1]] = op;
    memmove(b->begin, b->begin + 1, x->ranks * sizeof *b->begin);
    b->begin[x->ranks] = b->ops;
    return PP_OK;
}

/* Sets `ticks` and `largest`. Returns true if no later bound can be larger. */
static bool reaches(pp_order_bounds *bounds, int64_t enough)
{
    for (int k = 0; k < PP_ORDER_BOUND_COUNT; k++) {
        if (bounds->part[k] <= bounds->ticks)
            continue;
        bounds->ticks = bounds->part[k];
        bounds->largest = (pp_order_bound_part)k;
    }
    return bounds->ticks >= enough;
}

/* In the order of the parts, so that of equal ones the first is found. Fails: NOMEM. */
static pp_status find_all(bounding *b, int64_t enough, pp_order_bounds *bounds, pp_err *err)
{
    static void (*const parts[])(bounding *, uint32_t,
                                 pp_order_bounds *) = { bound_load, bound_jackson, bound_starts,
                                                        bound_ahead, bound_area };
    find_ways(b, bounds);
    find_crossings(b);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        for (uint32_t r = 0; r < b->x->ranks; r++)
            parts[k](b, r, bounds);
        if (reaches(bounds, enough))
            return PP_OK;
    }
    pp_status status = b->classes == 1 ? bound_chained(b, bounds, err) : PP_OK;
    reaches(bounds, enough);
    return status;
}

pp_status pp_order_bounds_find_counted(const pp_order_problem *problem, const uint32_t *copies,
                                       int64_t enough, pp_order_bounds *bounds_out, pp_err *err)
{
    pp_order_problem open = *problem;
    const bool alike = !copies && are_alike(problem);
    int64_t *unlimited PP_CLEANUP(pp_free_array) =
        pp_alloc_array(problem->ranks, sizeof *unlimited);
    uint32_t *each PP_CLEANUP(pp_free_array) = pp_alloc_array(problem->microbatches, sizeof *each);
    if (!unlimited || !each)
        return pp_err_nomem(err);
    for (uint32_t j = 0; j < problem->microbatches; j++)
        each[j] = copies ? copies[j] : alike ? problem->microbatches : 1;
    for (uint32_t r = 0; problem->rooms_are_low && r < problem->ranks; r++)
        unlimited[r] = PP_ORDER_PROBLEM_BYTES_MAX;
    if (problem->rooms_are_low)
        open.room = unlimited;
    const uint32_t classes = alike ? 1 : problem->microbatches;
    bounding b PP_CLEANUP(bounding_free) = {
        .x = &open, .copies = each, .classes = classes, .ops = 3 * problem->stages * classes
    };
    pp_order_bounds bounds = { .ticks = 0 };
    pp_status status = bounding_new(&b, err);
    if (status || (status = find_all(&b, enough, &bounds, err)))
        return status;
    *bounds_out = bounds;
    return PP_OK;
}

pp_status pp_order_bounds_find(const pp_order_problem *problem, pp_order_bounds *bounds_out,
                               pp_err *err)
{
    return pp_order_bounds_find_counted(problem, NULL, INT64_MAX, bounds_out, err);
}

void pp_order_bounds_raise(pp_order_bounds *bounds, int64_t proved)
{
    if (proved <= bounds->ticks)
        return;
    bounds->part[PP_ORDER_BOUND_PROOF] = bounds->ticks = proved;
    bounds->largest = PP_ORDER_BOUND_PROOF;
}
