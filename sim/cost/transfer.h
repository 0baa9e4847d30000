/* Times of the transfers between pipeline ranks. */
#ifndef PPSIM_SIM_COST_TRANSFER_H
#define PPSIM_SIM_COST_TRANSFER_H

#include "sim/cost/cost_model.h"

/* All that the time of a tensor between two pipeline ranks depends on, besides its bytes. */
typedef struct pp_link {
    bool same_node;
    double bytes_per_s; /* of a link that was given; 0: as the hardware has it */
} pp_link;

pp_link pp_link_between(const pp_cost_context *context, uint32_t from, uint32_t to);
/* The time of one tensor of `bytes`, with the communicators and the kind of transfer that the
 * switches name. */
double pp_link_seconds(const pp_cost_context *context, const pp_link *link, double bytes);
/* The same, between two pipeline ranks. */
double pp_transfer_seconds(const pp_cost_context *context, uint32_t from, uint32_t to,
                           double bytes);
/* The number of communicators that a rank has for its pipeline transfers. */
int pp_pipeline_communicators(const pp_cost_context *context, uint32_t rank, uint32_t stages);

#endif
