/* What to change in a request for which nothing fits. */
#ifndef PPSIM_PLANNER_STUDY_REPAIR_H
#define PPSIM_PLANNER_STUDY_REPAIR_H

#include "planner/candidate/pool.h"

#define PP_CHANGES 8
#define PP_GROWTHS 4
#define PP_GROWTH_MAX 64 /* growth beyond this factor is not tried */

/* On the same GPUs. apply returns false when it changes nothing. */
typedef struct pp_change {
    const char *name;
    bool (*apply)(pp_plan_request *request);
} pp_change;

extern const pp_change pp_changes[PP_CHANGES];

/* With `factor` times as many GPUs. apply returns false when that is not possible; the request has
 * changed even so. */
typedef struct pp_growth {
    const char *name;
    bool (*apply)(pp_plan_request *request, int64_t factor);
} pp_growth;

extern const pp_growth pp_growths[PP_GROWTHS];

/* The best thing found so far. */
typedef struct pp_repair {
    bool found;
    pp_candidate candidate;
    pp_plan_request request;
} pp_repair;

/* Searches `request`; keeps the answer when it is better: fewer GPUs, then faster. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_repair_attempt(const pp_plan_request *request, pp_repair *best,
                                          pp_err *err);
/* The fields that turn `request` into the repair, with their values: "--pp 8 --zero 1", named as in
 * messages of `err`. */
void pp_repair_options(const pp_plan_request *request, const pp_repair *best, const pp_err *err,
                       char *text, size_t size);

/* The legal candidate that misses by least; NULL: there is none. A shortfall that is only a floor
 * is simulated, until the least one is exact. */
PP_MUST_CHECK pp_status pp_repair_nearest(pp_search *search, const pp_candidate **nearest_out,
                                          pp_err *err);
void pp_repair_describe(const pp_search *search, const pp_candidate *miss, char *text, size_t size);

/* For a search in which nothing fits: finds the nearest miss and the cheapest change of its request
 * that would fit, and fails with both. */
PP_MUST_CHECK pp_status pp_search_repair(pp_search *search, pp_err *err);

#endif
