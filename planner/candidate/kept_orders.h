/* What candidates, and searches one after the other, need not make again: orders that depend on
 * sizes alone, and the programs that frameworks make of them. */
#ifndef PPSIM_PLANNER_CANDIDATE_KEPT_ORDERS_H
#define PPSIM_PLANNER_CANDIDATE_KEPT_ORDERS_H

#include "sim/framework/framework.h"
#include "sim/schedule/schedule.h"

/* For one thread at a time. It lends orders until one is added, and programs until an order or a
 * program is. */
typedef struct pp_kept_orders pp_kept_orders;

/* All that such an order depends on. */
typedef struct pp_order_key {
    const pp_schedule *schedule;
    uint32_t ranks, chunks, microbatches;
    uint32_t asked_group; /* pp_candidate.group_size before it was made */
} pp_order_key;

/* All that its program depends on besides, if the exchange is plain and happens once per step, and
 * PyTorch's settings and the buffers are the framework's. */
typedef struct pp_lowering_key {
    const pp_framework *framework;
    pp_communicators communicators;
    bool collective;
    bool sharded, shards_ops, regathers; /* those of the costs */
} pp_lowering_key;

PP_MUST_CHECK pp_status pp_kept_orders_new(pp_kept_orders **kept_out, pp_err *err);
void pp_kept_orders_free(pp_kept_orders **kept); /* for PP_CLEANUP; *kept NULL is fine */

/* Returns NULL if there is none. group_out: pp_candidate.group_size after it was made. */
pp_order *pp_kept_orders_find(const pp_kept_orders *kept, const pp_order_key *key,
                              uint32_t *group_out);
/* Takes ownership of the order. */
void pp_kept_orders_add(pp_kept_orders *kept, const pp_order_key *key, uint32_t group,
                        pp_order *order);

/* Returns NULL if there is none, or if the order is not kept. */
const pp_program *pp_kept_orders_program(const pp_kept_orders *kept, const pp_order *order,
                                         const pp_lowering_key *key);
/* Takes ownership of the program and sets *program to NULL if the order is kept and depends on
 * sizes alone, and the program is not too large. */
void pp_kept_orders_add_program(pp_kept_orders *kept, const pp_order *order,
                                const pp_lowering_key *key, pp_program **program);

#endif
