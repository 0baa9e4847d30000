/* Why a candidate or a packing is not the answer, as values. The command turns them into sentences;
 * only those that end in an error message are printed here. */
#ifndef PPSIM_PLANNER_CANDIDATE_REASON_H
#define PPSIM_PLANNER_CANDIDATE_REASON_H

#include "planner/order/problem_bound.h"
#include "sim/analysis/memory_change.h"

typedef enum pp_reason_kind {
    PP_REASON_NONE,
    PP_REASON_REFUSED,      /* a rule forbids it; see `refusal` */
    PP_REASON_MEMORY,       /* a rank has too little memory; see `shortage` */
    PP_REASON_UNSEEN,       /* the budget ended before its bound was known */
    PP_REASON_BUDGET,       /* the budget ended before it was simulated */
    PP_REASON_SLOWER,       /* its bound exceeds the best step; see best_step_ns and other_gpus */
    PP_REASON_SPLIT_SLOWER, /* the bound of its split of GPUs exceeds the best step */
    /* For a candidate that fits: how good its order is known to be. */
    PP_REASON_ORDER_GAP, /* gap above the bound of any order, which is order_bound */
    PP_REASON_STEP_GAP,  /* gap above the bound of the step */
} pp_reason_kind;

/* The memory that a rank lacks. */
typedef struct pp_memory_shortage {
    uint32_t rank;
    int64_t bytes; /* beyond the limit */
    pp_memory_component component;
    bool alone; /* a single microbatch already needs too much */
} pp_memory_shortage;

typedef struct pp_reason {
    pp_reason_kind kind;
    pp_memory_shortage shortage;
    pp_ns best_step_ns;
    bool other_gpus; /* the best candidate has another number of GPUs */
    pp_order_bound_part order_bound;
    double gap;
    char refusal[392]; /* the message of the refusal, truncated to this buffer */
} pp_reason;

/* The shortage of a rank that needs bytes[] at its peak: the component named is the largest of
 * those that a step adds, or, when the static ones alone do not fit, of these. */
pp_memory_shortage pp_memory_shortage_of(uint32_t rank, int64_t short_bytes,
                                         const int64_t bytes[PP_MEMORY_COUNT]);
pp_reason pp_reason_refused(const pp_err *refusal);
pp_reason pp_reason_short(pp_memory_shortage shortage);

enum { PP_REASON_BYTES = 400 };

/* Prints REFUSED or MEMORY as the end of a message: "rank 3 short by 2.1 GiB, the step
 * adds mostly activations". Returns buffer, of PP_REASON_BYTES bytes; it is empty for the other
 * kinds. */
const char *pp_misfit_print(const pp_reason *reason, char *buffer, size_t size);

#endif
