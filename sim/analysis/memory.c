#include "sim/analysis/memory_comm.h"

#include "sim/program/pairs.h"

#include <inttypes.h>
#include <string.h>

const char *pp_memory_key(pp_memory_component component)
{
    static const char *const keys[] = {
#define PP_MEMORY_KEY(name, key) #key,
        PP_MEMORY_MAP(PP_MEMORY_KEY)
#undef PP_MEMORY_KEY
    };
    return keys[component];
}

int64_t pp_memory_total(const int64_t bytes[PP_MEMORY_COUNT])
{
    int64_t sum = 0;
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        sum += bytes[c];
    return sum;
}

pp_status pp_memory_too_large(uint32_t rank, pp_err *err)
{
    return pp_err_set(err, PP_INPUT, NULL,
                      "the memory of rank %" PRIu32 " does not fit 64 bits; give smaller sizes",
                      rank);
}

void pp_memory_at_start(pp_op op, const pp_costs *costs, int64_t bytes[PP_MEMORY_COUNT])
{
    size_t row = pp_cost_index(costs, op.stage, op.microbatch);
    if (op.kind == PP_OP_F) {
        bytes[PP_MEMORY_ACTIVATIONS] += costs->activation_bytes[row];
        bytes[PP_MEMORY_LOGITS] += costs->logits_bytes[row];
    } else if (op.kind != PP_OP_W) {
        bytes[PP_MEMORY_RECOMPUTE] += costs->recompute_bytes[row];
        bytes[PP_MEMORY_TEMPORARIES] += costs->temporary_bytes[row];
    }
}

void pp_memory_at_end(const pp_program *program, pp_op op, const pp_costs *costs,
                      int64_t bytes[PP_MEMORY_COUNT])
{
    size_t row = pp_cost_index(costs, op.stage, op.microbatch);
    switch ((pp_op_kind)op.kind) {
    case PP_OP_B:
    case PP_OP_I:
        bytes[PP_MEMORY_RECOMPUTE] -= costs->recompute_bytes[row];
        bytes[PP_MEMORY_TEMPORARIES] -= costs->temporary_bytes[row];
        bytes[PP_MEMORY_LOGITS] -= costs->logits_bytes[row];
        bytes[PP_MEMORY_ACTIVATIONS] -= costs->activation_bytes[row];
        if (op.kind == PP_OP_I)
            bytes[PP_MEMORY_WEIGHT_STASH] += costs->stash_bytes[row];
        break;
    case PP_OP_W:
        bytes[PP_MEMORY_WEIGHT_STASH] -= costs->stash_bytes[row];
        break;
    case PP_OP_F:
        if (program->forward_only) { /* nothing comes back for them */
            bytes[PP_MEMORY_LOGITS] -= costs->logits_bytes[row];
            bytes[PP_MEMORY_ACTIVATIONS] -= costs->activation_bytes[row];
        }
        break;
    case PP_OP_KIND_COUNT:
        break;
    }
}

/* Ends at the first instant beyond `limit_bytes`. */
static pp_status topological_order(const pp_program *program, const pp_timeline *timeline,
                                   const pp_costs *costs, uint32_t rank, int64_t limit_bytes,
                                   pp_memory_sample sample, void *context, pp_memory_peak *peak_out,
                                   pp_err *err)
{
    int64_t bytes[PP_MEMORY_COUNT] = {
        [PP_MEMORY_PARAMETERS] = costs->parameter_bytes[rank],
        [PP_MEMORY_GRADIENTS] = program->forward_only ? 0 : costs->gradient_bytes[rank],
        [PP_MEMORY_OPTIMIZER] = program->forward_only ? 0 : costs->optimizer_bytes[rank],
        [PP_MEMORY_COMM_LIBRARY] = costs->comm_library_bytes[rank],
    };
    if (program->comm)
        return pp_memory_walk_comm(program, timeline, costs, rank, limit_bytes, sample, context,
                                   bytes, peak_out, err);
    pp_memory_peak peak = { .total_bytes = -1 };
    for (size_t i = program->rank_begin[rank];
         i < program->rank_begin[rank + 1] && peak.total_bytes <= limit_bytes; i++) {
        size_t last = pp_pair_starts(program, costs, i) ? i + 1 : i; /* halves run together */
        for (size_t k = i; k <= last; k++)
            pp_memory_at_start(program->op[k], costs, bytes);
        int64_t sum = pp_memory_total(bytes);
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
            pp_memory_at_end(program, program->op[k], costs, bytes);
        if (sample)
            sample(context, timeline->end_ns[i], bytes);
        i = last;
    }
    *peak_out = peak;
    return PP_OK;
}

pp_status pp_memory_walk(const pp_program *program, const pp_timeline *timeline,
                         const pp_costs *costs, uint32_t rank, pp_memory_sample sample,
                         void *context, pp_memory_peak *peak_out, pp_err *err)
{
    return topological_order(program, timeline, costs, rank, INT64_MAX, sample, context, peak_out,
                             err);
}

pp_status pp_memory_first_over(const pp_program *program, const pp_timeline *timeline,
                               const pp_costs *costs, uint32_t rank, int64_t limit_bytes,
                               pp_memory_peak *over_out, pp_err *err)
{
    return topological_order(program, timeline, costs, rank, limit_bytes, NULL, NULL, over_out,
                             err);
}
