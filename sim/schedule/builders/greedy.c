/* Keeps the state of greedy generators: clocks, memory and open W's of every rank, which are
 * updated in constant time per op. */
#include "sim/schedule/builders/greedy.h"

#include "sim/base/alloc.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static_assert(PP_OP_F == 0 && PP_OP_I == 1 && PP_OP_W == 2, "rows of pp_greedy.placed");

/* One activation, 27 * 7 * 10^9: decimal and small fractions of it are whole, so that sums reach
 * the limit exactly. */
static const int64_t activation = 189000000000;

/* The part of its activation that I frees, from 0 to 1. The memory costs sum to 0 except for
 * rounding. */
static double freed_by_input(const pp_memory_costs *memory)
{
    double part = memory ? -memory->i / memory->f : 0.5;
    return part > 1 ? 1 : part > 0 ? part : 0;
}

static void set_memory(pp_greedy *g, const pp_memory_costs *memory, uint32_t limit)
{
    g->memory_change[PP_OP_F] = activation;
    g->memory_change[PP_OP_I] = -llround(freed_by_input(memory) * (double)activation);
    g->memory_change[PP_OP_W] = -activation - g->memory_change[PP_OP_I];
    g->memory_limit = limit * activation;
}

static bool allocate(pp_greedy *g)
{
    size_t p = g->ranks;
    size_t m = g->microbatches;
    g->clock_ns = pp_alloc_array(p, sizeof *g->clock_ns);
    g->idle_ns = pp_alloc_array(p, sizeof *g->idle_ns);
    g->first_ns = pp_alloc_array(p, sizeof *g->first_ns);
    g->memory = pp_alloc_array(p, sizeof *g->memory);
    g->placed = pp_alloc_array((size_t)3 * g->stages, sizeof *g->placed);
    g->rank_placed = pp_alloc_array(p, sizeof *g->rank_placed);
    g->opened = pp_alloc_array(p, sizeof *g->opened);
    g->closed = pp_alloc_array(p, sizeof *g->closed);
    g->end_ns = pp_alloc_array(2 * g->stages * m, sizeof *g->end_ns);
    g->queue = pp_alloc_array(p * g->rank_pairs, sizeof *g->queue);
    g->ops = pp_alloc_array(p * g->rank_ops, sizeof *g->ops);
    g->kept = pp_alloc_array(p * g->rank_ops, sizeof *g->kept);
    return g->clock_ns && g->idle_ns && g->first_ns && g->memory && g->placed && g->rank_placed &&
           g->opened && g->closed && g->end_ns && g->queue && g->ops && g->kept;
}

pp_status pp_greedy_new(const pp_schedule_params *params, pp_placement placement, uint32_t limit,
                        pp_greedy **greedy_out, pp_err *err)
{
    pp_greedy *g PP_CLEANUP(pp_greedy_free) = pp_alloc_array(1, sizeof *g);
    if (!g)
        return pp_err_nomem(err);
    g->ranks = params->ranks;
    g->stages = params->ranks * params->chunks;
    g->microbatches = params->microbatches;
    g->costs = params->costs;
    g->same_ns[PP_OP_F] = g->same_ns[PP_OP_I] = g->same_ns[PP_OP_W] = 1;
    g->rank_pairs = (size_t)params->chunks * params->microbatches;
    g->rank_ops = 3 * g->rank_pairs;
    assert(!g->costs ||
           (g->costs->stages == g->stages && g->costs->microbatches == g->microbatches));
    set_memory(g, params->memory, limit);
    pp_status status = pp_order_new(g->ranks, g->stages, g->microbatches, placement,
                                    g->ranks * g->rank_ops, &g->order, err);
    if (status)
        return status;
    if (!allocate(g))
        return pp_err_nomem(err);
    *greedy_out = g;
    g = NULL; /* the caller's now */
    return PP_OK;
}

