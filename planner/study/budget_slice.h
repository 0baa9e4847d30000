/* A part of the time of a request, for one of the searches that answer it. */
#ifndef PPSIM_PLANNER_STUDY_BUDGET_SLICE_H
#define PPSIM_PLANNER_STUDY_BUDGET_SLICE_H

#include "planner/candidate/request.h"

/* The time of `request` between two parts of it, each from 0 to 1. */
typedef struct pp_budget_slice {
    const pp_plan_request *request;
    double from, to;
} pp_budget_slice;

/* Gives `part`, a copy of the request, the time between these parts, if the request limits its
 * time. The slice must outlive `part`. */
void pp_budget_slice_cut(pp_budget_slice *slice, const pp_plan_request *request, double from,
                         double to, pp_plan_request *part);
/* Like pp_budget_slice_cut, with one of `parts` equal parts of the time that is left. Returns false
 * if none is left. */
bool pp_budget_slice_take(pp_budget_slice *slice, const pp_plan_request *request, size_t parts,
                          pp_plan_request *part);

#endif
