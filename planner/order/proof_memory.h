/* The rule of a proof that looks at memory (planner/order/proof_state.h). */
#ifndef PPSIM_PLANNER_ORDER_PROOF_MEMORY_H
#define PPSIM_PLANNER_ORDER_PROOF_MEMORY_H

#include "planner/order/proof_state.h"

/* Concludes which ops run before or after op k, since they would not fit otherwise. False:
 * contradiction, or there is no memory. */
bool pp_proof_look_at_memory(pp_proof *p, uint32_t k);
/* Calls need for every literal that made `concluded` necessary at op k (none: that made it
 * impossible), of the facts before `before`. */
void pp_proof_explain_memory(const pp_proof *p, uint32_t k, pp_literal concluded, size_t before,
                             void (*need)(void *context, pp_literal l), void *context);

#endif
