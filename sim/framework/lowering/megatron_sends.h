/* Megatron-LM's pipeline loops (megatron/core/pipeline_parallel/schedules.py), for the frameworks
 * that keep to them. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_MEGATRON_SENDS_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_MEGATRON_SENDS_H

#include "sim/framework/lowering/lower.h"

/* One communicate call; NULL: nothing of that kind. */
typedef struct pp_megatron_call {
    const pp_op *send_prev, *recv_prev, *send_next, *recv_next;
} pp_megatron_call;

typedef void pp_megatron_batch(const pp_lowering *l, pp_megatron_call call);

/* forward_backward_pipelining_without_interleaving, every call through `batch`. */
void pp_megatron_single(const pp_lowering *l, pp_megatron_batch *batch);

/* forward_backward_pipelining_with_interleaving without overlap, every call through `batch`. */
void pp_megatron_interleaved(const pp_lowering *l, pp_megatron_batch *batch);

/* The interleaved loop of one rank: `total` forwards, the first `warm` of them before the first
 * backward. */
typedef struct pp_interleaved {
    const pp_lowering *l;
    size_t total, warm;
} pp_interleaved;

pp_interleaved pp_interleaved_of(const pp_lowering *l);
/* The k-th forward, or backward: an index into the program's ops. */
uint32_t pp_interleaved_forward(const pp_interleaved *loop, size_t k);
uint32_t pp_interleaved_backward(const pp_interleaved *loop, size_t k);
/* What is received once the k-th of them has run (recv_tensor_from_previous_stage): as a rule the
 * next input; on the rank where a chunk begins what the rank at its other end has just made, which
 * with a group above p is needed later. op_out is written either way; NULL: nothing. */
const pp_op *pp_interleaved_next_f(const pp_interleaved *loop, size_t k, pp_op *op_out);
const pp_op *pp_interleaved_next_b(const pp_interleaved *loop, size_t k, pp_op *op_out);

/* group_out: microbatches that a chunk runs before the next one, 0 without interleaving.
 * Fails: USAGE when the order is neither interleaved nor (single) 1f1b, or the groups are smaller
 * than p; NOMEM. */
PP_MUST_CHECK pp_status pp_megatron_check(const pp_order *order, const char *framework, bool single,
                                          uint32_t *group_out, pp_err *err);

#endif
