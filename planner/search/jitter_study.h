/* The step of one candidate when durations vary. */
#ifndef PPSIM_PLANNER_SEARCH_JITTER_STUDY_H
#define PPSIM_PLANNER_SEARCH_JITTER_STUDY_H

#include "planner/candidate/search_state.h"
#include "planner/robustness/jitter.h"

/* Ends a study early (planner/robustness/jitter_subject.h). */
typedef struct pp_jitter_until {
    bool (*is_over)(void *context);
    void *context;
} pp_jitter_until;

/* Studies a candidate that fits, as its executor runs it. until: may be NULL. Fails: USAGE (no such
 * rank or link), INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_search_study(pp_search *search, size_t candidate,
                                        const pp_jitter_spec *spec, const pp_jitter_until *until,
                                        pp_jitter_result *out, pp_err *err);
/* Estimates how much longer than its step the p95 of the step is, as a factor: that of the same
 * orders when nothing but data is waited for, which takes a hundredth of the time. pool: of the
 * spec and the request's seed. Fails: INPUT, USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_search_study_growth(pp_search *search, size_t candidate,
                                               const pp_jitter_spec *spec,
                                               const pp_jitter_pool *pool, double *growth_out,
                                               pp_err *err);

#endif
