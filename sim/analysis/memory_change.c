/* Keys of the components, and the changes at the start and the end of an op. */
#include "sim/analysis/memory_change.h"

#include <inttypes.h>

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

void pp_memory_at_end(bool forward_only, pp_op op, const pp_costs *costs,
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
        if (forward_only) {
            bytes[PP_MEMORY_LOGITS] -= costs->logits_bytes[row];
            bytes[PP_MEMORY_ACTIVATIONS] -= costs->activation_bytes[row];
        }
        break;
    case PP_OP_KIND_COUNT:
        break;
    }
}
