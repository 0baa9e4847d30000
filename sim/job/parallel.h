/* How a job is divided over GPUs: the degrees of parallelism, and the ranks that hold the stages.
 */
#ifndef PPSIM_SIM_JOB_PARALLEL_H
#define PPSIM_SIM_JOB_PARALLEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pp_parallel {
    int64_t pp;  /* pipeline ranks p */
    int64_t tp;  /* tensor parallel */
    int64_t cp;  /* context parallel */
    int64_t dp;  /* data parallel replicas */
    int64_t ep;  /* expert parallel, inside dp x cp */
    int64_t vpp; /* chunks per pipeline rank v */
} pp_parallel;

int64_t pp_parallel_gpus(const pp_parallel *parallel); /* pp x tp x cp x dp */

/* Where stage s of S = p * v lives. */
typedef enum pp_placement {
    PP_PLACE_LOOP,          /* rank s mod p */
    PP_PLACE_V,             /* 0..p-1, p-1..0, ... */
    PP_PLACE_BIDIRECTIONAL, /* rank s, and for the second half of the microbatches p - 1 - s */
} pp_placement;

/* Bidirectional: that of the first half of the microbatches. */
uint32_t pp_placement_rank(pp_placement placement, uint32_t stage, uint32_t ranks);
/* Does `rank` hold the parameters of the stage? */
bool pp_placement_holds(pp_placement placement, uint32_t stage, uint32_t ranks, uint32_t rank);
const char *pp_placement_name(pp_placement placement);

#endif
