/* PyTorch 2.15's max_outstanding_sends: an upper limit of the sends that a rank has not waited for.
 */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_SEND_BUDGET_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_SEND_BUDGET_H

#include "sim/program/comm.h"

/* Moves waits of sends before the sends that would exceed `most` (1 or more), as PyTorch 2.15 does:
 * first a wait for a receive that is posted before in any case, otherwise one that cannot hang.
 * Every send and receive is a group of its own, and every send is waited for.
 * Fails: INFEASIBLE when no wait can be moved (names rank and send) or there are too many sends,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_send_budget(pp_program *program, int64_t most, pp_err *err);

#endif
