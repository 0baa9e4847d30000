/* Simulates a program against costs. */
#ifndef PPSIM_SIM_ENGINE_ENGINE_H
#define PPSIM_SIM_ENGINE_ENGINE_H

#include "sim/cost/costs.h"
#include "sim/program/timeline.h"

/* Times every instruction. An instruction starts when its rank is free and its input has arrived,
 * which is at the end of its source plus the latency of the edge (costs.send_*_ns between ranks, 0
 * inside one). With program->comm, transfers are simulated instead (sim/engine/comm_engine.h).
 * costs: of the program's stages and microbatches. Fails: INFEASIBLE when ranks wait for each
 * other, INPUT when a time would leave 64 bits, NOMEM. */
PP_MUST_CHECK pp_status pp_simulate(const pp_program *program, const pp_costs *costs,
                                    pp_timeline **timeline_out, pp_err *err);

/* Like pp_simulate, into an existing timeline of program->count rows, for planners that simulate
 * many programs of one size. */
PP_MUST_CHECK pp_status pp_simulate_into(const pp_program *program, const pp_costs *costs,
                                         pp_timeline *timeline, pp_err *err);

/* Like pp_simulate_into, with rank r beginning at begin_ns[r] (0 or more); NULL: all begin at 0.
 * Fails: INPUT also when a begin is larger than a quarter of 2^63. */
PP_MUST_CHECK pp_status pp_simulate_from(const pp_program *program, const pp_costs *costs,
                                         const pp_ns *begin_ns, pp_timeline *timeline, pp_err *err);

#endif
