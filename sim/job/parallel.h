/* How a job is divided among GPUs: the degrees of parallelism, and the placement of stages. */
#ifndef PPSIM_SIM_JOB_PARALLEL_H
#define PPSIM_SIM_JOB_PARALLEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pp_parallel {
    int64_t pp;  /* p: pipeline ranks */
    int64_t tp;  /* tensor-parallel ranks */
    int64_t cp;  /* context-parallel ranks */
    int64_t dp;  /* data-parallel replicas */
    int64_t ep;  /* expert-parallel ranks, a part of dp x cp */
    int64_t vpp; /* v: chunks (stages) per pipeline rank */
} pp_parallel;

int64_t pp_parallel_gpus(const pp_parallel *parallel); /* pp x tp x cp x dp */

/* The rank that runs stage s of S = p v stages. */
typedef enum pp_placement {
    PP_PLACE_LOOP,          /* rank s mod p */
    PP_PLACE_V,             /* ranks 0 to p - 1, then p - 1 to 0, and so on */
    PP_PLACE_BIDIRECTIONAL, /* rank s; for the second half of the microbatches, rank p - 1 - s */
} pp_placement;

/* The rank that runs `stage`; if bidirectional, for the first half of the microbatches. */
uint32_t pp_placement_rank(pp_placement placement, uint32_t stage, uint32_t ranks);
/* Returns true if `rank` holds the parameters of the stage. */
bool pp_placement_holds(pp_placement placement, uint32_t stage, uint32_t ranks, uint32_t rank);
const char *pp_placement_name(pp_placement placement);

#endif
