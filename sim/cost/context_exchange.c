/* Time and memory of the exchange between context-parallel ranks. */
#include "sim/cost/context_exchange.h"

#include <math.h>

bool pp_context_divides_heads(const pp_cost_context *context, int64_t ranks)
{
    const pp_model *m = context->model;
    const int64_t tp = context->parallel.tp;
    const bool shared = m->attention != PP_ATTENTION_MLA && m->kv_heads < tp;
    const int64_t kv = m->attention == PP_ATTENTION_MLA ? m->heads : m->kv_heads;
    return m->heads / tp % ranks == 0 && (shared ? 1 : kv / tp) % ranks == 0;
}

int64_t pp_context_inner(const pp_cost_context *context)
{
    const pp_parallel *par = &context->parallel;
    int64_t inner = par->cp;
    if (context->switches.cp_comm == PP_CP_COMM_ALL_TO_ALL)
        return inner;
    if (context->switches.cp_comm != PP_CP_COMM_HIERARCHICAL)
        return 1;
    const int64_t node = pp_hardware_node_part(context->hardware, par);
    while (inner > 1 && (par->cp % inner != 0 || inner * par->tp > node ||
                         !pp_context_divides_heads(context, inner)))
        inner--;
    return inner;
}

/* K and V are gathered before attention, in the backward once more, and then their gradients are
 * reduced; nothing overlaps. */
static void add_gathers(const pp_gpu_batch *local, const pp_attention_widths *a,
                        pp_collective_group group, pp_work *core)
{
    const double whole = local->all_tokens * local->element_bytes;
    const double gather = pp_collective_seconds(local->hw, PP_ALL_GATHER, group, whole * a->k) +
                          pp_collective_seconds(local->hw, PP_ALL_GATHER, group, whole * a->v);
    core->f += gather;
    core->i += gather + pp_collective_seconds(local->hw, PP_REDUCE_SCATTER, group, whole * a->k) +
               pp_collective_seconds(local->hw, PP_REDUCE_SCATTER, group, whole * a->v);
}

void pp_add_context_exchange(const pp_gpu_batch *local, const pp_attention_widths *a, pp_work *core)
{
    const pp_parallel *par = &local->context->parallel;
    if (par->cp <= 1 || pp_exchange_is_omitted(local, PP_EXCHANGE_CP))
        return;
    const int64_t node = pp_hardware_node_part(local->hw, par);
    if (local->context->switches.cp_comm == PP_CP_COMM_ALL_GATHER) {
        add_gathers(local, a, pp_group_of(node, par->cp, par->tp), core);
        return;
    }
    /* K and V go around while attention runs on those that are there, in the backward together with
     * their gradients */
    const double rows = local->tokens * local->element_bytes;
    const int64_t inner = pp_context_inner(local->context), outer = par->cp / inner;
    const bool same_node = par->cp * par->tp <= node;
    const double steps = (double)outer - 1;
    const double ring =
        steps > 0 ? steps * pp_p2p_seconds(local->hw, same_node, outer, rows * (a->k + a->v)) : 0;
    core->f += fmax(0, ring - core->f * steps / (double)outer);
    core->i += fmax(0, 2 * ring - core->i * steps / (double)outer);
    /* Q, K and V before attention, its output after it; in the backward their gradients */
    const double parts[] = { a->q, a->k, a->v, a->o };
    const pp_collective_group group = pp_group_of(node, inner, par->tp);
    for (int i = 0; i < 4; i++) {
        const double seconds = pp_all_to_all_seconds(local->hw, group, rows * parts[i]);
        core->f += seconds;
        core->i += seconds;
    }
}

/* save_for_backward: AttnFuncWithCPAndKVP2P returns the tensor that it saves, unless it exchanges
 * it all to all (out_part); AttnFuncWithCPAndQKVOA2A saves the output before the exchange,
 * AttnFuncWithCPAndKVAllGather those of the halves of the sequence (out_per_step). */
bool pp_context_keeps_output(const pp_gpu_batch *local)
{
    const pp_cost_context *context = local->context;
    return context->parallel.cp > 1 &&
           (context->switches.cp_comm == PP_CP_COMM_ALL_GATHER || pp_context_inner(context) > 1);
}

double pp_context_held_bytes(const pp_gpu_batch *local, const pp_attention_widths *a, bool backward)
{
    const pp_cost_context *context = local->context;
    const double d = local->element_bytes, cp = (double)context->parallel.cp, kv = a->k + a->v;
    if (context->parallel.cp <= 1)
        return 0;
    /* those gathered, and the rows of them that a half of the queries needs; in the backward also
     * the gradients of both */
    if (context->switches.cp_comm == PP_CP_COMM_ALL_GATHER)
        return d * (backward ? 4 : 2) * cp * kv;
    /* A ring receives into new buffers and has the outputs of all steps until it ends, but its
     * backward goes back and forth between two (p2p_comm_buffers). All-to-all has tensors before
     * and after it. */
    const double inner = (double)pp_context_inner(context), outer = cp / inner;
    const double ring = outer <= 1 ? 0 : backward ? a->q + 3 * kv : outer * (kv + a->o);
    return d * (ring + (inner <= 1 ? 0 : backward ? a->o : a->q + kv));
}
