/* What the libraries below a training program keep on a GPU for themselves, from the first step to
 * the last. */
#ifndef PPSIM_SIM_COST_WORKSPACE_H
#define PPSIM_SIM_COST_WORKSPACE_H

#include "sim/cost/cost_model.h"

/* Which units a rank has. */
typedef struct pp_rank_units {
    bool layer[PP_LAYER_TYPES_MAX]; /* by type */
    bool embedding, loss, mtp;
} pp_rank_units;

/* Bytes of the dummy weight gradients and of the work areas of GEMMs. */
double pp_workspace_bytes(const pp_cost_context *context, const pp_rank_units *units);

#endif
