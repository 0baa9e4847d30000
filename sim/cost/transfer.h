/* What carries the tensors between stages. */
#ifndef PPSIM_SIM_COST_TRANSFER_H
#define PPSIM_SIM_COST_TRANSFER_H

#include "sim/cost/cost_model.h"

/* One tensor of `bytes` from pipeline rank to pipeline rank, as the switches say. */
double pp_transfer_seconds(const pp_cost_context *context, uint32_t from, uint32_t to,
                           double bytes);
/* How many communicators a rank has for them. */
int pp_pipeline_communicators(const pp_cost_context *context, uint32_t rank, uint32_t stages);
bool pp_ranks_share_node(const pp_cost_context *context, uint32_t rank, uint32_t other);

#endif
