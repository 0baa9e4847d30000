/* Lower bounds of three kinds, each for every rank; the largest of all is the bound.
 *
 * - Work: all ops of the rank after the shortest way in (load); Jackson's preemptive schedule of
 *   the rank's ops between their heads and tails (jackson; Jackson 1955); the work and the time
 *   that the rank must idle until the first backward can come, and after the last forward (start,
 *   start_end), because only a limited number of activations fit into its memory (a fractional
 *   knapsack).
 * - Memory x time: the sum over all activations along their own chains, divided by the available
 *   memory (area), also with sizes rounded by the dual feasible functions of Fekete and Schepers
 *   (2001) (dff).
 * - Counting, if all microbatches are equal: the k-th forward of a stage needs k forwards of the
 *   stage before it, and memory of an earlier backward (chained).
 *
 * Products of ticks and memory are 128 bits wide. O(ops log ops) each; dff is computed 32 times. */
#include "planner/order/problem_bound.h"

#include "sim/base/alloc.h"
#include "sim/base/heap.h"
#include "sim/base/minmax.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide; /* products of ticks and memory */

enum { DFF_MOST = 32 };

/* An op as a job of its rank. */
typedef struct job {
    int64_t head;  /* it cannot start before */
    int64_t ticks; /* left to do */
    int64_t tail;  /* least time that follows its end */
} job;

/* An item of a knapsack: `size` in memory, worth `ticks`. */
typedef struct item {
    int64_t ticks, size;
} item;

