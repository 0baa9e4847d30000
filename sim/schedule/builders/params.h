/* Parameters of a schedule: the sizes of the pipeline, and costs for the generators that use them.
 */
#ifndef PPSIM_SIM_SCHEDULE_BUILDERS_PARAMS_H
#define PPSIM_SIM_SCHEDULE_BUILDERS_PARAMS_H

#include "sim/cost/costs.h"

#include <stdint.h>

typedef struct pp_schedule_params {
    uint32_t ranks;                /* p */
    uint32_t chunks;               /* v: stages per rank */
    uint32_t microbatches;         /* m */
    uint32_t group_size;           /* Megatron's microbatch group N; 0: the schedule's own rule */
    const pp_costs *costs;         /* may be NULL; for generators that depend on durations */
    const pp_memory_costs *memory; /* may be NULL: F=1, I=-0.5, W=-0.5 */
} pp_schedule_params;

#endif
