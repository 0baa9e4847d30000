/* Setups in which a search for free orders is worth its time. */
#ifndef PPSIM_PLANNER_REFINE_FREE_ORDER_SETUPS_H
#define PPSIM_PLANNER_REFINE_FREE_ORDER_SETUPS_H

#include "planner/candidate/search_state.h"

/* The setups that are examined: at most MOST in which named orders did best, as many of the others
 * that have the least bounds, as many in which no named order fits, and one with shifted layers
 * (layer_shift.c). */
enum { PP_SETUP_CANDIDATES_MOST = 4, PP_SETUP_CANDIDATES_ALL = 3 * PP_SETUP_CANDIDATES_MOST + 1 };

/* A setup worth a search. */
typedef struct pp_setup_candidate {
    size_t setup;
    size_t like;  /* a candidate of it, or of its fused twin: the best one that fits */
    bool seeded;  /* `like` fits, so the search begins with its order */
    double named; /* score of `like`; HUGE_VAL: it does not fit */
    double score; /* what an order may have: `named`, or the bound and 5 % */
} pp_setup_candidate;

typedef struct pp_setup_candidates {
    pp_setup_candidate row[PP_SETUP_CANDIDATES_ALL];
    size_t count;
} pp_setup_candidates;

/* Lists setups whose bound leaves room below the best step: first those with a named order, best
 * first; then others with one by their bounds, since named schedules of many stages per rank say
 * little of what an order can do there; then those without, by their bounds; then the one with
 * shifted layers. */
pp_setup_candidates pp_search_setup_candidates(const pp_search *search, double best_score);

#endif