typedef struct bounding {
    const pp_order_problem *x;
    int64_t *head, *tail; /* [ops + 1]: along its own microbatch */
    uint32_t *own;        /* [ops], by rank */
    uint32_t *begin;      /* [ranks + 1]: index into `own` */
    job *jobs;            /* [ops]: jobs of the current rank */
    uint32_t *waiting;    /* [ops]: a heap of jobs */
    item *items;          /* [ops] */
    int64_t *counted;     /* [4 * stages * microbatches], for CHAINED */
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

/* Finds head and tail of every op. One pass each suffices, since numbers grow along a chain. */
static void find_ways(bounding *b, pp_order_bounds *bounds)
{
    const pp_order_problem *x = b->x;
    for (uint32_t op = 0; op < x->ops; op++) {
        const pp_task *task = &x->task[op];
        uint32_t before = task->before;
        b->head[op] = b->head[before] + x->task[before].ticks + task->lag;
    }
    for (uint32_t op = x->ops; op-- > 0;) {
        const pp_task *after = &x->task[x->task[op].after];
        const pp_task *weight = &x->task[x->task[op].weight];
        b->tail[op] = pp_max(after->lag + after->ticks + b->tail[x->task[op].after],
                             weight->lag + weight->ticks + b->tail[x->task[op].weight]);
        raise(bounds, PP_ORDER_BOUND_PATH, b->head[op] + x->task[op].ticks + b->tail[op]);
    }
}

static int by_head(const void *left, const void *right)
{
    const job *a = left;
    const job *b = right;
    return (a->head > b->head) - (a->head < b->head);
}

/* The job with the longest tail first. */
static bool longer_tail(const void *context, uint32_t a, uint32_t b)
{
    const job *jobs = context;
    return jobs[a].tail > jobs[b].tail;
}

/* The end of the preemptive schedule of Jackson, which always runs the job with the longest tail.
 * It is optimal for one machine that may interrupt jobs, so no order of the rank ends earlier. */
static int64_t jackson(bounding *b, uint32_t count)
{
    pp_heap waiting = { .id = b->waiting, .context = b->jobs };
    uint32_t next = 0;
    int64_t now = 0;
    int64_t end = 0;
    qsort(b->jobs, count, sizeof *b->jobs, by_head);
    while (next < count || waiting.count) {
        if (!waiting.count)
            now = pp_max(now, b->jobs[next].head);
        for (; next < count && b->jobs[next].head <= now; next++)
            pp_heap_push(&waiting, longer_tail, next);
        job *first = &b->jobs[waiting.id[0]];
        int64_t until = next < count ? b->jobs[next].head : INT64_MAX;
        int64_t run = pp_min(first->ticks, until - now);
        now += run;
        first->ticks -= run;
        if (first->ticks > 0)
            continue;
        end = pp_max(end, now + first->tail);
        pp_heap_pop(&waiting, longer_tail);
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
    count = kept;
    qsort(items, count, sizeof *items, by_density);
    for (uint32_t k = 0; k < count; k++) {
        if (items[k].size > room) {
            if (room > 0)
                ticks +=
                    (int64_t)(((wide)items[k].ticks * room + items[k].size - 1) / items[k].size);
            return ticks;
        }
        ticks += items[k].ticks;
        room -= items[k].size;
    }
    return ticks;
}

/* What the bounds START and START_END need to know about a rank. */
typedef struct rank_view {
    uint32_t forwards;
    int64_t head, load, forward, size; /* size: of all activations */
    int64_t first_back;                /* no B can start before */
    int64_t down_up;                   /* the shortest way out of an F */
    int64_t extra;                     /* the smallest transient of a B */
    bool alike;                        /* all activations have one size, and one F time */
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
        v.load += task->ticks;
        if (task->kind == PP_TASK_B) {
            v.first_back = pp_min(v.first_back, b->head[op]);
            v.extra = pp_min(v.extra, x->memory[op].need);
        }
        if (task->kind != PP_TASK_F)
            continue;
        item now = { task->ticks, x->memory[op].delta };
        v.one = v.forwards++ ? v.one : now;
        v.alike = v.alike && now.ticks == v.one.ticks && now.size == v.one.size;
        v.forward += now.ticks;
        v.size += now.size;
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
            b->items[n++] = (item){ x->task[op].ticks, x->memory[op].delta };
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
        item weight = { x->task[w].ticks, -x->memory[w].delta };
        item back = { x->task[op].ticks, -x->memory[op].delta };
        if (back.size <= 0 || by_density(&weight, &back) > 0) {
            weight.ticks += back.ticks; /* both as one item, or the denser half first */
            weight.size += back.size;
            back = (item){ 0, 1 };
        }
        b->items[n++] = weight;
        b->items[n++] = back;
    }
    return knapsack(b->items, n, x->room[rank]);
}

static void bound_starts(bounding *b, uint32_t rank, pp_order_bounds *bounds)
{
    rank_view v = view(b, rank);
    if (v.head == INT64_MAX)
        return;
    int64_t idle = pp_max(0, v.first_back - v.head - early_work(b, rank, &v));
    raise(bounds, PP_ORDER_BOUND_LOAD, v.head + v.load);
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

/* Memory x time of the rank's microbatches, divided by the memory of the rank. */
static int64_t area(const bounding *b, uint32_t rank, int64_t k)
{
    const pp_order_problem *x = b->x;
    int64_t room = x->room[rank];
    int64_t head = INT64_MAX;
    wide sum = 0;
    if (room <= 0)
        return 0;
    for (uint32_t n = b->begin[rank]; n < b->begin[rank + 1]; n++) {
        uint32_t op = b->own[n];
        const pp_task *task = &x->task[op];
        head = pp_min(head, b->head[op]);
        if (k == 0) /* transients */
            sum +=
                (wide)(x->memory[op].need - (task->kind == PP_TASK_F ? x->memory[op].delta : 0)) *
                task->ticks;
        if (task->kind != PP_TASK_B)
            continue;
        uint32_t f = pp_order_problem_op(x, PP_TASK_F, task->stage, task->microbatch);
        int64_t kept = -x->memory[task->weight].delta;
        if (x->memory[f].delta > room || kept > room)
            return 0; /* nothing fits, so there is no bound */
        sum += rounded(x->memory[f].delta, room, k) * (b->head[op] + task->ticks - b->head[f]) +
               rounded(kept, room, k) * x->task[task->weight].ticks;
    }
    wide whole = (wide)room * pp_max(k, 1);
    return head < INT64_MAX ? head + (int64_t)((sum + whole - 1) / whole) : 0;
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

static reuse reuse_of(const pp_order_problem *x, uint32_t s)
{
    uint32_t f = pp_order_problem_op(x, PP_TASK_F, s, 0);
    uint32_t b = pp_order_problem_op(x, PP_TASK_B, s, 0);
    uint32_t w = pp_order_problem_op(x, PP_TASK_W, s, 0);
    int64_t size = x->memory[f].delta;
    int64_t room = x->room[x->stage_rank[s]];
    int64_t extra = x->memory[f].need - size;
    if (size <= 0)
        return (reuse){ x->microbatches, 0 };
    int64_t fit = (room - pp_max(extra, x->memory[b].need)) / size;
    /* with `fit` of them held, either the W of that B or one more B has run */
    bool tight = room - extra - fit * size < -x->memory[w].delta;
    return (reuse){ pp_max(fit, 1), tight ? pp_min(x->task[b].ticks, x->task[w].ticks) : 0 };
}

/* Earliest starts of the k-th F and the k-th B on every stage, whichever microbatches they belong
 * to. ways: [2 * stages * microbatches], by place in the chain, then k. */
static void count_starts(const bounding *b, int64_t *ways)
{
    const pp_order_problem *x = b->x;
    uint32_t m = x->microbatches;
    for (uint32_t k = 0; k < m; k++) {
        for (uint32_t at = 0; at < 2 * x->stages; at++) {
            const pp_task *task = &x->task[at];
            const pp_task *before = &x->task[task->before];
            int64_t *way = ways + (size_t)at * m;
            int64_t start = at ? (way - m)[k] + before->ticks + task->lag : 0;
            if (k)
                start = pp_max(start, way[k - 1] + task->ticks);
            reuse t = reuse_of(x, task->stage);
            if (task->kind == PP_TASK_F && (int64_t)k >= t.fit) {
                uint32_t back = 2 * x->stages - 1 - at;
                start = pp_max(start,
                               (ways + (size_t)back * m)[k - t.fit] + x->task[back].ticks + t.gap);
            }
            way[k] = start;
        }
    }
}

/* Like count_starts, from the other side: ticks from the end of the k-th last op to the end of the
 * step. */
static void count_ends(const bounding *b, int64_t *ways)
{
    const pp_order_problem *x = b->x;
    uint32_t m = x->microbatches;
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
            reuse t = reuse_of(x, task->stage);
            if (task->kind == PP_TASK_B && (int64_t)k >= t.fit) {
                uint32_t f = 2 * x->stages - 1 - at;
                tail = pp_max(tail, (ways + (size_t)f * m)[k - t.fit] + x->task[f].ticks + t.gap);
            }
            way[k] = tail;
        }
    }
}

static void bound_chained(bounding *b, pp_order_bounds *bounds)
{
    const pp_order_problem *x = b->x;
    uint32_t m = x->microbatches;
    int64_t *ways_in = b->counted;
    int64_t *ways_out = b->counted + (size_t)2 * x->stages * m;
    count_starts(b, ways_in);
    count_ends(b, ways_out);
    for (uint32_t r = 0; r < x->ranks; r++) {
        uint32_t count = 0;
        for (uint32_t n = b->begin[r]; n < b->begin[r + 1]; n++) {
            const pp_task *task = &x->task[b->own[n]];
            uint32_t k = task->microbatch;
            uint32_t at = b->own[n] % (3 * x->stages);
            if (task->kind == PP_TASK_W)
                b->jobs[count++] = (job){ (ways_in + (size_t)(at - x->stages) * m)[k] +
                                              x->task[task->before].ticks,
                                          task->ticks, 0 };
            else
                b->jobs[count++] = (job){ (ways_in + (size_t)at * m)[k], task->ticks,
                                          (ways_out + (size_t)at * m)[m - 1 - k] };
        }
        raise(bounds, PP_ORDER_BOUND_CHAINED, jackson(b, count));
    }
}

static void bound_rank(bounding *b, uint32_t rank, pp_order_bounds *bounds)
{
    const pp_order_problem *x = b->x;
    uint32_t count = 0;
    for (uint32_t n = b->begin[rank]; n < b->begin[rank + 1]; n++) {
        uint32_t op = b->own[n];
        b->jobs[count++] = (job){ b->head[op], x->task[op].ticks, b->tail[op] };
    }
    raise(bounds, PP_ORDER_BOUND_JACKSON, jackson(b, count));
    bound_starts(b, rank, bounds);
    raise(bounds, PP_ORDER_BOUND_AREA, area(b, rank, 0));
    for (int64_t k = 1; k <= DFF_MOST; k++)
        raise(bounds, PP_ORDER_BOUND_DFF, area(b, rank, k));
}

static void bounding_free(bounding *b)
{
    free(b->head);
    free(b->own);
    free(b->jobs);
    free(b->items);
}

static pp_status bounding_new(bounding *b, pp_err *err)
{
    const pp_order_problem *x = b->x;
    size_t n = (size_t)x->ops + 1;
    b->head = pp_alloc_array(4 * n, sizeof *b->head);
    b->own = pp_alloc_array(2 * n + x->ranks + 1, sizeof *b->own);
    b->jobs = pp_alloc_array(n, sizeof *b->jobs);
    b->items = pp_alloc_array(n, sizeof *b->items);
    if (!b->head || !b->own || !b->jobs || !b->items)
        return pp_err_nomem(err);
    b->tail = b->head + n;
    b->counted = b->tail + n; /* 4 x stages x microbatches numbers: more than n, less than 2 n */
    b->waiting = b->own + n;
    b->begin = b->waiting + n;
    for (uint32_t op = 0; op < x->ops; op++)
        b->begin[x->task[op].rank + 1]++;
    for (uint32_t r = 0; r < x->ranks; r++)
        b->begin[r + 1] += b->begin[r];
    for (uint32_t op = x->ops;
         op-- > 0;) /* begin[r + 1] is the end of rank r and becomes its beginning */
        b->own[--b->begin[x->task[op].rank + 1]] = op;
    memmove(b->begin, b->begin + 1, x->ranks * sizeof *b->begin);
    b->begin[x->ranks] = x->ops;
    return PP_OK;
}

static void free_rooms(int64_t **rooms)
{
    free(*rooms);
}

pp_status pp_order_bounds_find(const pp_order_problem *problem, pp_order_bounds *bounds_out,
                               pp_err *err)
{
    pp_order_problem open = *problem;
    int64_t *unlimited PP_CLEANUP(free_rooms) = NULL;
    if (problem->rooms_are_low) {
        if (!(unlimited = pp_alloc_array(problem->ranks, sizeof *unlimited)))
            return pp_err_nomem(err);
        for (uint32_t r = 0; r < problem->ranks; r++)
            unlimited[r] = PP_ORDER_PROBLEM_BYTES_MAX;
        open.room = unlimited;
    }
    bounding b PP_CLEANUP(bounding_free) = { .x = &open };
    pp_order_bounds bounds = { .ticks = 0 };
    pp_status status = bounding_new(&b, err);
    if (status)
        return status;
    find_ways(&b, &bounds);
    for (uint32_t r = 0; r < problem->ranks; r++)
        bound_rank(&b, r, &bounds);
    if (are_alike(problem))
        bound_chained(&b, &bounds);
    for (int k = 0; k < PP_ORDER_BOUND_COUNT; k++) {
        if (bounds.part[k] <= bounds.ticks)
            continue;
        bounds.ticks = bounds.part[k];
        bounds.largest = (pp_order_bound_part)k;
    }
    *bounds_out = bounds;
    return PP_OK;
}
