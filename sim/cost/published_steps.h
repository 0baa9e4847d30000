/* What is known of the cost model's errors: the published steps of a GPU that the tests predict. */
#ifndef PPSIM_SIM_COST_PUBLISHED_STEPS_H
#define PPSIM_SIM_COST_PUBLISHED_STEPS_H

/* tests/contract/sim/cost/test_accuracy.c holds these numbers. */
typedef struct pp_published_steps {
    const char *hardware; /* its name in traces/data/hardware/ */
    const char *what;     /* the jobs compared */
    int steps;
    int mean_percent, most_percent; /* absolute error of the predicted step, rounded */
} pp_published_steps;

/* The comparison for hardware of this name; NULL: none of its steps is among the tests. */
const pp_published_steps *pp_published_steps_of(const char *hardware);

#endif
