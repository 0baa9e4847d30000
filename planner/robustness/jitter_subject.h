/* A program that is run again with other durations. */
#ifndef PPSIM_PLANNER_ROBUSTNESS_JITTER_SUBJECT_H
#define PPSIM_PLANNER_ROBUSTNESS_JITTER_SUBJECT_H

#include "planner/robustness/jitter_pool.h"
#include "sim/cost/costs.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

/* All borrowed. The callback may be called by several threads at the same time. */
typedef struct pp_jitter_subject {
    const pp_program *program;
    const pp_timeline *timeline; /* of the program with unperturbed `costs` */
    const pp_costs *costs;
    const pp_jitter_pool *pool; /* of the spec and the seed; NULL: the study makes it */
    bool step_sync;
    bool chained;                   /* without step_sync: sim/analysis/step_tail.h */
    bool (*is_over)(void *context); /* true: no more scenarios are begun; NULL: all are run */
    void *context;
} pp_jitter_subject;

#endif
