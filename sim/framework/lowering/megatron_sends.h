/* Megatron-LM's pipeline loops (megatron/core/pipeline_parallel/schedules.py), for the frameworks
 * that use them. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_MEGATRON_SENDS_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_MEGATRON_SENDS_H

#include "sim/framework/lowering/lower.h"

/* One call of Megatron's _communicate. Each op is the one whose tensor is sent or received; NULL:
 * no such transfer. */
typedef struct pp_megatron_call {
    const pp_op *send_prev, *recv_prev, *send_next, *recv_next;
} pp_megatron_call;

/* Writes the transfers of one call. */
typedef void pp_megatron_batch(const pp_lowering *l, pp_megatron_call call);

/* The batch of batch_p2p_comm: all transfers of a call in one group, which is waited for at once.
 * Its order is send_prev, recv_prev, send_next, recv_next. */
void pp_megatron_batched(const pp_lowering *l, pp_megatron_call call);

/* Writes the steps of forward_backward_pipelining_without_interleaving, each call by `batch`. */
void pp_megatron_single(const pp_lowering *l, pp_megatron_batch *batch);

/* Writes the steps of forward_backward_pipelining_with_interleaving without overlap, each call by
 * `batch`. */
void pp_megatron_interleaved(const pp_lowering *l, pp_megatron_batch *batch);

/* The interleaved loop of one rank: `total` forwards, the first `warm` of them before the first
 * backward. */
typedef struct pp_interleaved {
    const pp_lowering *l;
    size_t total, warm;
    bool pairs; /* forwards overlap with backwards, after a warm-up that is one longer */
} pp_interleaved;

pp_interleaved pp_interleaved_of(const pp_lowering *l);
/* The index of the k-th forward or backward in the program's ops. */
uint32_t pp_interleaved_forward(const pp_interleaved *loop, size_t k);
uint32_t pp_interleaved_backward(const pp_interleaved *loop, size_t k);
/* The op whose input is received after the k-th forward or backward
 * (recv_tensor_from_previous_stage), or NULL. As a rule it is the next op. On the rank where a
 * chunk begins, it is the successor of what the rank at the chunk's other end has just computed,
 * which is needed later if the group is larger than p. op_out is always written; the result points
 * to it. */
const pp_op *pp_interleaved_next_f(const pp_interleaved *loop, size_t k, pp_op *op_out);
const pp_op *pp_interleaved_next_b(const pp_interleaved *loop, size_t k, pp_op *op_out);

/* The microbatch group of an interleaved order: the number of microbatches that rank 0 runs before
 * its second chunk. */
uint32_t pp_megatron_group(const pp_order *order);

/* Checks that Megatron's loops can run the order, or with `pairs` also its combined 1F1B.
 * group_out: the number of microbatches that a chunk runs before the next chunk; 0 without
 * interleaving. Fails: USAGE when it cannot, or the groups are smaller than p; NOMEM. */
PP_MUST_CHECK pp_status pp_megatron_check(const pp_order *order, const char *framework, bool pairs,
                                          uint32_t *group_out, pp_err *err);

#endif
