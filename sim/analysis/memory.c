/* Memory over time without communication: one pass over the ops of the rank, in O(ops). */
#include "sim/analysis/memory.h"

#include "sim/analysis/memory_comm.h"
#include "sim/program/pairs.h"

#include <string.h>

/* Stops at the first instant at which the memory exceeds `limit_bytes`. */
static pp_status replay(const pp_program *program, const pp_timeline *timeline,
                        const pp_costs *costs, uint32_t rank, int64_t limit_bytes,
                        pp_memory_sample sample, void *context, pp_memory_peak *peak_out,
                        pp_err *err)
{
    int64_t bytes[PP_MEMORY_COUNT];
    pp_memory_set_static(costs, rank, program->forward_only, bytes);
    if (program->comm)
        return pp_memory_replay_comm(program, timeline, costs, rank, limit_bytes, sample, context,
                                     bytes, peak_out, err);
    for (uint32_t s = 0; costs->sharded && s < program->stages; s++) /* without UNSHARD */
        if (program->stage_rank[s] == rank)
            pp_memory_add_unsharded(costs, s, !program->forward_only, bytes);
    pp_memory_peak peak = { .total_bytes = -1 };
    int64_t sum = pp_memory_total(bytes);
    for (size_t i = program->rank_begin[rank];
         i < program->rank_begin[rank + 1] && peak.total_bytes <= limit_bytes; i++) {
        size_t last = pp_pair_starts(program, costs, i) ? i + 1 : i; /* halves run together */
        for (size_t k = i; k <= last; k++)
            sum += pp_memory_at_start(program->op[k], costs, bytes);
        if (sum > PP_MEMORY_TOTAL_MAX)
            return pp_memory_too_large(rank, err);
        if (sample)
            sample(context, timeline->start_ns[i], bytes);
        if (sum > peak.total_bytes) {
            peak.total_bytes = sum;
            memcpy(peak.bytes, bytes, sizeof bytes);
            peak.at_ns = timeline->start_ns[i];
            peak.instruction = i;
        }
        for (size_t k = i; k <= last; k++)
            sum += pp_memory_at_end(program->forward_only, program->op[k], costs, bytes);
        if (sample)
            sample(context, timeline->end_ns[i], bytes);
        i = last;
    }
    *peak_out = peak;
    return PP_OK;
}

pp_status pp_memory_replay(const pp_program *program, const pp_timeline *timeline,
                           const pp_costs *costs, uint32_t rank, pp_memory_sample sample,
                           void *context, pp_memory_peak *peak_out, pp_err *err)
{
    return replay(program, timeline, costs, rank, INT64_MAX, sample, context, peak_out, err);
}

pp_status pp_memory_first_over(const pp_program *program, const pp_timeline *timeline,
                               const pp_costs *costs, uint32_t rank, int64_t limit_bytes,
                               pp_memory_peak *over_out, pp_err *err)
{
    return replay(program, timeline, costs, rank, limit_bytes, NULL, NULL, over_out, err);
}
