/* Rules for what a search may choose by itself: what the named stack cannot run, and degrees that
 * nobody who runs such jobs would take. What the caller gives is never refused by them. */
#ifndef PPSIM_PLANNER_CANDIDATE_RULES_H
#define PPSIM_PLANNER_CANDIDATE_RULES_H

#include "planner/candidate/request.h"
#include "sim/base/field.h"

/* A rule that degrees break. */
typedef struct pp_rule_broken {
    pp_field field; /* the degree at fault */
    int64_t degree;
    const char *why; /* "the stack has no ...": what is wrong with it; static */
} pp_rule_broken;

/* Finds the first rule that a degree of `parallel` breaks which the request leaves free (0; cp
 * and ep only with gpus). Returns false if there is none. */
bool pp_rules_refuse(const pp_plan_request *request, const pp_parallel *parallel,
                     pp_rule_broken *broken_out);
/* Finds the next rule that a degree breaks which the request gives, from *next on, which begins as
 * 0. Returns false if there are no more. */
bool pp_rules_remark(const pp_plan_request *request, const pp_parallel *parallel, size_t *next,
                     pp_rule_broken *broken_out);

/* Leaves out schedules, free orders and recomputation that the stack has not, if they are free. */
void pp_rules_limit(pp_plan_request *request);

/* True if layers may be recomputed whole, on any stage and for any microbatch: what CUDA graphs
 * capture may exclude it. */
bool pp_rules_allow_full_recompute(const pp_plan_request *request);

#endif
