/* How far a predicted step may be off: an 80 % interval from the errors of the published steps that
 * the tests predict, and from what sets a job apart from those. docs/explanation/cost-model.md,
 * section 9, has the method. */
#ifndef PPSIM_SIM_COST_STEP_INTERVAL_H
#define PPSIM_SIM_COST_STEP_INTERVAL_H

#include "sim/job/hardware.h"
#include "sim/job/model.h"
#include "sim/job/parallel.h"
#include "sim/job/precision.h"

/* The published steps of a GPU under one stack, with GEMMs of one width.
 * tests/contract/sim/cost/test_accuracy.c (A100) and docs/accuracy.md hold these numbers. */
typedef struct pp_published_steps {
    const char *hardware;     /* its name in traces/data/hardware/ */
    const char *architecture; /* of its GPU */
    const char *stack;        /* its name in traces/data/stacks/; NULL: those of the papers */
    unsigned precisions;      /* a bit for each pp_precision; of bf16, or of others */
    bool experts;             /* mixtures of experts, with ep > 1 */
    bool cp;                  /* some of them have cp > 1 */
    int steps;
    int mean_percent, most_percent; /* absolute error of the predicted step, rounded */
    double half_percent; /* half-width of the interval that has 80 % of the errors, with the stack's
                            own speed or that from other models, whichever has larger errors */
} pp_published_steps;

/* What the half-width of an interval consists of. */
typedef enum pp_interval_part {
    PP_INTERVAL_STACK,  /* the errors of the published steps, and another stack than theirs */
    PP_INTERVAL_KERNEL, /* another GPU or format than theirs */
    PP_INTERVAL_LINK,   /* exchange between other GPUs than theirs */
    PP_INTERVAL_SHAPE,  /* kinds of jobs that they do not have */
    PP_INTERVAL_PARTS,
} pp_interval_part;

/* "stack", "kernels", "links", "shape". */
const char *pp_interval_part_name(pp_interval_part part);

typedef struct pp_interval_question {
    const pp_hardware *hardware;
    const char *hardware_name; /* in traces/data/hardware/; "": it is a file of the user */
    const char *stack;
    const pp_model *model;
    pp_parallel parallel;
    pp_precision precision;
    bool lengths;    /* sequences have lengths of their own */
    double exchange; /* the part of the step that waits for exchange */
} pp_interval_question;

/* An interval: step x (1 - half) to step x (1 + half). */
typedef struct pp_step_interval {
    double half; /* the root of the sum of the squares of the parts */
    double part[PP_INTERVAL_PARTS];
    const pp_published_steps *nearest; /* the steps whose errors it starts from; static */
    bool own;                          /* they are of this GPU, stack and width */
} pp_step_interval;

pp_step_interval pp_step_interval_of(const pp_interval_question *question);

/* The published steps of a GPU and a stack; NULL: there are none. */
const pp_published_steps *pp_published_steps_of(const char *hardware, const char *stack, bool low,
                                                bool experts);

#endif
