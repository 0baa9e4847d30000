/* What the files of the order search share. */
#ifndef PPSIM_PLANNER_ORDER_SEARCH_INT_H
#define PPSIM_PLANNER_ORDER_SEARCH_INT_H

#include "planner/order/moves.h"
#include "planner/order/search.h"
#include "sim/base/random.h"

#include <stdbool.h>

/* Random numbers, seeded by what they are for. */
typedef struct pp_rng {
    uint64_t state;
} pp_rng;

static inline uint64_t pp_rng_bits(pp_rng *rng)
{
    return pp_random_next(&rng->state);
}

/* 0 to count - 1. */
static inline uint32_t pp_rng_below(pp_rng *rng, uint32_t count)
{
    return (uint32_t)(((pp_rng_bits(rng) >> 32) * count) >> 32);
}

/* Close to -log2 of a uniform number in (0, 1), made without a logarithm, so that it is the same
 * everywhere: exact at powers of two, linear between. */
static inline double pp_rng_exponential(pp_rng *rng)
{
    uint64_t bits = pp_rng_bits(rng) | 1;
    int zeros = __builtin_clzll(bits);
    uint64_t rest = zeros == 63 ? 0 : bits << (zeros + 1);
    return zeros + 1 - (double)rest * 0x1p-64;
}

/* How a dispatch decides. */
typedef struct pp_policy {
    uint32_t *order; /* [microbatches]: forwards start in this order on every stage */
    int16_t *knob;   /* [ranks * PP_KNOBS] */
    uint32_t flags;
} pp_policy;

/* Of one rank. */
enum {
    PP_KNOB_IN_FLIGHT, /* most microbatches between the first F and the last B there */
    PP_KNOB_OVERRUN,   /* a W may keep the next op waiting for so many 1/16 of its time */
    PP_KNOB_HOLD,      /* no F when a B comes within so many 1/16 of its time */
    PP_KNOB_FILL,      /* W before F when memory is filled to so many 1/16 */
    PP_KNOB_PRESS,     /* a W that an F waits for may keep a B waiting for so many 1/16 */
    PP_KNOB_FEED,      /* F before B when the next rank, 1: has nothing to do, 2: soon has not */
    PP_KNOBS,
};

enum {
    PP_POLICY_ORDER_B = 1,   /* of several backwards the first in the order, not the one that waits
                                longest */
    PP_POLICY_FIT_W = 2,     /* the longest W that fits a gap, not the oldest */
    PP_POLICY_SHALLOW_F = 4, /* of several forwards the one of the lowest stage */
    PP_POLICY_OLD_F = 8,     /* the one of the oldest microbatch, above that */
    PP_POLICY_FLAGS = 16,
};

/* Room for the orders that policies make. */
typedef struct pp_dispatch pp_dispatch;

PP_MUST_CHECK pp_status pp_dispatch_new(const pp_instance *instance, pp_dispatch **dispatch_out,
                                        pp_err *err);
void pp_dispatch_free(pp_dispatch **dispatch); /* for PP_CLEANUP; *dispatch NULL is fine */

/* Runs all ranks by the policy. Returns the makespan, or INT64_MAX when it gets stuck or surely
 * ends after `limit`. */
int64_t pp_dispatch_run(pp_dispatch *dispatch, const pp_policy *policy, int64_t limit);
/* The order it made, as pp_instance_print_orders takes it; valid until the next run. */
const uint32_t *pp_dispatch_ops(const pp_dispatch *dispatch);

/* How much a task may still do: a number of iterations, or a part of the whole budget. */
typedef struct pp_iteration_budget {
    const pp_search_budget *whole;
    int64_t quota, used;
    double from, to; /* of whole->spent, where there are no iterations */
    double part;     /* as of the last look */
} pp_iteration_budget;

/* Counts; returns whether the task goes on. */
bool pp_iteration_budget_run(pp_iteration_budget *budget, int64_t iterations);

/* hot, halved `halvings` times in equal steps while part goes from 0 to 1, straight between. */
static inline double pp_cooling(double hot, int halvings, double part)
{
    double at = part * halvings;
    int whole = (int)at;
    return hot / (double)(1u << whole) * (1 - (at - whole) / 2);
}

/* One line of search: a policy, and the best order that came of it. */
typedef struct pp_chain {
    pp_policy policy;
    int64_t dispatched; /* what the policy reaches */
    int64_t makespan;   /* of ops, which are worked on; INT64_MAX: none yet */
    uint32_t *ops;
    int64_t best; /* of best_ops, the best of all legs */
    uint32_t *best_ops;
    pp_rng rng;
} pp_chain;

/* What a thread needs for itself. */
typedef struct pp_search_scratch {
    pp_dispatch *dispatch;
    pp_movable_order *walk;
    pp_policy trial, now;
    uint32_t *path; /* [ops + 1]: a critical path, last op first */
    bool *by_rank;  /* [ops + 1]: the op waited for the one before it on its rank: path[k + 1] */
    uint32_t length;
} pp_search_scratch;

PP_MUST_CHECK pp_status pp_policy_new(const pp_instance *instance, pp_policy *policy, pp_err *err);
void pp_policy_copy(const pp_instance *instance, pp_policy *to, const pp_policy *from);

/* Tries policies, by rule the first ones (of which this chain takes every stride-th), then drawn at
 * random, and keeps the best in the chain. */
void pp_sample_policies(const pp_instance *instance, pp_search_scratch *scratch, uint32_t first,
                        uint32_t stride, int64_t bound, pp_iteration_budget *budget,
                        pp_chain *chain);
/* Anneals the chain's policy, from `hot` ticks. */
void pp_anneal_policy(const pp_instance *instance, pp_search_scratch *scratch, double hot,
                      int64_t bound, pp_iteration_budget *budget, pp_chain *chain);
/* Anneals the chain's order by moves. */
void pp_polish_order(const pp_instance *instance, pp_search_scratch *scratch, double hot,
                     int64_t bound, pp_iteration_budget *budget, pp_chain *chain);

#endif