void pp_greedy_free(pp_greedy **greedy)
{
    pp_greedy *g = *greedy;
    if (!g)
        return;
    pp_order_free(&g->order);
    free(g->clock_ns);
    free(g->idle_ns);
    free(g->first_ns);
    free(g->memory);
    free(g->placed);
    free(g->rank_placed);
    free(g->opened);
    free(g->closed);
    free(g->end_ns);
    free(g->queue);
    free(g->ops);
    free(g->kept);
    free(g);
    *greedy = NULL;
}

/* A mean that is exact for equal values. */
typedef struct mean {
    int64_t count, whole, rest; /* sums of value / count and of value % count */
} mean;

static void add_to(mean *sum, pp_ns value)
{
    sum->whole += value / sum->count;
    sum->rest += value % sum->count;
}

static pp_ns value_of(const mean *sum)
{
    return sum->count ? sum->whole + sum->rest / sum->count : 0;
}

void pp_greedy_use_means(pp_greedy *g)
{
    const uint32_t *rank = g->order->stage_rank;
    const int64_t m = g->microbatches;
    int64_t edges = 0; /* between ranks, in both directions */
    if (!g->costs)
        return;
    for (uint32_t s = 1; s < g->stages; s++)
        edges += rank[s] != rank[s - 1] ? 2 : 0;
    mean op[3];
    mean latency = { .count = edges * m };
    for (int kind = PP_OP_F; kind <= PP_OP_W; kind++)
        op[kind] = (mean){ .count = g->stages * m };
    for (uint32_t j = 0; j < g->microbatches; j++) {
        for (uint32_t s = 0; s < g->stages; s++) {
            for (int kind = PP_OP_F; kind <= PP_OP_W; kind++)
                add_to(&op[kind], pp_greedy_cost(g, (pp_op_kind)kind, s, j));
            if (s == 0 || rank[s] == rank[s - 1])
                continue;
            add_to(&latency, pp_greedy_latency(g, PP_OP_F, s, j));
            add_to(&latency, pp_greedy_latency(g, PP_OP_I, s - 1, j));
        }
    }
    for (int kind = PP_OP_F; kind <= PP_OP_W; kind++)
        g->same_ns[kind] = value_of(&op[kind]);
    g->same_latency_ns = value_of(&latency);
    g->costs = NULL;
}

void pp_greedy_begin(pp_greedy *g)
{
    g->failed = false;
    g->worst_idle_ns = 0;
    memset(g->clock_ns, 0, g->ranks * sizeof *g->clock_ns);
    memset(g->idle_ns, 0, g->ranks * sizeof *g->idle_ns);
    memset(g->first_ns, 0, g->ranks * sizeof *g->first_ns);
    memset(g->memory, 0, g->ranks * sizeof *g->memory);
    memset(g->placed, 0, (size_t)3 * g->stages * sizeof *g->placed);
    memset(g->rank_placed, 0, g->ranks * sizeof *g->rank_placed);
    memset(g->opened, 0, g->ranks * sizeof *g->opened);
    memset(g->closed, 0, g->ranks * sizeof *g->closed);
}

void pp_greedy_keep(pp_greedy *g)
{
    pp_op *ops = g->ops;
    g->ops = g->kept;
    g->kept = ops;
    g->has_kept = true;
}

bool pp_greedy_complete(const pp_greedy *g)
{
    for (uint32_t r = 0; r < g->ranks; r++) {
        if (g->rank_placed[r] != g->rank_ops)
            return false;
    }
    return !g->failed;
}

void pp_greedy_finish(pp_greedy *g, pp_order **order_out)
{
    assert(g->has_kept);
    for (uint32_t r = 0; r < g->ranks; r++) {
        for (size_t k = 0; k < g->rank_ops; k++) {
            pp_op op = g->kept[r * g->rank_ops + k];
            pp_order_add(g->order, r, (pp_op_kind)op.kind, op.stage, op.microbatch);
        }
    }
    *order_out = g->order;
    g->order = NULL; /* the caller's now */
}

pp_ns pp_greedy_latency(const pp_greedy *g, pp_op_kind kind, uint32_t stage, uint32_t microbatch)
{
    if (!g->costs)
        return g->same_latency_ns;
    if (kind == PP_OP_F)
        return g->costs->send_f_ns[pp_cost_index(g->costs, stage - 1, microbatch)];
    return g->costs->send_b_ns[pp_cost_index(g->costs, stage + 1, microbatch)];
}

