/* Which of the fastest candidates is best when durations vary. */
#ifndef PPSIM_PLANNER_SEARCH_JITTER_CHOICE_H
#define PPSIM_PLANNER_SEARCH_JITTER_CHOICE_H

#include "planner/candidate/search_state.h"
#include "planner/robustness/jitter.h"

/* The simplest schedule, 1f1b, is taken if the best one is not measurably faster. */
typedef enum pp_jitter_verdict {
    PP_JITTER_NOT_RANKED,
    PP_JITTER_BEST,     /* the schedule with the least percentile, which may be 1f1b itself */
    PP_JITTER_SIMPLEST, /* 1f1b, whose percentile is not measurably above the least */
} pp_jitter_verdict;

/* The result of the ranking under jitter. */
typedef struct pp_jitter_ranking {
    pp_jitter_verdict verdict;
    const pp_schedule *best;     /* of the candidate with the least percentile */
    const pp_schedule *simplest; /* 1f1b; NULL: it was not studied */
    double simplest_longer;      /* `simplest` is longer by this part of the best one */
    size_t ties;                 /* other candidates not measurably behind the best one */
    int64_t scenarios;           /* that were to be run; the budget may have ended a study early */
    pp_jitter_result chosen;     /* of the candidate that is taken */
    bool unstudied;              /* the budget ended before the first study: not ranked */
} pp_jitter_ranking;

/* If the request has jitter, studies the fastest candidates and changes best to the one with the
 * least percentile, or to 1f1b if that is as good. roomy: only those that leave the headroom are
 * studied. Fails: USAGE (no such rank or link), INPUT,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_search_choose_under_jitter(pp_search *search, bool roomy, size_t *best,
                                                      pp_jitter_ranking *ranking_out, pp_err *err);

#endif
