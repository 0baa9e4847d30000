/* The interleaved order: rank r holds stages r, r + p, r + 2p, ... Forward k runs the chunk and the
 * microbatch of row k of a table, which lists for each group of N microbatches, for each chunk, the
 * microbatches of the group. Backward k uses the same row with the chunks in reverse. The warm-up
 * has 2 (p - 1 - r) + (v - 1) N forwards (Megatron-LM schedules.py), and one more with pairs
 * (get_pp_rank_microbatches, overlap_moe_expert_parallel_comm). */
#include "sim/schedule/builders/chunk_rounds.h"

#include "sim/base/field.h"
#include "sim/schedule/builders/rounds.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct slot {
    uint32_t chunk, microbatch;
} slot;

/* Row k of the table. The last group may be smaller than N. */
static slot table_row(uint64_t k, const pp_schedule_params *params, uint32_t group)
{
    uint32_t v = params->chunks;
    uint64_t first = k / ((uint64_t)group * v) * group; /* the first microbatch of the group */
    uint64_t size = params->microbatches - first < group ? params->microbatches - first : group;
    uint64_t inside = k - first * v;
    return (slot){ .chunk = (uint32_t)(inside / size),
                   .microbatch = (uint32_t)(first + inside % size) };
}

/* Checks Megatron's rule: p <= N <= m, and the last group, m mod N, is 0 or at least p. */
static pp_status check_group(uint32_t p, uint32_t m, uint32_t group, pp_err *err)
{
    if (group >= p && group <= m && (m % group == 0 || m % group >= p))
        return PP_OK;
    uint32_t below = 0;
    uint32_t above = 0;
    for (uint32_t n = p; n <= m; n++) {
        if (m % n != 0 && m % n < p)
            continue;
        if (n < group)
            below = n;
        if (n > group && !above)
            above = n;
    }
    if (!below && !above)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_GROUP_SIZE),
                          "no group size is possible with %" PRIu32 " microbatches on %" PRIu32
                          " ranks; there must be at least as many microbatches as ranks",
                          m, p);
    char nearest[64];
    if (below && above)
        snprintf(nearest, sizeof nearest, "%" PRIu32 " and %" PRIu32, below, above);
    else
        snprintf(nearest, sizeof nearest, "%" PRIu32, below ? below : above);
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_GROUP_SIZE),
                      "%" PRIu32 " is not allowed: N must be from p = %" PRIu32 " to m = %" PRIu32
                      ", and m mod N must be 0 or at least p; nearest: %s",
                      group, p, m, nearest);
}

static void add(pp_order *order, uint32_t r, pp_op_kind kind, uint64_t k,
                const pp_schedule_params *params, uint32_t group)
{
    slot at = table_row(k, params, group);
    uint32_t chunk = kind == PP_OP_F ? at.chunk : params->chunks - 1 - at.chunk;
    pp_order_add(order, r, kind, chunk * params->ranks + r, at.microbatch);
}

pp_status pp_chunk_rounds_build(const pp_schedule_params *params, bool pairs, const char *name,
                                pp_order **order_out, pp_err *err)
{
    uint32_t p = params->ranks;
    uint32_t m = params->microbatches;
    uint64_t total = (uint64_t)m * params->chunks;
    uint32_t group = params->group_size;
    pp_status status =
        group ? check_group(p, m, group, err) : pp_rounds_group(name, true, p, m, &group, err);
    if (status)
        return status;
    pp_order *order = NULL;
    status =
        pp_order_new(p, p * params->chunks, m, PP_PLACE_LOOP, 2 * (size_t)total * p, &order, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < p; r++) {
        uint64_t warmup =
            2 * (uint64_t)(p - 1 - r) + (uint64_t)(params->chunks - 1) * group + pairs;
        if (warmup > total)
            warmup = total;
        for (uint64_t k = 0; k < warmup; k++)
            add(order, r, PP_OP_F, k, params, group);
        for (uint64_t k = 0; k < total; k++) {
            const bool both = k + warmup < total;
            if (both)
                add(order, r, PP_OP_F, k + warmup, params, group);
            if (both && pairs)
                order->ops[order->rank_begin[order->ranks] - 1].paired = 1;
            add(order, r, PP_OP_B, k, params, group);
        }
    }
    *order_out = order;
    return PP_OK;
}
