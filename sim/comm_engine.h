/* Runs a program with communication: ranks that post and wait, lanes that keep their order,
 * transfers that need both ends. Called by pp_simulate. */
#ifndef PPSIM_SIM_COMM_ENGINE_H
#define PPSIM_SIM_COMM_ENGINE_H

#include "sim/comm.h"
#include "sim/costs.h"
#include "sim/timeline.h"

/* program->comm must be set, timeline be made by pp_timeline_new_comm, and durations be small
 * enough for 64 bits (pp_simulate has checked both).
 * begin_ns: [ranks], not kept.
 * A transfer takes the latency of its edge in `costs` once both ends are there.
 * Fails: INFEASIBLE when ranks wait for each other in a circle (err tells it rank by rank), NOMEM.
 */
PP_MUST_CHECK pp_status pp_simulate_comm(const pp_program *program, const pp_costs *costs,
                                         const pp_ns *begin_ns, pp_timeline *timeline, pp_err *err);

/* Is a send done at once, whether or not its receive is there? Of unknown size is 1. */
bool pp_comm_is_buffered(const pp_comm *comm, const pp_costs *costs, const pp_transfer *transfer);
/* What a transfer takes once both ends are there; buffered: from its send on. */
pp_ns pp_comm_ns(const pp_comm *comm, const pp_costs *costs, const pp_transfer *transfer);
/* Bytes of a transfer; 0: not known. */
int64_t pp_comm_bytes(const pp_comm *comm, const pp_costs *costs, const pp_transfer *transfer);

#endif
