/* Memory of one rank over time, by component. Changes happen at the start and the end of ops. In
 * programs with transfers they also happen when a transfer is posted, waited for or completed
 * (sim/program/buffers.h).
 *
 * Of several changes at one instant, those of ending transfers come first, then those of the rank's
 * steps in their order. A step releases and allocates in one change. */
#ifndef PPSIM_SIM_ANALYSIS_MEMORY_H
#define PPSIM_SIM_ANALYSIS_MEMORY_H

#include "sim/analysis/memory_change.h"
#include "sim/analysis/memory_slots.h"
#include "sim/program/timeline.h"

/* Finds the peak of `rank`, at its first instant. costs.has_memory must be set. sample: called at
 * every change with `context`; may be NULL.
 * Fails: INPUT when a sum leaves 64 bits, NOMEM. */
PP_MUST_CHECK pp_status pp_memory_replay(const pp_program *program, const pp_timeline *timeline,
                                         const pp_costs *costs, uint32_t rank,
                                         pp_memory_sample sample, void *context,
                                         pp_memory_peak *peak_out, pp_err *err);

/* Like pp_memory_replay, but ends at the first instant at which the rank holds more than
 * `limit_bytes`, and reports that instant.
 * Fails: like pp_memory_replay. */
PP_MUST_CHECK pp_status pp_memory_first_over(const pp_program *program, const pp_timeline *timeline,
                                             const pp_costs *costs, uint32_t rank,
                                             int64_t limit_bytes, pp_memory_peak *over_out,
                                             pp_err *err);

#endif
