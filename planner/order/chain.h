/* The state of one chain of the search: the policy and the order that it has reached. A search runs
 * several chains, and each thread that works on one brings its own scratch memory. */
#ifndef PPSIM_PLANNER_ORDER_CHAIN_H
#define PPSIM_PLANNER_ORDER_CHAIN_H

#include "planner/order/dispatch.h"
#include "planner/order/movable_order.h"
#include "sim/base/random.h"

#include <stdbool.h>

typedef struct pp_search_chain {
    pp_policy policy;
    int64_t dispatched; /* makespan of the policy; INT64_MAX: there is none yet */
    int64_t makespan;   /* of `ops`, the order that is worked on; INT64_MAX: none yet */
    uint32_t *ops;      /* [problem->ops], as pp_order_problem_print_orders takes them */
    int64_t best;       /* of `best_ops`, the best order of all phases */
    uint32_t *best_ops;
    pp_rng rng;
} pp_search_chain;

/* The index-th chain of a search; its random numbers follow from `seed` and `index`.
 * Fails: NOMEM; pp_search_chain_free in any case. */
PP_MUST_CHECK pp_status pp_search_chain_new(const pp_order_problem *problem, uint64_t seed,
                                            uint32_t index, pp_search_chain *chain, pp_err *err);
void pp_search_chain_free(pp_search_chain *chain);
/* `to` continues from the state of `from`, with its own random numbers and its own best order. */
void pp_search_chain_adopt(const pp_order_problem *problem, pp_search_chain *to,
                           const pp_search_chain *from);

/* What one thread needs to work on a chain. */
typedef struct pp_search_scratch {
    pp_dispatch *dispatch;
    pp_movable_order *order;
    pp_policy trial, now;
    uint32_t *path; /* [ops + 1]: a critical path, the last op first */
    bool *by_rank;  /* [ops + 1]: path[k] waited for the op before it on its rank, path[k + 1] */
    uint32_t length;
    uint32_t *block; /* [blocked]: which of `path` have by_rank before or behind them */
    uint32_t blocked;
    uint32_t *by_work; /* [microbatches]: by ascending work; owns the next two */
    uint32_t *lighter; /* [microbatches]: how many there are with less work */
    uint32_t *heavier; /* [microbatches]: how many there are with more */
} pp_search_scratch;

/* Fails: NOMEM; pp_search_scratch_free in any case. */
PP_MUST_CHECK pp_status pp_search_scratch_new(const pp_order_problem *problem,
                                              pp_search_scratch *scratch, pp_err *err);
void pp_search_scratch_free(pp_search_scratch *scratch);

#endif
