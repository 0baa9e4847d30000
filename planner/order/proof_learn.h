/* Turns the contradictions of a proof into clauses (planner/order/proof_state.h). */
#ifndef PPSIM_PLANNER_ORDER_PROOF_LEARN_H
#define PPSIM_PLANNER_ORDER_PROOF_LEARN_H

#include "planner/order/proof_state.h"

/* Learns a clause from the contradiction and goes back to where it forces a value. False: nothing
 * is left to try, so no order ends by the limit. */
bool pp_proof_learn(pp_proof *p);

#endif
