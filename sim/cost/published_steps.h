/* What is known of the cost model's errors: the published steps of a GPU that the tests predict. */
#ifndef PPSIM_SIM_COST_PUBLISHED_STEPS_H
#define PPSIM_SIM_COST_PUBLISHED_STEPS_H

#include <stdbool.h>

/* tests/contract/sim/cost/test_accuracy.c (A100) and docs/accuracy.md hold these numbers. */
typedef struct pp_published_steps {
    const char *hardware; /* its name in traces/data/hardware/ */
    const char *stack;    /* its name in traces/data/stacks/; NULL: those of the papers */
    bool low;             /* with GEMMs in 8 or 4 bits */
    const char *what;     /* the jobs compared */
    bool cp;              /* some of them have cp > 1 */
    int steps;
    int mean_percent, most_percent; /* absolute error of the predicted step, rounded */
} pp_published_steps;

/* The comparison for a hardware and a stack of these names; NULL: there is none. stack NULL: any
 * comparison with steps of this hardware. */
const pp_published_steps *pp_published_steps_of(const char *hardware, const char *stack, bool low);

#endif
