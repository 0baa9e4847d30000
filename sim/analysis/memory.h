/* Memory of one rank over time, by component. Changes happen at the start and the end of ops, and
 * in programs that communicate where transfers are posted, waited for and done
 * (sim/program/buffers.h).
 *
 * At one instant transfers end first, then the rank's steps follow in its order; what one of them
 * releases and allocates it does at once. */
#ifndef PPSIM_SIM_ANALYSIS_MEMORY_H
#define PPSIM_SIM_ANALYSIS_MEMORY_H

#include "sim/analysis/memory_change.h"
#include "sim/analysis/memory_slots.h"
#include "sim/program/timeline.h"

/* costs.has_memory must be set. sample: may be NULL. The first instant of the peak is reported.
 * Fails: INPUT when a sum leaves 64 bits, NOMEM. */
PP_MUST_CHECK pp_status pp_memory_replay(const pp_program *program, const pp_timeline *timeline,
                                         const pp_costs *costs, uint32_t rank,
                                         pp_memory_sample sample, void *context,
                                         pp_memory_peak *peak_out, pp_err *err);

/* The same up to the first instant at which the rank holds more than `limit_bytes`, which is the
 * peak then. Fails: as above. */
PP_MUST_CHECK pp_status pp_memory_first_over(const pp_program *program, const pp_timeline *timeline,
                                             const pp_costs *costs, uint32_t rank,
                                             int64_t limit_bytes, pp_memory_peak *over_out,
                                             pp_err *err);

#endif
