/* Where a router sends a token. */
#ifndef PPSIM_SIM_COST_ROUTING_H
#define PPSIM_SIM_COST_ROUTING_H

#include "sim/job/model.h"

/* In the mean over all choices of a token's experts, how many ranges of experts hold one of them.
 * The ranges have `width` experts each, in their order, the last one maybe fewer: those of a rank,
 * or of a node. model: with experts. */
double pp_routing_reached(const pp_model *model, int64_t width);

#endif
