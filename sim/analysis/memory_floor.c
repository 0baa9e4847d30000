/* A lower bound of the peak memory of a rank: one pass over its ops, in their order, in O(ops).
 * Each rank runs its ops one after the other, so what the ops before the present one have left
 * behind is in its memory whenever that op starts. Buffers of transfers only add to it, and so do
 * two ops that run at the same time. */
#include "sim/analysis/memory_floor.h"

#include <string.h>

void pp_memory_floor(const pp_order *order, const pp_costs *costs, uint32_t rank, bool outputs,
                     pp_memory_peak *peak_out)
{
    int64_t bytes[PP_MEMORY_COUNT];
    pp_memory_set_static(costs, rank, false, bytes);
    int64_t total_bytes = pp_memory_total(bytes);
    pp_memory_peak peak = { .total_bytes = -1 };
    for (size_t i = order->rank_begin[rank];
         i < order->rank_begin[rank + 1] && peak.total_bytes <= PP_MEMORY_TOTAL_MAX; i++) {
        const pp_op op = order->ops[i];
        int64_t unsharded[PP_MEMORY_COUNT] = { 0 };
        int64_t unsharded_bytes = 0;
        total_bytes += pp_memory_at_start(op, costs, bytes);
        if (!costs->regathers || op.kind != PP_OP_F) /* which may hold two layers */
            unsharded_bytes = pp_memory_add_unsharded(
                costs, op.stage, op.kind == PP_OP_B || op.kind == PP_OP_W, unsharded);
        if (total_bytes + unsharded_bytes > peak.total_bytes) {
            peak.total_bytes = total_bytes + unsharded_bytes;
            for (int c = 0; c < PP_MEMORY_COUNT; c++)
                peak.bytes[c] = bytes[c] + unsharded[c];
            peak.instruction = i;
        }
        total_bytes += pp_memory_at_end(false, op, costs, bytes);
        if (!outputs || (op.kind != PP_OP_B && op.kind != PP_OP_I))
            continue;
        const int64_t kept = costs->output_bytes[pp_cost_index(costs, op.stage, op.microbatch)];
        bytes[PP_MEMORY_OUTPUTS] += kept;
        total_bytes += kept;
    }
    *peak_out = peak;
}
