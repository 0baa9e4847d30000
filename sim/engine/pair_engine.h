/* The engine of programs without communication in which overlapped pairs have durations. */
#ifndef PPSIM_SIM_ENGINE_PAIR_ENGINE_H
#define PPSIM_SIM_ENGINE_PAIR_ENGINE_H

#include "sim/cost/costs.h"
#include "sim/program/timeline.h"

/* As pp_simulate_from, for a program without communication; checked. begin_ns: [ranks], not NULL.
 * Fails: INFEASIBLE when it cannot finish since a pair needs both inputs at once, NOMEM. */
PP_MUST_CHECK pp_status pp_simulate_pairs(const pp_program *program, const pp_costs *costs,
                                          const pp_ns *begin_ns, pp_timeline *timeline,
                                          pp_err *err);

#endif
