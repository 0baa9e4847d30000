/* Lower bounds on the makespan of a problem: no order of its ops ends earlier. They hold for the
 * given placement, partition and packing, and only for those. They are whole ticks. Proofs:
 * docs/explanation/planning-bounds.md. */
#ifndef PPSIM_PLANNER_ORDER_PROBLEM_BOUND_H
#define PPSIM_PLANNER_ORDER_PROBLEM_BOUND_H

#include "planner/order/problem.h"

/* X(name, key, what the bound consists of). */
#define PP_ORDER_BOUND_MAP(X)                                                                  \
    X(LOAD, "load", "the shortest way in and all work of a rank")                              \
    X(PATH, "path", "the longest chain of one microbatch")                                     \
    X(JACKSON, "jackson", "one rank's ops, pre-emptible, between their ways in and out")       \
    X(START, "start", "work, and the wait until the forwards that fit bring a backward back")  \
    X(START_END, "start_end", "the same, and the wait for the last forward's way down and up") \
    X(AHEAD, "ahead", "the ways in of the long ones, behind what runs ahead, and their work")  \
    X(AREA, "area", "memory x time that the activations take, over the memory there is")       \
    X(DFF, "dff", "the same with sizes rounded by what fits into memory together")             \
    X(CHAINED, "chained", "equal microbatches counted: no F before memory came back from a B") \
    X(PROOF, "proof", "the search refuted all shorter orders")

typedef enum pp_order_bound_part {
#define PP_ORDER_BOUND_ENUM(name, key, text) PP_ORDER_BOUND_##name,
    PP_ORDER_BOUND_MAP(PP_ORDER_BOUND_ENUM)
#undef PP_ORDER_BOUND_ENUM
        PP_ORDER_BOUND_COUNT,
} pp_order_bound_part;

const char *pp_order_bound_key(pp_order_bound_part part);
const char *pp_order_bound_text(pp_order_bound_part part);

typedef struct pp_order_bounds {
    int64_t part[PP_ORDER_BOUND_COUNT]; /* 0: this bound gives no limit */
    int64_t ticks;                      /* the largest of them */
    pp_order_bound_part largest;        /* the part that is the largest; the first one on ties */
} pp_order_bounds;

/* O(ops (log ops + s)), s: stages of a rank, at most 64. PROOF is 0. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_order_bounds_find(const pp_order_problem *problem,
                                             pp_order_bounds *bounds_out, pp_err *err);
/* The same for more microbatches than the problem has: copies[j] of them are like its microbatch j
 * (NULL: one of each). Their ops together must take less than 2^62 ticks. The parts after one that
 * reaches `enough` are left out; INT64_MAX: none is. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_order_bounds_find_counted(const pp_order_problem *problem,
                                                     const uint32_t *copies, int64_t enough,
                                                     pp_order_bounds *bounds_out, pp_err *err);

/* Takes a bound that a search proved (pp_found_order), if it is larger than the others. */
void pp_order_bounds_raise(pp_order_bounds *bounds, int64_t proved);

#endif
