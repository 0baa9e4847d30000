/* Lower bounds on the makespan, computed from costs alone, without making the ops of an order.
 *
 * Three bounds hold for a rank. `load` is all its work, the shortest way in and the shortest way
 * out. `start` adds the time that the rank must idle until its first backward can start, because
 * only a limited number of forwards exist or fit into its memory; this is a fractional knapsack.
 * `area` is memory x time of all activations, divided by the available memory. One bound holds for
 * a microbatch: its longest chain (`path`). Proofs: docs/explanation/planning-bounds.md.
 *
 * Microbatches of equal cost are one class, so a bound costs O(classes * stages), plus a sort of
 * the classes of a rank when they differ and memory is limited. planner/order/problem_bound.h has
 * stronger bounds at a higher cost. */
#include "planner/bound/bound.h"

#include "planner/order/problem_costs.h"
#include "sim/base/alloc.h"
#include "sim/base/minmax.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known about one rank. */
typedef struct rank_sums {
    pp_ns head_ns;       /* nothing can start here before */
    pp_ns load_ns;       /* all work */
    pp_ns tail_ns;       /* from the end of the last op here to the end of the step, at least */
    pp_ns forward_ns;    /* the forward part of the work */
    pp_ns first_back_ns; /* no backward can start here before */
    double area;         /* bytes x ns that activations take at least */
    size_t terms;        /* number of terms in area; each adds a rounding error */
    int64_t least_recompute_bytes;
} rank_sums;

/* A forward that may run before the first backward. */
typedef struct item {
    pp_ns forward_ns;
    int64_t bytes;
    uint32_t count; /* microbatches of its class */
} item;

typedef struct bounding {
    const pp_costs *costs;
    const uint32_t *stage_rank;
    bool split;
    bool forward_only;
    bool pairs;               /* forwards may overlap a backward */
    pp_ns longest_b_ns;       /* only with pairs */
    uint32_t mirrored_from;   /* from this microbatch on ranks are mirrored */
    int64_t limit_bytes;      /* 0: memory is not limited */
    uint32_t *count;          /* [classes]: microbatches */
    uint32_t *mirrored_count; /* [classes]: microbatches on mirrored ranks */
    rank_sums *rank;          /* [ranks] */
    pp_ns *in_ns;             /* [stages]: shortest way to F of the current class */
    pp_ns *back_in_ns;        /* [stages]: shortest way to its backward */
    pp_ns *out_ns;            /* [stages]: from the end of its backward to the end of the chain */
    uint32_t *first;          /* [ranks + 1]: index into `stages` */
    uint32_t *stages;         /* [stages], by rank */
    item *items;              /* of one rank */
    bool fits;
} bounding;

const char *pp_bound_text(pp_bound_part part)
{
    static const char *const texts[] = {
#define PP_BOUND_TEXT(name, text) text,
        PP_BOUND_MAP(PP_BOUND_TEXT)
#undef PP_BOUND_TEXT
    };
    return texts[part];
}

