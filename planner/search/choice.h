/* The plan that is recommended, of several that fit. */
#ifndef PPSIM_PLANNER_SEARCH_CHOICE_H
#define PPSIM_PLANNER_SEARCH_CHOICE_H

#include "planner/candidate/candidate.h"

/* By how much a p95 must be shorter to count. */
#define PP_STEADY_PART 0.003

/* Why the one that was taken is better than the fastest. */
typedef enum pp_choice_reason {
    PP_CHOICE_FASTEST,  /* it is the fastest, or as fast */
    PP_CHOICE_HEADROOM, /* it leaves the headroom free, which the fastest does not */
    PP_CHOICE_STEADIER, /* the p95 of its step under jitter is shorter */
    PP_CHOICE_SIMPLER,  /* its p95 is not measurably longer, and it is simpler */
} pp_choice_reason;

/* Why a plan was taken, as facts. */
typedef struct pp_recommendation {
    double tie; /* 0: the fastest was taken, and nothing else here is set */
    int64_t headroom_bytes;
    pp_choice_reason reason;
    size_t ties;          /* simulated candidates within the tie, the fastest included */
    pp_candidate fastest; /* of all that fit */
    pp_candidate roomy;   /* the fastest that leaves the headroom; status NOT_SIMULATED: none was
                             found */
} pp_recommendation;

/* Takes one of `count` candidates that fit. Those whose score exceeds `least`, the lowest known
 * score, by at most the part `tie` are equal (with tie 0: the fastest ones). Of these it prefers
 * those that leave the headroom, then the least p95 (where it is known; 0.3 % count as equal), then
 * the simplest, the fastest, the first. Returns its index. */
size_t pp_choose(const pp_candidate *const *candidate, size_t count, double least, double tie);
/* Why pp_choose took `taken` and not `fastest`. */
pp_choice_reason pp_choice_why(const pp_candidate *taken, const pp_candidate *fastest);
/* True if its score exceeds `least` by at most this part. */
bool pp_is_within_tie(const pp_candidate *candidate, double least, double tie);
/* Less than 0 if `a` is simpler: a named schedule before a free order, fewer chunks per rank, less
 * context parallelism, fewer GPUs per replica, less recomputation, the earlier line of
 * sim/schedules.def. */
int pp_compare_simplicity(const pp_candidate *a, const pp_candidate *b);

#endif
