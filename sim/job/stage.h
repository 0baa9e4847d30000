/* What one stage of the pipeline holds. */
#ifndef PPSIM_SIM_JOB_STAGE_H
#define PPSIM_SIM_JOB_STAGE_H

#include <stdbool.h>
#include <stdint.h>

/* What one stage holds, in order: embedding, layers, MTP modules, final norm + head + loss. */
typedef struct pp_stage {
    int64_t first_layer; /* 0-based */
    int64_t layers;
    int64_t mtp;
    bool embedding;
    bool loss;
    int64_t full;      /* with PP_RECOMPUTE_STAGES: so many of its first layers keep only their */
    int64_t selective; /* input, so many after them all but the attention core */
} pp_stage;

#endif
