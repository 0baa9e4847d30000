/* Simulates programs without communication whose overlapped pairs have durations of their own. */
#ifndef PPSIM_SIM_ENGINE_PAIR_ENGINE_H
#define PPSIM_SIM_ENGINE_PAIR_ENGINE_H

#include "sim/cost/costs.h"
#include "sim/program/timeline.h"

/* Does the work of pp_simulate_from, which has checked the arguments. begin_ns: [ranks], not NULL.
 * Fails: INFEASIBLE when the program cannot finish because a pair needs both inputs at once,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_simulate_pairs(const pp_program *program, const pp_costs *costs,
                                          const pp_ns *begin_ns, pp_timeline *timeline,
                                          pp_err *err);

#endif
