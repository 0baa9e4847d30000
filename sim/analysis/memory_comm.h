/* Memory of a rank that communicates, for sim/analysis/memory.c. sim/program/buffers.h states which
 * buffers exist and for how long. */
#ifndef PPSIM_SIM_ANALYSIS_MEMORY_COMM_H
#define PPSIM_SIM_ANALYSIS_MEMORY_COMM_H

#include "sim/analysis/memory_change.h"
#include "sim/program/timeline.h"

/* pp_memory_replay for a program with communication; ends at the first instant beyond
 * `limit_bytes`. bytes: what the rank holds before the step. */
PP_MUST_CHECK pp_status pp_memory_replay_comm(const pp_program *program,
                                              const pp_timeline *timeline, const pp_costs *costs,
                                              uint32_t rank, int64_t limit_bytes,
                                              pp_memory_sample sample, void *context,
                                              const int64_t bytes[PP_MEMORY_COUNT],
                                              pp_memory_peak *peak_out, pp_err *err);

#endif
