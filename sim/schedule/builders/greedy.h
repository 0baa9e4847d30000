/* Ranks that place ops side by side, each against its own clock and memory: the state of the
 * generators that look at durations.
 *
 * Every kind of op of one stage is placed in microbatch order, and a rank's W's in the order of
 * its I's. Asking for an op whose input was not placed, or for memory that no W can free, voids
 * the attempt. */
#ifndef PPSIM_SIM_SCHEDULE_BUILDERS_GREEDY_H
#define PPSIM_SIM_SCHEDULE_BUILDERS_GREEDY_H

#include "sim/order/order.h"
#include "sim/schedule/builders/params.h"

typedef struct pp_greedy {
    pp_order *order;       /* placement and size; ops are added by pp_greedy_finish */
    const pp_costs *costs; /* NULL: the same for all, as the next two say */
    pp_ns same_ns[3];      /* by F, I, W */
    pp_ns same_latency_ns;
    uint32_t ranks, stages, microbatches;

    /* In a fixed part of one forward activation: f > 0, i and w <= 0, sum 0. */
    int64_t memory_change[3]; /* by F, I, W */
    int64_t memory_limit;     /* per rank */

    /* Of the attempt. */
    bool failed;
    pp_ns *clock_ns;             /* [ranks] */
    pp_ns *idle_ns;              /* [ranks]: waiting since the first F */
    pp_ns *first_ns;             /* [ranks]: start of the first F */
    pp_ns worst_idle_ns;         /* the largest idle_ns */
    int64_t *memory;             /* [ranks] */
    uint32_t *placed;            /* [3][stages]: ops of each kind */
    uint32_t *rank_placed;       /* [ranks]: ops */
    uint32_t *opened;            /* [ranks]: I's */
    uint32_t *closed;            /* [ranks]: W's */
    pp_ns *end_ns;               /* [2][stages][microbatches]: of F and of I */
    pp_op *queue;                /* [ranks][opened]: I's in order */
    pp_op *ops;                  /* [ranks][rank_ops] */
    pp_op *kept;                 /* the same of the best attempt */
    size_t rank_ops, rank_pairs; /* 3 and 1 per (stage of the rank, microbatch) */
    bool has_kept;
} pp_greedy;

/* limit: per rank, in forward activations of one stage.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_greedy_new(const pp_schedule_params *params, pp_placement placement,
                                      uint32_t limit, pp_greedy **greedy_out, pp_err *err);
void pp_greedy_free(pp_greedy **greedy); /* for PP_CLEANUP; *greedy NULL is fine */

/* Ranks and microbatches become alike: every duration is the mean of its kind. */
void pp_greedy_use_means(pp_greedy *greedy);

void pp_greedy_begin(pp_greedy *greedy); /* a new attempt: nothing is placed */
void pp_greedy_keep(pp_greedy *greedy);  /* the attempt is the best so far; begin the next */
/* Every op of every rank is placed. */
bool pp_greedy_complete(const pp_greedy *greedy);
/* The best attempt, which must exist. The order is the caller's. */
void pp_greedy_finish(pp_greedy *greedy, pp_order **order_out);

/* F or I: places the next microbatch of `stage`. */
void pp_greedy_place(pp_greedy *greedy, pp_op_kind kind, uint32_t stage);
void pp_greedy_place_w(pp_greedy *greedy, uint32_t rank); /* the oldest that is open */

/* Places W's while the memory change of one more `kind` would pass the limit. */
void pp_greedy_make_room(pp_greedy *greedy, uint32_t rank, pp_op_kind kind);
/* Places W's that end no later than `until_ns`. */
void pp_greedy_fill(pp_greedy *greedy, uint32_t rank, pp_ns until_ns);

/* When the input of the next `kind` of `stage` arrives. Returns false when it comes from the same
 * rank or from outside. */
bool pp_greedy_arrival(pp_greedy *greedy, pp_op_kind kind, uint32_t stage, pp_ns *ns_out);

/* Saturates. */
static inline pp_ns pp_greedy_plus(pp_ns a, pp_ns b)
{
    pp_ns sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Of the given microbatch; F, I or W. */
static inline pp_ns pp_greedy_cost(const pp_greedy *greedy, pp_op_kind kind, uint32_t stage,
                                   uint32_t microbatch)
{
    const pp_costs *costs = greedy->costs;
    if (!costs)
        return greedy->same_ns[kind];
    size_t at = pp_cost_index(costs, stage, microbatch);
    return kind == PP_OP_F ? costs->f_ns[at] : kind == PP_OP_I ? costs->i_ns[at] : costs->w_ns[at];
}

/* Latency of the input of F or I of `stage`. */
pp_ns pp_greedy_latency(const pp_greedy *greedy, pp_op_kind kind, uint32_t stage,
                        uint32_t microbatch);

static inline uint32_t pp_greedy_placed(const pp_greedy *greedy, pp_op_kind kind, uint32_t stage)
{
    return greedy->placed[(size_t)kind * greedy->stages + stage];
}

static inline uint32_t pp_greedy_open(const pp_greedy *greedy, uint32_t rank)
{
    return greedy->opened[rank] - greedy->closed[rank];
}

/* Duration of the oldest open W, which must exist. */
pp_ns pp_greedy_w_ns(const pp_greedy *greedy, uint32_t rank);

#endif
