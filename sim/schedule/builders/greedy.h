/* The state of greedy generators, which place ops by their durations: every rank has a clock and an
 * amount of memory.
 *
 * The ops of one kind and stage are placed in the order of microbatches, and a rank's W's in the
 * order of its I's. An attempt fails if it places an op whose input was not placed, or that needs
 * memory that no W can free. */
#ifndef PPSIM_SIM_SCHEDULE_BUILDERS_GREEDY_H
#define PPSIM_SIM_SCHEDULE_BUILDERS_GREEDY_H

#include "sim/order/order.h"
#include "sim/schedule/builders/params.h"

typedef struct pp_greedy {
    pp_order *order;       /* placement and size; ops are added by pp_greedy_finish */
    const pp_costs *costs; /* NULL: the next two hold for all stages and microbatches */
    pp_ns same_ns[3];      /* durations of F, I, W */
    pp_ns same_latency_ns; /* of a transfer */
    uint32_t ranks, stages, microbatches;

    /* In fractions of one forward activation: f > 0, i and w <= 0, and their sum is 0. */
    int64_t memory_change[3]; /* of F, I, W */
    int64_t memory_limit;     /* per rank */

    /* The current attempt. */
    bool failed;
    pp_ns *clock_ns;             /* [ranks] */
    pp_ns *idle_ns;              /* [ranks]: time spent waiting since the first F */
    pp_ns *first_ns;             /* [ranks]: start of the first F */
    pp_ns worst_idle_ns;         /* the largest idle_ns */
    int64_t *memory;             /* [ranks]: in use */
    uint32_t *placed;            /* [3][stages]: number of placed F, I, W */
    uint32_t *rank_placed;       /* [ranks]: number of placed ops */
    uint32_t *opened;            /* [ranks]: number of placed I's */
    uint32_t *closed;            /* [ranks]: number of placed W's */
    pp_ns *end_ns;               /* [2][stages][microbatches]: ends of F and I */
    pp_op *queue;                /* [ranks][opened]: placed I's in their order */
    pp_op *ops;                  /* [ranks][rank_ops]: placed ops in their order */
    pp_op *kept;                 /* `ops` of the best attempt */
    size_t rank_ops, rank_pairs; /* 3 and 1 per (stage of the rank, microbatch) */
    bool has_kept;
} pp_greedy;

/* limit: memory per rank, in forward activations of one stage. params is not retained, its costs
 * are.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_greedy_new(const pp_schedule_params *params, pp_placement placement,
                                      uint32_t limit, pp_greedy **greedy_out, pp_err *err);
void pp_greedy_free(pp_greedy **greedy); /* for PP_CLEANUP; *greedy NULL is fine */

/* Replaces every duration by the mean of its kind, so that ranks and microbatches are alike. */
void pp_greedy_use_means(pp_greedy *greedy);

void pp_greedy_begin(pp_greedy *greedy); /* begins an attempt without placed ops */
void pp_greedy_keep(pp_greedy *greedy);  /* keeps the attempt as the best so far; begin the next */
/* Returns true if all ops of all ranks are placed. */
bool pp_greedy_complete(const pp_greedy *greedy);
/* Makes the order of the best attempt, which must exist. The caller owns the order. */
void pp_greedy_finish(pp_greedy *greedy, pp_order **order_out);

/* Places F or I of the next microbatch of `stage`. */
void pp_greedy_place(pp_greedy *greedy, pp_op_kind kind, uint32_t stage);
/* Places the oldest open W: the one of the first I whose W is not placed. */
void pp_greedy_place_w(pp_greedy *greedy, uint32_t rank);

/* Places W's as long as one more op of `kind` would exceed the memory limit. */
void pp_greedy_make_room(pp_greedy *greedy, uint32_t rank, pp_op_kind kind);
/* Places W's that end no later than `until_ns`. */
void pp_greedy_fill(pp_greedy *greedy, uint32_t rank, pp_ns until_ns);

/* The time at which the input of the next op of `kind` and `stage` arrives. Returns false if it
 * does not come from another rank. */
bool pp_greedy_arrival(pp_greedy *greedy, pp_op_kind kind, uint32_t stage, pp_ns *ns_out);

/* a + b, or INT64_MAX if that overflows. */
static inline pp_ns pp_greedy_plus(pp_ns a, pp_ns b)
{
    pp_ns sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* The duration of an F, I or W. */
static inline pp_ns pp_greedy_cost(const pp_greedy *greedy, pp_op_kind kind, uint32_t stage,
                                   uint32_t microbatch)
{
    const pp_costs *costs = greedy->costs;
    if (!costs)
        return greedy->same_ns[kind];
    size_t at = pp_cost_index(costs, stage, microbatch);
    return kind == PP_OP_F ? costs->f_ns[at] : kind == PP_OP_I ? costs->i_ns[at] : costs->w_ns[at];
}

/* The latency of the input of an F or I of `stage`. */
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

#endif
