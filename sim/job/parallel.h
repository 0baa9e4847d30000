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
    int64_t ep;  /* expert-parallel ranks, a part of tp x cp x dp / etp */
    int64_t vpp; /* v: chunks (stages) per pipeline rank */
    int64_t etp; /* ranks that divide an expert, adjacent ones; 0: as many as tp */
} pp_parallel;

/* Which etp a framework has. */
typedef enum pp_experts {
    PP_EXPERTS_AS_ASKED,
    PP_EXPERTS_WHOLE,           /* 1 */
    PP_EXPERTS_WHOLE_WITHIN_EP, /* 1 if ep is more than 1, else tp */
} pp_experts;

int64_t pp_parallel_gpus(const pp_parallel *parallel); /* pp x tp x cp x dp */
/* The etp that a framework has with these degrees; where it is free, theirs. */
int64_t pp_parallel_etp_of(const pp_parallel *parallel, pp_experts experts);
/* The ranks that divide an expert: etp, which is tp unless it is given. */
int64_t pp_parallel_etp(const pp_parallel *parallel);
/* The GPUs of a stage among which the experts and their copies are shared out: tp x cp x dp / etp.
 * ep divides it. */
int64_t pp_parallel_expert_gpus(const pp_parallel *parallel);

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
