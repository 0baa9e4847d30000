/* The alternatives for the settings of a framework that a request leaves free. */
#ifndef PPSIM_PLANNER_STUDY_FRAMEWORK_LIST_H
#define PPSIM_PLANNER_STUDY_FRAMEWORK_LIST_H

#include "planner/search/result.h"

/* At most this many alternatives are searched in full. */
enum { PP_FRAMEWORK_SETTINGS_SEARCHED = 3 };

/* One framework, one protocol, one layout of communicators. */
typedef struct pp_framework_setting {
    const pp_framework *framework; /* NULL: ideal, as requested */
    pp_size_protocol shapes;
    pp_communicators communicators;
    double rated;   /* score of the best pipeline it was rated by; HUGE_VAL: none runs and fits */
    double least;   /* bound of the setups it was rated by; HUGE_VAL: there are none */
    double score;   /* of the best plan; HUGE_VAL: not searched, or nothing was found */
    double fastest; /* like score, of the fastest plan, which may not be the recommended one */
    pp_candidate best; /* the candidate that has the score, or else the rating */
    bool seen;         /* it was rated by all schedules of the request */
    bool searched;
} pp_framework_setting;

typedef struct pp_framework_choice {
    const pp_plan_request *request;
    pp_search_result *base;    /* the result under framework ideal, a lower bound for all */
    pp_framework_setting *row; /* [count], the plainest first */
    size_t count;
    pp_search_result *choice[PP_FRAMEWORK_SETTINGS_SEARCHED]; /* [choices] */
    pp_framework_setting *of[PP_FRAMEWORK_SETTINGS_SEARCHED];
    size_t choices, searches;
    size_t simulated;            /* simulations before the whole searches */
    size_t searched_simulations; /* simulations in the whole searches */
    uint64_t granted;            /* simulations granted to the whole searches */
    bool stopped;
    bool alike; /* all microbatches have one size */
} pp_framework_choice;

/* Fills row. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_framework_choice_list(pp_framework_choice *settings, pp_err *err);
/* Fills the settings of the result that the request leaves free. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_framework_choice_describe(const pp_framework_choice *settings,
                                                     const pp_framework_setting *taken,
                                                     pp_search_result *choice, pp_err *err);
/* True if the score is at most 0.1 % above the least. */
bool pp_is_tie(double score, double least);

#endif
