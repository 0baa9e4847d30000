/* Budgets of iterations or time. With a number of iterations, what a task does depends on that
 * number alone, so that a search gives the same result on every machine; the clock then only shows
 * whether the user has interrupted the search. */
#include "planner/order/iteration_budget.h"

bool pp_iteration_budget_run(pp_iteration_budget *budget, int64_t iterations)
{
    double spent = budget->spent ? budget->spent(budget->context) : 0;
    if (budget->counted)
        budget->part = budget->quota ? (double)budget->used / (double)budget->quota : 1;
    else
        budget->part =
            budget->to > budget->from ? (spent - budget->from) / (budget->to - budget->from) : 1;
    if (budget->part < 0)
        budget->part = 0;
    budget->used += iterations;
    return budget->part < 1 && spent < 1;
}

double pp_time_share_spent(void *share)
{
    const pp_time_share *s = share;
    return s->to > s->from ? (s->spent(s->context) - s->from) / (s->to - s->from) : 1;
}

double pp_iteration_budget_cool(const pp_iteration_budget *budget, double hot, int halvings)
{
    double at = budget->part * halvings;
    int whole = (int)at;
    return hot / (double)(1u << whole) * (1 - (at - whole) / 2);
}
