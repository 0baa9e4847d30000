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

bool pp_memory_is_static(pp_memory_component component)
{
    return component == PP_MEMORY_PARAMETERS || component == PP_MEMORY_GRADIENTS ||
           component == PP_MEMORY_OPTIMIZER || component == PP_MEMORY_WORKSPACE ||
           component == PP_MEMORY_COMM_LIBRARY;
}

void pp_memory_set_static(const pp_costs *costs, uint32_t rank, bool forward_only,
                          int64_t bytes_out[PP_MEMORY_COUNT])
{
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        bytes_out[c] = 0;
    bytes_out[PP_MEMORY_PARAMETERS] = costs->parameter_bytes[rank];
    bytes_out[PP_MEMORY_WORKSPACE] = costs->workspace_bytes[rank];
    bytes_out[PP_MEMORY_COMM_LIBRARY] = costs->comm_library_bytes[rank];
    if (forward_only)
        return;
    bytes_out[PP_MEMORY_GRADIENTS] = costs->gradient_bytes[rank];
    bytes_out[PP_MEMORY_OPTIMIZER] = costs->optimizer_bytes[rank];
}

int64_t pp_memory_add_unsharded(const pp_costs *costs, uint32_t stage, bool gradients,
                                int64_t bytes[PP_MEMORY_COUNT])
{
    if (!costs->sharded)
        return 0;
    const int64_t gradient_bytes = gradients ? costs->whole_gradient_bytes[stage] : 0;
    bytes[PP_MEMORY_PARAMETERS] += costs->gathered_bytes[stage];
    bytes[PP_MEMORY_GRADIENTS] += gradient_bytes;
    return costs->gathered_bytes[stage] + gradient_bytes;
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

int64_t pp_memory_at_start(pp_op op, const pp_costs *costs, int64_t bytes[PP_MEMORY_COUNT])
{
    const size_t row = pp_cost_index(costs, op.stage, op.microbatch);
    if (op.kind == PP_OP_F) {
        bytes[PP_MEMORY_ACTIVATIONS] += costs->activation_bytes[row];
        bytes[PP_MEMORY_LOGITS] += costs->logits_bytes[row];
        return costs->activation_bytes[row] + costs->logits_bytes[row];
    }
    if (op.kind == PP_OP_W) {
        bytes[PP_MEMORY_TEMPORARIES] += costs->w_extra_bytes[row];
        return costs->w_extra_bytes[row];
    }
    bytes[PP_MEMORY_RECOMPUTE] += costs->recompute_bytes[row];
    bytes[PP_MEMORY_TEMPORARIES] += costs->temporary_bytes[row];
    return costs->recompute_bytes[row] + costs->temporary_bytes[row];
}

int64_t pp_memory_at_end(bool forward_only, pp_op op, const pp_costs *costs,
                         int64_t bytes[PP_MEMORY_COUNT])
{
    const size_t row = pp_cost_index(costs, op.stage, op.microbatch);
    int64_t freed = 0;
    if (op.kind == PP_OP_W) {
        bytes[PP_MEMORY_TEMPORARIES] -= costs->w_extra_bytes[row];
        bytes[PP_MEMORY_WEIGHT_STASH] -= costs->stash_bytes[row];
        return -costs->w_extra_bytes[row] - costs->stash_bytes[row];
    }
    if (op.kind == PP_OP_F && !forward_only)
        return 0;
    bytes[PP_MEMORY_LOGITS] -= costs->logits_bytes[row];
    bytes[PP_MEMORY_ACTIVATIONS] -= costs->activation_bytes[row];
    freed += costs->logits_bytes[row] + costs->activation_bytes[row];
    if (op.kind == PP_OP_F)
        return -freed;
    bytes[PP_MEMORY_RECOMPUTE] -= costs->recompute_bytes[row];
    bytes[PP_MEMORY_TEMPORARIES] -= costs->temporary_bytes[row];
    freed += costs->recompute_bytes[row] + costs->temporary_bytes[row];
    if (op.kind == PP_OP_I) {
        bytes[PP_MEMORY_WEIGHT_STASH] += costs->stash_bytes[row];
        freed -= costs->stash_bytes[row];
    }
    return -freed;
}
