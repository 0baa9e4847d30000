/* How long one task of the search may run: a number of iterations, or a part of the time. */
#ifndef PPSIM_PLANNER_ORDER_ITERATION_BUDGET_H
#define PPSIM_PLANNER_ORDER_ITERATION_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pp_iteration_budget {
    /* The part of the whole search's budget that is used up; the task ends when it reaches 1.
     * NULL: iterations alone decide. */
    double (*spent)(void *context);
    void *context;
    bool counted;        /* `quota` decides; otherwise the time from `from` to `to` */
    int64_t quota, used; /* iterations */
    double from, to;     /* in parts of the whole budget */
    double part;         /* part of this budget used up at the last pp_iteration_budget_run */
} pp_iteration_budget;

/* Counts `iterations` more. Returns true if the task may continue. */
bool pp_iteration_budget_run(pp_iteration_budget *budget, int64_t iterations);

/* A share of a budget of time. */
typedef struct pp_time_share {
    double (*spent)(void *context); /* the part of the whole budget that is used up */
    void *context;
    double from, to; /* of the whole budget */
} pp_time_share;

/* For a `spent` callback; share: a pp_time_share. Returns the part of the share that is used up. */
double pp_time_share_spent(void *share);

/* The temperature of simulated annealing when `part` of the budget is used up: it begins at `hot`
 * and halves `halvings` times, at equal distances and linearly between them. */
double pp_iteration_budget_cool(const pp_iteration_budget *budget, double hot, int halvings);

#endif