bool pp_greedy_arrival(pp_greedy *g, pp_op_kind kind, uint32_t stage, pp_ns *ns_out)
{
    if (stage == (kind == PP_OP_F ? 0 : g->stages - 1))
        return false;
    uint32_t from = kind == PP_OP_F ? stage - 1 : stage + 1;
    uint32_t j = pp_greedy_placed(g, kind, stage);
    if (pp_greedy_placed(g, kind, from) <= j)
        g->failed = true;
    if (g->failed || g->order->stage_rank[from] == g->order->stage_rank[stage])
        return false;
    *ns_out = pp_greedy_plus(g->end_ns[((size_t)kind * g->stages + from) * g->microbatches + j],
                             pp_greedy_latency(g, kind, stage, j));
    return true;
}

static void append(pp_greedy *g, uint32_t rank, pp_op op, pp_ns start_ns)
{
    g->clock_ns[rank] =
        pp_greedy_plus(start_ns, pp_greedy_cost(g, op.kind, op.stage, op.microbatch));
    g->memory[rank] += g->memory_change[op.kind];
    g->placed[(size_t)op.kind * g->stages + op.stage]++;
    g->ops[rank * g->rank_ops + g->rank_placed[rank]++] = op;
}

void pp_greedy_place(pp_greedy *g, pp_op_kind kind, uint32_t stage)
{
    uint32_t rank = g->order->stage_rank[stage];
    uint32_t j = pp_greedy_placed(g, kind, stage);
    pp_ns start_ns = g->clock_ns[rank];
    pp_ns arrival_ns;
    if (j >= g->microbatches || (kind == PP_OP_I && pp_greedy_placed(g, PP_OP_F, stage) <= j))
        g->failed = true;
    if (pp_greedy_arrival(g, kind, stage, &arrival_ns) && arrival_ns > start_ns)
        start_ns = arrival_ns;
    if (g->failed)
        return;
    if (g->rank_placed[rank] == 0)
        g->first_ns[rank] = start_ns;
    else
        g->idle_ns[rank] += start_ns - g->clock_ns[rank];
    if (g->idle_ns[rank] > g->worst_idle_ns)
        g->worst_idle_ns = g->idle_ns[rank];
    const pp_op op = { .microbatch = j, .stage = (uint16_t)stage, .kind = (uint8_t)kind };
    append(g, rank, op, start_ns);
    g->end_ns[((size_t)kind * g->stages + stage) * g->microbatches + j] = g->clock_ns[rank];
    if (kind == PP_OP_I)
        g->queue[rank * g->rank_pairs + g->opened[rank]++] = op;
}

void pp_greedy_place_w(pp_greedy *g, uint32_t rank)
{
    if (pp_greedy_open(g, rank) == 0)
        g->failed = true;
    if (g->failed)
        return;
    pp_op op = g->queue[rank * g->rank_pairs + g->closed[rank]++];
    op.kind = PP_OP_W;
    append(g, rank, op, g->clock_ns[rank]);
}

/* The duration of the oldest open W, which must exist. */
static pp_ns oldest_w_ns(const pp_greedy *g, uint32_t rank)
{
    pp_op op = g->queue[rank * g->rank_pairs + g->closed[rank]];
    return pp_greedy_cost(g, PP_OP_W, op.stage, op.microbatch);
}

void pp_greedy_make_room(pp_greedy *g, uint32_t rank, pp_op_kind kind)
{
    while (!g->failed && g->memory[rank] + g->memory_change[kind] > g->memory_limit)
        pp_greedy_place_w(g, rank);
}

void pp_greedy_fill(pp_greedy *g, uint32_t rank, pp_ns until_ns)
{
    while (!g->failed && pp_greedy_open(g, rank) > 0 &&
           pp_greedy_plus(g->clock_ns[rank], oldest_w_ns(g, rank)) <= until_ns)
        pp_greedy_place_w(g, rank);
}
