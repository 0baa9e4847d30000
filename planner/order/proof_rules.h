/* What follows from what is known in a proof (planner/order/proof_state.h). */
#ifndef PPSIM_PLANNER_ORDER_PROOF_RULES_H
#define PPSIM_PLANNER_ORDER_PROOF_RULES_H

#include "planner/order/proof_state.h"

/* Sets what holds in all orders, or in one of every set of orders that take equally long: the links
 * of the ops, and that equal microbatches follow each other by number. False: contradiction. */
bool pp_proof_rules_begin(pp_proof *p);
/* Draws all conclusions. False: contradiction, or there is no memory. */
bool pp_proof_rules_run(pp_proof *p);
/* Forgets what is still to be looked at, after facts were taken back. */
void pp_proof_rules_clear(pp_proof *p);
/* Calls need for every literal that made `concluded` necessary at op k (none: that made it
 * impossible), of the facts before `before`. */
void pp_proof_explain_memory(const pp_proof *p, uint32_t k, pp_literal concluded, size_t before,
                             void (*need)(void *context, pp_literal l), void *context);

#endif
