/* What follows from what is known in a proof (planner/order/proof_state.h). */
#ifndef PPSIM_PLANNER_ORDER_PROOF_RULES_H
#define PPSIM_PLANNER_ORDER_PROOF_RULES_H

#include "planner/order/proof_state.h"

/* Sets what holds in all orders, or in one of every set of orders that take equally long: the links
 * of the ops, and that equal microbatches follow each other by number. False: contradiction. */
bool pp_proof_rules_begin(pp_proof *p);
/* Draws all conclusions. False: contradiction, or there is no memory. */
bool pp_proof_rules_run(pp_proof *p);

#endif
