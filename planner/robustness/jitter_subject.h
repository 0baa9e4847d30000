/* A program that is run again with other durations. */
#ifndef PPSIM_PLANNER_ROBUSTNESS_JITTER_SUBJECT_H
#define PPSIM_PLANNER_ROBUSTNESS_JITTER_SUBJECT_H

#include "sim/cost/costs.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

/* All borrowed. */
typedef struct pp_jitter_subject {
    const pp_program *program;
    const pp_timeline *timeline; /* of the program with unperturbed `costs` */
    const pp_costs *costs;
    bool step_sync;
    bool chained; /* without step_sync: sim/analysis/step_tail.h */
} pp_jitter_subject;

#endif
