/* The search for a request that may give a number of GPUs instead of degrees. */
#ifndef PPSIM_PLANNER_STUDY_GPU_SPLITS_H
#define PPSIM_PLANNER_STUDY_GPU_SPLITS_H

#include "planner/search/result.h"

/* With request->gpus, finds the best of all legal splits; otherwise uses the degrees given. Fails:
 * like pp_plan_one. */
PP_MUST_CHECK pp_status pp_plan_splits(const pp_plan_request *request,
                                       pp_search_result **choice_out, pp_err *err);

#endif
