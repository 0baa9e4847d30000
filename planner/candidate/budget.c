/* What the budget of a request suffices for, estimated from numbers of ops: a simulation cannot be
 * ended on its way, so one that is too large is not begun. The times per op were measured with 2.4
 * million ops under executor ppsim on one core of 2024. */
#include "planner/candidate/budget.h"

#include <math.h>

/* The seconds of a simulation and of a result (its plan, its prediction and where the time goes)
 * per op. What takes less than ALWAYS_S may exceed the time. */
#define SIMULATION_S_PER_OP 0.4e-6
#define RESULT_S_PER_OP 0.9e-6
#define ALWAYS_S 0.1

/* An iteration is about a second at most. */
#define OPS_PER_ITERATION 1e6
#define EFFORT_PER_ITERATION 1e5
#define BOUNDING_FREE 2 /* iterations of each search that are not counted */
#define BOUNDING_PART 0.4

/* The costs of the units of a class take as long as those of so many stages. */
#define STAGES_OF_UNITS 10

/* A partition takes a search for the least load, and moves of layers that are limited in number. */
#define PARTITION_OF_STAGE 0.5
#define PARTITION_OF_PAIR 2e-3
#define PARTITION_MOST 2000

/* HUGE_VAL: not limited, or not known. */
static double seconds_left(const pp_plan_request *request)
{
    return request->spent && request->budget_s > 0
               ? (1 - request->spent(request->context)) * request->budget_s
               : HUGE_VAL;
}

bool pp_budget_is_limited(const pp_plan_request *request)
{
    return request->stop || request->max_simulations;
}

bool pp_budget_time_is_up(const pp_plan_request *request)
{
    return request->stop && request->stop(request->context);
}

bool pp_budget_is_over(const pp_plan_request *request, double ops)
{
    return pp_budget_time_is_up(request) ||
           (request->stop && seconds_left(request) <= ops * RESULT_S_PER_OP);
}

double pp_budget_part_of_result(const pp_plan_request *request, double ops)
{
    const double seconds = ops * (SIMULATION_S_PER_OP + RESULT_S_PER_OP);
    return request->budget_s > 0 && seconds > ALWAYS_S ? fmin(1, seconds / request->budget_s) : 0;
}

uint64_t pp_budget_iterations(double ops)
{
    return ops > OPS_PER_ITERATION ? (uint64_t)ceil(ops / OPS_PER_ITERATION) : 1;
}

double pp_budget_bound_effort(double classes, double stages)
{
    return classes * (STAGES_OF_UNITS + stages) / (2 * STAGES_OF_UNITS);
}

double pp_budget_partition_effort(double layers, double stages)
{
    return PARTITION_OF_STAGE * stages + fmin(PARTITION_MOST, PARTITION_OF_PAIR * layers * stages);
}

uint64_t pp_budget_bounding(double effort)
{
    const double whole = floor(effort / EFFORT_PER_ITERATION);
    return whole > BOUNDING_FREE ? (uint64_t)whole - BOUNDING_FREE : 0;
}

bool pp_budget_bounds(const pp_plan_request *request, double effort)
{
    const double most = BOUNDING_PART * (double)request->max_simulations + BOUNDING_FREE;
    return !request->max_simulations || effort <= most * EFFORT_PER_ITERATION;
}

bool pp_budget_affords(const pp_plan_request *request, double ops)
{
    if (request->max_simulations && pp_budget_iterations(ops) > request->max_simulations)
        return false;
    const double seconds = ops * (SIMULATION_S_PER_OP + RESULT_S_PER_OP);
    return seconds <= ALWAYS_S || seconds <= seconds_left(request);
}
