/* A part of the time of a request, for one of the searches that answer it. */
#ifndef PPSIM_PLANNER_STUDY_BUDGET_SLICE_H
#define PPSIM_PLANNER_STUDY_BUDGET_SLICE_H

#include "planner/candidate/request.h"

/* From one part of the time of `request` to another. */
typedef struct pp_budget_slice {
    const pp_plan_request *request;
    double from, to;
} pp_budget_slice;

/* Gives `part`, a copy of the request that must not outlive the slice, the time between these parts
 * of it, where that is limited. */
void pp_budget_slice_cut(pp_budget_slice *slice, const pp_plan_request *request, double from,
                         double to, pp_plan_request *part);
/* The same, with an equal one of `parts` parts of what is left of it. False: nothing is left. */
bool pp_budget_slice_take(pp_budget_slice *slice, const pp_plan_request *request, size_t parts,
                          pp_plan_request *part);

#endif
