/* An order of every rank together with its times, which stay correct while single ops are moved. */
#ifndef PPSIM_PLANNER_ORDER_MOVABLE_ORDER_H
#define PPSIM_PLANNER_ORDER_MOVABLE_ORDER_H

#include "planner/order/problem.h"

#include <stdbool.h>

/* Arrays by op have one more entry, for "no op", which ends at 0 and is followed by nothing. Times
 * are ticks. */
typedef struct pp_movable_order {
    const pp_order_problem *problem;
    uint32_t *begin;    /* [ranks + 1], into sequence: rank r is begin[r] to begin[r + 1] - 2 */
    uint32_t *sequence; /* rank after rank, with "no op" before and after each */
    uint32_t *place;    /* [ops + 1]: index into `sequence` */
    uint32_t *topo;     /* [ops]: a topological order, with every op after all that it waits for */
    uint32_t *rank_in_topo; /* [ops + 1]: the inverse of topo */
    int64_t *end;           /* [ops + 1]: every op starts as early as it can */
    int64_t *tail;          /* [ops + 1]: longest path from its end to the end of the step */
    int64_t *held;          /* by place: memory held before the op at that place */
    int64_t makespan;
    /* scratch memory of a move */
    uint32_t *mark;  /* [ops + 1]: round in which an op was found to depend on the moved one */
    int64_t *fresh;  /* [ops + 1]: ends after the move */
    uint32_t *later; /* [ops] */
    uint32_t round;
} pp_movable_order;

/* problem: borrowed; it must outlive the order. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_movable_order_new(const pp_order_problem *problem,
                                             pp_movable_order **order_out, pp_err *err);
void pp_movable_order_free(pp_movable_order **order); /* for PP_CLEANUP; *order NULL is fine */

/* ops: as pp_order_problem_print_orders takes them; each on its rank, once. Returns false when the
 * ops wait for each other in a cycle or exceed the memory; the order is then unusable until the
 * next pp_movable_order_set. */
bool pp_movable_order_set(pp_movable_order *order, const uint32_t *ops);
/* The inverse of pp_movable_order_set. ops: [problem->ops]. */
void pp_movable_order_get(const pp_movable_order *order, uint32_t *ops);

/* Moves the op at place `from` to place `to` of the same rank, if that makes no cycle, fits into
 * the memory, and ends by `limit`. Returns true if it did; otherwise nothing has changed. */
bool pp_movable_order_move(pp_movable_order *order, uint32_t from, uint32_t to, int64_t limit);
/* Exchanges two microbatches on every rank, under the same conditions. */
bool pp_movable_order_exchange(pp_movable_order *order, uint32_t i, uint32_t j, int64_t limit);

#endif
