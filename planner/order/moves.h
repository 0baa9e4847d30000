/* One order of every rank with its times, kept current while single ops are moved. */
#ifndef PPSIM_PLANNER_ORDER_MOVES_H
#define PPSIM_PLANNER_ORDER_MOVES_H

#include "planner/order/problem.h"

#include <stdbool.h>

/* Arrays by op have a last entry for "no op", which ends at 0 and is followed by nothing. */
typedef struct pp_movable_order {
    const pp_instance *instance;
    uint32_t *begin;    /* [ranks + 1] into sequence: rank r from begin[r] to begin[r + 1] - 2 */
    uint32_t *sequence; /* rank after rank, "no op" before and behind each */
    uint32_t *place;    /* [ops + 1] into sequence */
    uint32_t *topo;     /* [ops]: every op behind all that it waits for */
    uint32_t *rank_in_topo; /* [ops + 1] */
    int64_t *end;           /* [ops + 1]: each op as early as it can */
    int64_t *tail;          /* [ops + 1]: from its end to the end of all, at least */
    int64_t *held;          /* by place: memory before the op there */
    int64_t makespan;
    /* scratch of a move */
    uint32_t *mark;  /* [ops + 1]: round in which an op was found to hang on the moved one */
    int64_t *fresh;  /* [ops + 1]: ends after the move */
    uint32_t *later; /* [ops] */
    uint32_t round;
} pp_movable_order;

PP_MUST_CHECK pp_status pp_movable_order_new(const pp_instance *instance,
                                             pp_movable_order **walk_out, pp_err *err);
void pp_movable_order_free(pp_movable_order **walk); /* for PP_CLEANUP; *walk NULL is fine */

/* ops: as pp_instance_print_orders takes them; each on its rank, once. false, with the walk
 * unusable until the next pp_movable_order_set, when they wait in a circle or do not fit. */
bool pp_movable_order_set(pp_movable_order *walk, const uint32_t *ops);
/* The inverse. ops: [instance->ops]. */
void pp_movable_order_get(const pp_movable_order *walk, uint32_t *ops);

/* Puts the op at place `from` at place `to` of the same rank, if that makes no circle, fits, and
 * ends by `limit`; returns whether it did. Otherwise nothing has changed. */
bool pp_movable_order_move(pp_movable_order *walk, uint32_t from, uint32_t to, int64_t limit);
/* Exchanges two microbatches on every rank, under the same conditions. */
bool pp_movable_order_exchange(pp_movable_order *walk, uint32_t i, uint32_t j, int64_t limit);

#endif
