/* Runs a program against costs. */
#ifndef PPSIM_SIM_ENGINE_ENGINE_H
#define PPSIM_SIM_ENGINE_ENGINE_H

#include "sim/cost/costs.h"
#include "sim/program/timeline.h"

/* Every instruction starts when its rank is free and its input has arrived: the end of its source
 * plus the latency of the edge (costs.send_*_ns where the ranks differ, 0 where they are one).
 * costs: of the program's stages and microbatches.
 * Fails: INPUT when a time would leave 64 bits, NOMEM. */
PP_MUST_CHECK pp_status pp_simulate(const pp_program *program, const pp_costs *costs,
                                    pp_timeline **timeline_out, pp_err *err);

/* The same into a timeline of program->count rows that the caller keeps using: for planners that
 * simulate one size again and again. */
PP_MUST_CHECK pp_status pp_simulate_into(const pp_program *program, const pp_costs *costs,
                                         pp_timeline *timeline, pp_err *err);

/* The same, rank r beginning at begin_ns[r] (0 or more); NULL: all at 0.
 * Fails: INPUT also when a begin is beyond a quarter of 64 bits. */
PP_MUST_CHECK pp_status pp_simulate_from(const pp_program *program, const pp_costs *costs,
                                         const pp_ns *begin_ns, pp_timeline *timeline, pp_err *err);

#endif
