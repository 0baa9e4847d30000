/* Runs a program with communication: ranks that post and wait, lanes that keep their order,
 * transfers that need both ends. Called by pp_simulate. */
#ifndef PPSIM_SIM_ENGINE_COMM_ENGINE_H
#define PPSIM_SIM_ENGINE_COMM_ENGINE_H

#include "sim/cost/costs.h"
#include "sim/program/comm.h"
#include "sim/program/timeline.h"

/* program->comm must be set, timeline be made by pp_timeline_new_comm, and durations be small
 * enough for 64 bits (pp_simulate has checked both).
 * begin_ns: [ranks], not kept.
 * A transfer takes the latency of its edge in `costs` once both ends are there.
 * Fails: INFEASIBLE when ranks wait for each other in a circle (err names it rank by rank), NOMEM.
 */
PP_MUST_CHECK pp_status pp_simulate_comm(const pp_program *program, const pp_costs *costs,
                                         const pp_ns *begin_ns, pp_timeline *timeline, pp_err *err);

#endif
