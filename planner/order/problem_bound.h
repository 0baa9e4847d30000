/* Lower bounds on the makespan of an instance: no order of its ops ends earlier. All hold for the
 * given placement, partition and packing, and only for those. Whole ticks, rounded down where they
 * round. Proofs: docs/planning.md. */
#ifndef PPSIM_PLANNER_ORDER_PROBLEM_BOUND_H
#define PPSIM_PLANNER_ORDER_PROBLEM_BOUND_H

#include "planner/order/problem.h"

/* name, key, what must pass */
#define PP_LIMIT_MAP(X)                                                                        \
    X(LOAD, "load", "the shortest way in and all work of a rank")                              \
    X(PATH, "path", "the longest chain of one microbatch")                                     \
    X(JACKSON, "jackson", "one rank's ops, pre-emptible, between their ways in and out")       \
    X(START, "start", "work, and the wait until the forwards that fit bring a backward back")  \
    X(START_END, "start_end", "the same, and the wait for the last forward's way down and up") \
    X(AREA, "area", "memory x time that the activations take, over the memory there is")       \
    X(DFF, "dff", "the same with sizes rounded by what fits beside each other")                \
    X(CHAINED, "chained", "equal microbatches counted: no F before memory came back from a B")

typedef enum pp_limit_part {
#define PP_LIMIT_ENUM(name, key, text) PP_LIMIT_##name,
    PP_LIMIT_MAP(PP_LIMIT_ENUM)
#undef PP_LIMIT_ENUM
        PP_LIMIT_COUNT,
} pp_limit_part;

const char *pp_limit_key(pp_limit_part part);
const char *pp_limit_text(pp_limit_part part);

typedef struct pp_limits {
    int64_t part[PP_LIMIT_COUNT]; /* 0: says nothing */
    int64_t ticks;                /* the largest of them */
    pp_limit_part largest;        /* which that is; the first on ties */
} pp_limits;

/* Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_instance_bound(const pp_instance *instance, pp_limits *limits_out,
                                          pp_err *err);

#endif
