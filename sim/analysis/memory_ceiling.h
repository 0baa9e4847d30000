/* The most that a rank can need. */
#ifndef PPSIM_SIM_ANALYSIS_MEMORY_CEILING_H
#define PPSIM_SIM_ANALYSIS_MEMORY_CEILING_H

#include "sim/cost/costs.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

/* An upper bound of the peak of pp_memory_replay, for a tenth of its time; INT64_MAX: none is known
 * (sharded parameters, overlapped pairs, several runs, evaluations, sums that are too large).
 * program: with communication. costs.has_memory must be set. */
int64_t pp_memory_ceiling(const pp_program *program, const pp_timeline *timeline,
                          const pp_costs *costs, uint32_t rank);

#endif
