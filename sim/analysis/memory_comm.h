/* Memory of a rank that communicates (sim/program/buffers.h says who holds what), for
 * sim/analysis/memory.c. */
#ifndef PPSIM_SIM_ANALYSIS_MEMORY_COMM_H
#define PPSIM_SIM_ANALYSIS_MEMORY_COMM_H

#include "sim/analysis/memory_change.h"
#include "sim/program/timeline.h"

/* As pp_memory_replay, of a program with communication; ends at the first instant beyond
 * `limit_bytes`. bytes: before the step; used up. */
PP_MUST_CHECK pp_status pp_memory_replay_comm(const pp_program *program,
                                              const pp_timeline *timeline, const pp_costs *costs,
                                              uint32_t rank, int64_t limit_bytes,
                                              pp_memory_sample sample, void *context,
                                              int64_t bytes[PP_MEMORY_COUNT],
                                              pp_memory_peak *peak_out, pp_err *err);

#endif
