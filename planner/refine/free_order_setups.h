/* Setups in which a search for free orders is worth its time. */
#ifndef PPSIM_PLANNER_REFINE_FREE_ORDER_SETUPS_H
#define PPSIM_PLANNER_REFINE_FREE_ORDER_SETUPS_H

#include "planner/candidate/search_state.h"

/* Setups that are looked at: so many in which a named order fits, so many in which one does not,
 * and one where layers were shifted (layer_shift.c). */
enum { PP_SETUP_CANDIDATES_MOST = 3, PP_SETUP_CANDIDATES_ALL = 2 * PP_SETUP_CANDIDATES_MOST + 1 };

/* A setup worth a search. */
typedef struct pp_setup_candidate {
    size_t setup;
    size_t like;  /* a candidate of it, or of its fused twin: the best one that fits */
    bool seeded;  /* `like` fits: its order is begun with */
    double score; /* of `like`, or of the bound */
} pp_setup_candidate;

typedef struct pp_setup_candidates {
    pp_setup_candidate row[PP_SETUP_CANDIDATES_ALL];
    size_t count;
} pp_setup_candidates;

/* Setups whose bound leaves room below the best step: those with a named order, best first; those
 * without, by their bounds; the shifted one. */
pp_setup_candidates pp_search_setup_candidates(const pp_search *search, double best_score);

#endif
