/* Simulates a program with communication: ranks post transfers and wait for them, lanes keep their
 * order, and a transfer starts when both of its ends are posted. Called by pp_simulate. */
#ifndef PPSIM_SIM_ENGINE_COMM_ENGINE_H
#define PPSIM_SIM_ENGINE_COMM_ENGINE_H

#include "sim/cost/costs.h"
#include "sim/program/comm.h"
#include "sim/program/timeline.h"

/* Fills in `timeline`, which pp_timeline_new_comm made. program->comm must be set, and durations
 * must be small enough that times fit 64 bits (pp_simulate checks it). begin_ns: [ranks], not
 * retained. A transfer takes the latency of its edge in `costs` after both ends were posted. Fails:
 * INFEASIBLE when ranks wait for each other in a cycle (err lists it rank by rank), NOMEM. */
PP_MUST_CHECK pp_status pp_simulate_comm(const pp_program *program, const pp_costs *costs,
                                         const pp_ns *begin_ns, pp_timeline *timeline, pp_err *err);

#endif
