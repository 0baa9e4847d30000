/* Times of the transfers between pipeline ranks. */
#ifndef PPSIM_SIM_COST_TRANSFER_H
#define PPSIM_SIM_COST_TRANSFER_H

#include "sim/cost/cost_model.h"

/* The time of one tensor of `bytes` between two pipeline ranks, with the communicators and the kind
 * of transfer that the switches name. */
double pp_transfer_seconds(const pp_cost_context *context, uint32_t from, uint32_t to,
                           double bytes);
/* The number of communicators that a rank has for its pipeline transfers. */
int pp_pipeline_communicators(const pp_cost_context *context, uint32_t rank, uint32_t stages);

#endif
