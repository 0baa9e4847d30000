/* What context-parallel ranks exchange in the attention of a layer, one way for each pp_cp_comm.
 * The facts are those of TransformerEngine's attention
 * (transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py), which
 * Megatron-LM runs; docs/explanation/cost-model.md has the formulas. */
#ifndef PPSIM_SIM_COST_CONTEXT_EXCHANGE_H
#define PPSIM_SIM_COST_CONTEXT_EXCHANGE_H

#include "sim/cost/gpu_batch.h"

/* Returns true if each of `ranks` gets equally many of a GPU's heads, for queries as for keys and
 * values. */
bool pp_context_divides_heads(const pp_cost_context *context, int64_t ranks);

/* Ranks of a group that exchanges all to all: 1 in a ring and with an all-gather, cp with
 * all-to-all. Hierarchical: as many as share a node, divide cp and divide the heads. */
int64_t pp_context_inner(const pp_cost_context *context);

/* Adds to the time of the attention core what its exchange takes beyond it, forward and backward,
 * in seconds. */
void pp_add_context_exchange(const pp_gpu_batch *local, const pp_attention_widths *widths,
                             pp_work *core);

/* Returns true if attention keeps its output apart from that which goes on, since the latter was
 * exchanged or put together of parts. */
bool pp_context_keeps_output(const pp_gpu_batch *local);

/* Bytes per token of this GPU that attention holds for its exchange at the fullest instant, beside
 * the tensors that it keeps and their gradients. */
double pp_context_held_bytes(const pp_gpu_batch *local, const pp_attention_widths *widths,
                             bool backward);

#endif
