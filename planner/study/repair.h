/* What to change in a request for which nothing fits. */
#ifndef PPSIM_PLANNER_STUDY_REPAIR_H
#define PPSIM_PLANNER_STUDY_REPAIR_H

#include "planner/candidate/search_state.h"
#include "sim/base/field.h"

#define PP_GROWTH_MAX 64 /* growth beyond this factor is not tried */

/* Changes of a request: first those on the same GPUs, then those that multiply the GPUs. */
typedef enum pp_change {
    PP_CHANGE_RECOMPUTE,         /* recomputation is free */
    PP_CHANGE_MICRO_BATCH,       /* micro-batches may be smaller */
    PP_CHANGE_SCHEDULE,          /* schedule and number of chunks are free */
    PP_CHANGE_ZERO,              /* ZeRO-1 */
    PP_CHANGE_SEQUENCE_PARALLEL, /* sequence parallelism is on */
    PP_CHANGE_ATTENTION,         /* flash attention */
    PP_CHANGE_PARTITION,         /* the partition is free */
    PP_CHANGE_OUTPUTS,           /* outputs of the last stage are not kept */
    PP_GROWTH_TP,
    PP_GROWTH_PP,
    PP_GROWTH_EP, /* grows together with dp */
    PP_GROWTH_DP, /* also sets ZeRO-1 */
    PP_CHANGE_COUNT,
    PP_CHANGES = PP_GROWTH_TP, /* on the same GPUs */
} pp_change;

/* factor: multiplies the GPUs, for a growth. Returns false if the change has no effect or is not
 * possible; a growth has changed the request even so. */
bool pp_change_apply(pp_change change, int64_t factor, pp_plan_request *request);

/* What may still be tried with the budget of a request. */
typedef struct pp_tries {
    uint64_t left; /* simulations, if they are limited */
    bool ended;    /* something was not tried, since the budget was used up */
} pp_tries;

pp_tries pp_tries_of(const pp_plan_request *request);
/* Returns false if the budget is used up. */
bool pp_tries_go_on(pp_tries *tries, const pp_plan_request *request);
/* Counts simulations. */
void pp_tries_count(pp_tries *tries, size_t simulated);

/* The best candidate that fits, of all requests tried so far. */
typedef struct pp_fitting {
    bool found;
    pp_candidate candidate;
    pp_plan_request request;
} pp_fitting;

/* Searches `request`; keeps the answer when it is better: fewer GPUs, then faster. If the request
 * has a budget, only its plain pipelines are tried (planner/search/first_fit.h). Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_repair_attempt(const pp_plan_request *request, pp_tries *tries,
                                          pp_fitting *best, pp_err *err);

/* A field of a request and its value. */
typedef struct pp_field_value {
    pp_field field;
    const char *word; /* one of a fixed set of values; NULL: the value is a number */
    int64_t number;
} pp_field_value;

typedef struct pp_field_values {
    pp_field_value value[13];
    size_t count;
} pp_field_values;

/* The fields that turn `request` into one that fits. */
pp_field_values pp_repair_values(const pp_plan_request *request, const pp_fitting *best);

enum { PP_REPAIR_VALUES_BYTES = 256, PP_REPAIR_MISS_BYTES = 640 };

/* "--pp 8 --zero 1", with the names that fields have in messages of `err`. Returns buffer. */
const char *pp_field_values_print(const pp_field_values *list, const pp_err *err, char *buffer,
                                  size_t size);

/* The legal candidate that exceeds the memory limit by the least; NULL if there is none. A
 * shortfall that is only a lower bound is simulated, until the least one is exact or the time is
 * up.
 */
PP_MUST_CHECK pp_status pp_repair_nearest(pp_search *search, const pp_candidate **nearest_out,
                                          pp_err *err);
/* Whether no plan of the request exists if none was found. The memory of orders that are searched
 * freely is estimated from above if parameters are sharded, so that one may exist then. */
bool pp_repair_is_certain(const pp_plan_request *request);
/* "nothing fits 80 GiB per GPU; nearest: ...", or, if that is not certain, "no plan that fits ...
 * was found; nearest: ...". Returns buffer. */
const char *pp_repair_describe(int64_t memory_limit_bytes, bool certain, const pp_candidate *miss,
                               char *buffer, size_t size);

/* Called for a search in which nothing fits: finds the nearest miss and the cheapest change of its
 * request that would fit, and fails with both. */
PP_MUST_CHECK pp_status pp_search_repair(pp_search *search, pp_err *err);

#endif
