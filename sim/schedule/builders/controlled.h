/* Builds V-Half and V-Min (Qi et al. 2024, arXiv 2405.15362; sail-sg zero-bubble). */
#ifndef PPSIM_SIM_SCHEDULE_BUILDERS_CONTROLLED_H
#define PPSIM_SIM_SCHEDULE_BUILDERS_CONTROLLED_H

#include "sim/schedule/builders/slots.h"

/* Builds the order that repeats a pattern every six slots. offset: the slot of microbatch 0 for the
 * types FA to IA; those of microbatch j are 6j later.
 * Fails: USAGE beyond the size of pp_slots_new, NOMEM. */
PP_MUST_CHECK pp_status pp_controlled_build(const pp_schedule_params *params,
                                            uint32_t (*offset)(uint32_t type, uint32_t rank,
                                                               uint32_t ranks),
                                            pp_order **order_out, pp_err *err);

#endif
