/* What one stage of the pipeline holds. */
#ifndef PPSIM_SIM_JOB_STAGE_H
#define PPSIM_SIM_JOB_STAGE_H

#include <stdbool.h>
#include <stdint.h>

/* The parts of one stage, in this order: embedding, layers, MTP modules, final norm with head and
 * loss. */
typedef struct pp_stage {
    int64_t first_layer; /* 0-based */
    int64_t layers;
    int64_t mtp;
    bool embedding;
    bool loss;
    int64_t full, selective; /* with PP_RECOMPUTE_STAGES: as in pp_recomputed */
} pp_stage;

#endif