/* Saturates at the largest value, so that a lower bound remains valid. */
static pp_ns plus(pp_ns a, pp_ns b)
{
    pp_ns sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static pp_ns times(pp_ns a, uint32_t count)
{
    pp_ns product;
    return __builtin_mul_overflow(a, (pp_ns)count, &product) ? INT64_MAX : product;
}

/* The time from the start of a backward until its gradient leaves. */
static pp_ns back_ns(const bounding *b, size_t row)
{
    return b->split ? pp_min(b->costs->b_ns[row], b->costs->i_ns[row]) : b->costs->b_ns[row];
}

static pp_ns back_work_ns(const bounding *b, size_t row)
{
    pp_ns fused = b->costs->b_ns[row];
    return b->split ? pp_min(fused, plus(b->costs->i_ns[row], b->costs->w_ns[row])) : fused;
}

/* The least time that a forward adds to the work of its rank. In an overlapped pair, it is the time
 * by which the pair is longer than its backward. */
static pp_ns forward_work_ns(const bounding *b, size_t row)
{
    pp_ns alone = b->costs->f_ns[row];
    if (!b->pairs)
        return alone;
    return b->costs->pair_ns[row]
               ? pp_min(alone, pp_max(0, b->costs->pair_ns[row] - b->longest_b_ns))
               : alone - b->costs->hidden_ns[row];
}

static pp_ns latency_ns(const bounding *b, const pp_ns *send_ns, size_t row, uint32_t from,
                        uint32_t to)
{
    return b->stage_rank[from] == b->stage_rank[to] ? 0 : send_ns[row + from];
}

/* Fills in_ns, back_in_ns and out_ns for one class. Returns the length of its chain. */
static pp_ns chain(const bounding *b, size_t row)
{
    const pp_costs *costs = b->costs;
    uint32_t last = costs->stages - 1;
    pp_ns at = 0;
    for (uint32_t s = 0; s <= last; s++) {
        b->in_ns[s] = at;
        at = plus(at, costs->f_ns[row + s]);
        if (s < last)
            at = plus(at, latency_ns(b, costs->send_f_ns, row, s, s + 1));
    }
    for (uint32_t s = 0; b->forward_only && s <= last; s++)
        b->out_ns[s] = at - b->in_ns[s] - costs->f_ns[row + s];
    if (b->forward_only)
        return at;
    pp_ns end = 0;
    for (uint32_t s = last + 1; s-- > 0;) {
        b->back_in_ns[s] = at;
        end = pp_max(end, plus(at, back_work_ns(b, row + s)));
        at = plus(at, back_ns(b, row + s));
        if (s > 0)
            at = plus(at, latency_ns(b, costs->send_b_ns, row, s, s - 1));
    }
    pp_ns out = 0;
    for (uint32_t s = 0; s <= last; s++) {
        b->out_ns[s] = b->split ? 0 : out;
        if (s < last)
            out = plus(plus(out, back_ns(b, row + s)),
                       latency_ns(b, costs->send_b_ns, row, s + 1, s));
    }
    return end;
}

/* The bytes held from the start of F to the end of the backward. */
static int64_t held_bytes(const pp_costs *costs, size_t row)
{
    return plus(costs->activation_bytes[row], costs->logits_bytes[row]);
}

/* The memory left for activations on this rank; may be negative. */
static int64_t room_bytes(const bounding *b, uint32_t rank)
{
    const pp_costs *costs = b->costs;
    return pp_costs_limit(costs, rank, b->limit_bytes) -
           plus(plus(costs->parameter_bytes[rank], costs->gradient_bytes[rank]),
                plus(costs->optimizer_bytes[rank],
                     plus(costs->workspace_bytes[rank], costs->comm_library_bytes[rank])));
}

static void add_memory(bounding *b, size_t row, uint32_t s, uint32_t count, rank_sums *rank)
{
    const pp_costs *costs = b->costs;
    int64_t held = held_bytes(costs, row + s);
    int64_t recompute = plus(costs->recompute_bytes[row + s], costs->temporary_bytes[row + s]);
    pp_ns back = back_ns(b, row + s);
    pp_ns rest = pp_min(costs->w_ns[row + s], pp_max(0, costs->b_ns[row + s] - back));
    int64_t gathered =
        costs->sharded ? plus(costs->gathered_bytes[s], costs->whole_gradient_bytes[s]) : 0;
    if (plus(plus(held, recompute), gathered) > room_bytes(b, b->stage_rank[s]))
        b->fits = false;
    double one = (double)held * (double)(plus(b->back_in_ns[s], back) - b->in_ns[s]) +
                 (double)recompute * (double)back;
    if (b->split)
        one += (double)pp_min(costs->stash_bytes[row + s], held) * (double)rest;
    rank->area += one * (double)count;
    rank->terms++;
    rank->least_recompute_bytes = pp_min(rank->least_recompute_bytes, recompute);
}

/* Adds `count` microbatches of one class to their ranks, or to the mirrored ones. */
static void add_to_ranks(bounding *b, size_t row, uint32_t count, bool mirrored)
{
    for (uint32_t s = 0; count && s < b->costs->stages; s++) {
        uint32_t home = b->stage_rank[s];
        rank_sums *rank = &b->rank[mirrored ? b->costs->ranks - 1 - home : home];
        pp_ns forward = times(forward_work_ns(b, row + s), count);
        rank->head_ns = pp_min(rank->head_ns, b->in_ns[s]);
        rank->tail_ns = pp_min(rank->tail_ns, b->out_ns[s]);
        rank->first_back_ns = pp_min(rank->first_back_ns, b->back_in_ns[s]);
        rank->forward_ns = plus(rank->forward_ns, forward);
        pp_ns back = b->forward_only ? 0 : times(back_work_ns(b, row + s), count);
        rank->load_ns = plus(rank->load_ns, plus(forward, back));
        if (b->limit_bytes)
            add_memory(b, row, s, count, rank);
    }
}

static pp_ns add_class(bounding *b, uint32_t class)
{
    size_t row = (size_t) class * b->costs->stages;
    if (b->count[class] == 0)
        return 0;
    pp_ns path = chain(b, row);
    add_to_ranks(b, row, b->count[class] - b->mirrored_count[class], false);
    add_to_ranks(b, row, b->mirrored_count[class], true);
    return path;
}

/* The most time per byte first. */
static int compare_items(const void *left, const void *right)
{
    const item *a = left;
    const item *c = right;
    double x = (double)a->forward_ns * (double)c->bytes;
    double y = (double)c->forward_ns * (double)a->bytes;
    if (a->bytes == 0 || c->bytes == 0)
        return (a->bytes != 0) - (c->bytes != 0);
    return (x < y) - (x > y);
}

static size_t gather_items(const bounding *b, uint32_t rank, bool *alike_out)
{
    const pp_costs *costs = b->costs;
    size_t n = 0;
    *alike_out = true;
    for (uint32_t class = 0; class < costs->classes; class ++) {
        for (uint32_t k = b->first[rank]; b->count[class] && k < b->first[rank + 1]; k++) {
            size_t row = (size_t) class * costs->stages + b->stages[k];
            b->items[n++] =
                (item){ forward_work_ns(b, row), held_bytes(costs, row), b->count[class] };
            *alike_out = *alike_out && b->items[n - 1].bytes == b->items[0].bytes;
        }
    }
    return n;
}

/* Returns true if at least `enough_ns` of forward work fit even if the items with the least time
 * per byte are taken, and an item that does not fit whole is left out. This saves the sort. */
static bool surely_fits(const bounding *b, size_t n, int64_t room, pp_ns enough_ns)
{
    double least_density = DBL_MAX;
    pp_ns longest_ns = 0;
    for (size_t k = 0; k < n; k++) {
        const item *x = &b->items[k];
        longest_ns = pp_max(longest_ns, x->forward_ns);
        if (x->bytes > 0 && (double)x->forward_ns < least_density * (double)x->bytes)
            least_density = (double)x->forward_ns / (double)x->bytes;
    }
    return least_density < DBL_MAX &&
           (double)room * least_density * (1 - 1e-9) - (double)longest_ns > (double)enough_ns;
}

/* The most forward work that fits into the memory before a backward runs: a knapsack, rounded up.
 * It is exact when all items have one size; otherwise its linear relaxation is solved. Returns all
 * work if `enough_ns` certainly fit. */
static pp_ns forward_that_fits(const bounding *b, uint32_t rank, pp_ns enough_ns)
{
    bool alike;
    size_t n = gather_items(b, rank, &alike);
    int64_t room = room_bytes(b, rank) - b->rank[rank].least_recompute_bytes;
    if (surely_fits(b, n, room, enough_ns))
        return b->rank[rank].forward_ns;
    qsort(b->items, n, sizeof *b->items, compare_items);
    pp_ns work = 0;
    for (size_t k = 0; k < n; k++) {
        const item *x = &b->items[k];
        int64_t whole = x->bytes == 0 ? (int64_t)x->count : pp_min(x->count, room / x->bytes);
        work = plus(work, times(x->forward_ns, (uint32_t)whole));
        room -= whole * x->bytes;
        if (whole == (int64_t)x->count)
            continue;
        double part = alike ? 0 : (double)x->forward_ns * (double)room / (double)x->bytes;
        return plus(work, (pp_ns)(part * (1 + 1e-12)) + (alike ? 0 : 2));
    }
    return work;
}

static void finish_rank(const bounding *b, uint32_t r, pp_ns part_ns[PP_BOUND_COUNT])
{
    const rank_sums *rank = &b->rank[r];
    pp_ns rest = plus(rank->load_ns, rank->tail_ns);
    pp_ns early = rank->forward_ns;
    part_ns[PP_BOUND_LOAD] = plus(rank->head_ns, rest);
    part_ns[PP_BOUND_AREA] = 0;
    if (b->forward_only)
        return;
    if (b->limit_bytes && b->fits) {
        double room = (double)room_bytes(b, r);
        double guard = 1 - (double)(rank->terms + 8) * DBL_EPSILON;
        double share = room > 0 ? rank->area / room * guard : 0;
        early = pp_min(early, forward_that_fits(b, r, rank->first_back_ns - rank->head_ns));
        if (share >= 1 && share < (double)PP_NS_MAX)
            part_ns[PP_BOUND_AREA] = plus(plus(rank->head_ns, rank->tail_ns), (pp_ns)share);
    }
    pp_ns idle_to = rank->first_back_ns - early;
    part_ns[PP_BOUND_START] = plus(pp_max(rank->head_ns, idle_to), rest);
}

static void bounding_free(bounding *b)
{
    free(b->count);
    free(b->mirrored_count);
    free(b->rank);
    free(b->in_ns);
    free(b->first);
    free(b->items);
}

static void sort_stages(bounding *b)
{
    uint32_t stages = b->costs->stages;
    for (uint32_t s = 0; s < stages; s++)
        b->first[b->stage_rank[s] + 1]++;
    for (uint32_t r = 0; r < b->costs->ranks; r++)
        b->first[r + 1] += b->first[r];
    for (uint32_t s = stages;
         s-- > 0;) /* first[r] is the end of rank r and becomes its beginning */
        b->stages[--b->first[b->stage_rank[s] + 1]] = s;
    memmove(b->first, b->first + 1, b->costs->ranks * sizeof *b->first);
    b->first[b->costs->ranks] = stages;
}

static pp_status bounding_new(bounding *b, pp_err *err)
{
    const pp_costs *costs = b->costs;
    size_t stages = costs->stages;
    b->count = pp_alloc_array(costs->classes, sizeof *b->count);
    b->mirrored_count = pp_alloc_array(costs->classes, sizeof *b->mirrored_count);
    b->rank = pp_alloc_array(costs->ranks, sizeof *b->rank);
    b->in_ns = pp_alloc_array(3 * stages, sizeof *b->in_ns);
    b->first = pp_alloc_array(costs->ranks + 1 + stages, sizeof *b->first);
    b->items = pp_alloc_array(b->limit_bytes ? costs->classes * stages : 1, sizeof *b->items);
    if (!b->count || !b->mirrored_count || !b->rank || !b->in_ns || !b->first || !b->items)
        return pp_err_nomem(err);
    b->back_in_ns = b->in_ns + stages;
    b->out_ns = b->back_in_ns + stages;
    b->stages = b->first + costs->ranks + 1;
    for (uint32_t r = 0; r < costs->ranks; r++)
        b->rank[r] = (rank_sums){ .head_ns = INT64_MAX,
                                  .tail_ns = INT64_MAX,
                                  .first_back_ns = INT64_MAX,
                                  .least_recompute_bytes = INT64_MAX };
    for (uint32_t j = 0; j < costs->microbatches; j++)
        b->count[costs->class_of[j]]++;
    for (uint32_t j = b->mirrored_from; j < costs->microbatches; j++)
        b->mirrored_count[costs->class_of[j]]++;
    for (size_t i = 0; b->pairs && i < costs->classes * stages; i++)
        b->longest_b_ns = pp_max(b->longest_b_ns, costs->b_ns[i]);
    sort_stages(b);
    return PP_OK;
}

static void keep(pp_bound *bound, pp_bound_part part, pp_ns ns, uint32_t rank)
{
    if (ns > bound->part_ns[part]) {
        bound->part_ns[part] = ns;
        bound->part_rank[part] = rank;
    }
}

/* Finds all bounds. b: describes the ops; its tables are allocated here. */
static pp_status find(bounding *b, pp_bound *bound_out, pp_err *err)
{
    const pp_costs *costs = b->costs;
    pp_status status = bounding_new(b, err);
    if (status)
        return status;
    pp_bound bound = { 0 };
    for (uint32_t class = 0; class < costs->classes; class ++)
        keep(&bound, PP_BOUND_PATH, add_class(b, class), 0);
    for (uint32_t r = 0; r < costs->ranks; r++) {
        pp_ns part_ns[PP_BOUND_COUNT] = { 0 };
        if (b->first[r] == b->first[r + 1])
            continue; /* a rank without a stage */
        finish_rank(b, r, part_ns);
        keep(&bound, PP_BOUND_LOAD, part_ns[PP_BOUND_LOAD], r);
        keep(&bound, PP_BOUND_START, part_ns[PP_BOUND_START], r);
        keep(&bound, PP_BOUND_AREA, part_ns[PP_BOUND_AREA], r);
    }
    for (int part = 0; part < PP_BOUND_COUNT; part++) {
        if (bound.part_ns[part] > bound.ns) {
            bound.ns = bound.part_ns[part];
            bound.part = (pp_bound_part)part;
        }
    }
    bound.fits = b->fits;
    *bound_out = bound;
    return PP_OK;
}

pp_status pp_bound_makespan(const pp_costs *costs, const uint32_t *stage_rank, bool split,
                            int64_t memory_limit_bytes, pp_bound *bound_out, pp_err *err)
{
    bounding b PP_CLEANUP(bounding_free) = {
        .costs = costs,
        .stage_rank = stage_rank,
        .split = split,
        .pairs = costs->has_pairs || costs->has_hidden,
        .mirrored_from = costs->microbatches,
        .fits = true,
        .limit_bytes = costs->has_memory && memory_limit_bytes > 0 ? memory_limit_bytes : 0,
    };
    return find(&b, bound_out, err);
}

pp_ns pp_bound_boundary(const pp_costs *costs, bool step_sync)
{
    pp_ns sync = INT64_MAX;
    pp_ns shortest = INT64_MAX;
    pp_ns longest = 0;
    for (uint32_t r = 0; r < costs->ranks; r++) {
        sync = pp_min(sync, costs->grad_sync_ns[r]);
        shortest = pp_min(shortest, costs->optimizer_ns[r]);
        longest = pp_max(longest, costs->optimizer_ns[r]);
    }
    return plus(plus(sync, step_sync ? longest : shortest), costs->fixed_ns);
}

pp_status pp_bound_order(const pp_costs *costs, const pp_order *order, int64_t memory_limit_bytes,
                         pp_bound *bound_out, pp_err *err)
{
    bounding b PP_CLEANUP(bounding_free) = {
        .costs = costs,
        .stage_rank = order->stage_rank,
        .forward_only = pp_order_forward_only(order),
        .mirrored_from = order->mirrored_from,
        .fits = true,
    };
    const size_t ops = order->rank_begin[order->ranks];
    b.split = ops > 2 * (size_t)order->stages * order->microbatches; /* F and B are two */
    for (size_t i = 0; (costs->has_pairs || costs->has_hidden) && i < ops && !b.pairs; i++)
        b.pairs = order->ops[i].paired;
    if (costs->has_memory && memory_limit_bytes > 0 && b.mirrored_from == order->microbatches &&
        !b.forward_only)
        b.limit_bytes = memory_limit_bytes;
    return find(&b, bound_out, err);
}

pp_status pp_bound_report(const pp_costs *costs, const pp_order *order, bool strong,
                          pp_report *report, pp_err *err)
{
    bool within = report->has_memory && report->memory_limit_bytes > 0;
    uint32_t fullest;
    within = within && pp_report_excess(report, report->memory_limit_bytes, &fullest) <= 0;
    pp_bound bound;
    pp_status status =
        pp_bound_order(costs, order, within ? report->memory_limit_bytes : 0, &bound, err);
    if (status)
        return status;
    report->has_bound = true;
    report->lower_bound_ns = bound.ns;
    if (bound.part == PP_BOUND_PATH)
        snprintf(report->bound_name, sizeof report->bound_name, "%s (any order of these ops)",
                 pp_bound_text(bound.part));
    else
        snprintf(report->bound_name, sizeof report->bound_name,
                 "%s of rank %" PRIu32 " (any order of these ops)", pp_bound_text(bound.part),
                 bound.part_rank[bound.part]);
    pp_order_bounds limits = { 0 };
    if (strong && bound.ns < report->makespan_ns)
        status = pp_order_bounds_of_order(costs, order, within ? report->memory_limit_bytes : 0,
                                          report->makespan_ns, &limits, err);
    if (status)
        return status;
    if (limits.ticks > bound.ns) {
        report->lower_bound_ns = limits.ticks;
        snprintf(report->bound_name, sizeof report->bound_name, "%s (any order of these ops)",
                 pp_order_bound_key(limits.largest));
    }
    if (report->lower_bound_ns <= report->makespan_ns)
        return PP_OK;
    return pp_err_set(err, PP_INTERNAL, NULL,
                      "the simulated makespan, %" PRId64 " ns, is below its lower bound, %" PRId64
                      " ns (%s), so that one of them is wrong; please report the input as an issue",
                      report->makespan_ns, report->lower_bound_ns, report->bound_name);
}
