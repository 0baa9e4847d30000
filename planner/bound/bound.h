/* Lower bounds on the makespan of a step: no order of these ops on this placement, with these
 * costs, can end earlier. They are whole nanoseconds, rounded down. Proofs:
 * docs/explanation/planning-bounds.md. */
#ifndef PPSIM_PLANNER_BOUND_BOUND_H
#define PPSIM_PLANNER_BOUND_BOUND_H

#include "sim/analysis/report.h"
#include "sim/cost/costs.h"
#include "sim/order/order.h"

/* X(name, text). PATH is the bound of a microbatch, all others are bounds of a rank. */
#define PP_BOUND_MAP(X)                                                                           \
    X(LOAD, "load")        /* shortest way in, all work, shortest way out */                      \
    X(PATH, "path")        /* the longest chain of one microbatch, F down and B up, with links */ \
    X(START, "start")      /* the forwards that exist, or fit, before the first backward */       \
    X(AREA, "memory area") /* bytes x time of all activations, divided by the rank's free bytes */

typedef enum pp_bound_part {
#define PP_BOUND_ENUM(name, text) PP_BOUND_##name,
    PP_BOUND_MAP(PP_BOUND_ENUM)
#undef PP_BOUND_ENUM
        PP_BOUND_COUNT,
} pp_bound_part;

const char *pp_bound_text(pp_bound_part part);

typedef struct pp_bound {
    pp_ns part_ns[PP_BOUND_COUNT];      /* 0: this bound gives no limit */
    uint32_t part_rank[PP_BOUND_COUNT]; /* its rank; PATH: 0 */
    pp_ns ns;                           /* the largest of them */
    pp_bound_part part;                 /* the part that is the largest; the first one on ties */
    bool fits; /* false: some op alone exceeds the memory limit, so no order exists */
} pp_bound;

/* stage_rank: [costs->stages].
 * split: the bound also holds when some or all backwards are split into I and W; otherwise every
 * backward is fused.
 * memory_limit_bytes: the bound holds for the orders that stay within it on every rank; with 0, or
 * without has_memory, for all orders.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_bound_makespan(const pp_costs *costs, const uint32_t *stage_rank,
                                          bool split, int64_t memory_limit_bytes,
                                          pp_bound *bound_out, pp_err *err);

/* Like pp_bound_makespan, for all orders of the ops of `order` on its ranks, including
 * bidirectional orders, forwards only and overlapped pairs. The memory limit is used if each stage
 * is on one rank and there are backwards. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_bound_order(const pp_costs *costs, const pp_order *order,
                                       int64_t memory_limit_bytes, pp_bound *bound_out,
                                       pp_err *err);

/* The least time from the makespan to the end of the step, in ns: gradient sync, optimizer. */
pp_ns pp_bound_boundary(const pp_costs *costs, bool step_sync);

/* Sets lower_bound_ns and bound_name of `report`, which is that of `order` with `costs`, to the
 * bound above or, if `strong`, to the larger of it and those of planner/order/problem_bound.h,
 * which take much longer. The report's memory limit is used if the report stays within it. Fails:
 * NOMEM; INTERNAL if the report's makespan is below the bound. */
PP_MUST_CHECK pp_status pp_bound_report(const pp_costs *costs, const pp_order *order, bool strong,
                                        pp_report *report, pp_err *err);

#endif
