/* The entry of the planner. What the request leaves open decides which nested loops run the
 * searches: over frameworks, over splits of GPUs, over packings, and inside these one search. */
#include "planner/study/plan_search.h"

#include "planner/study/framework_choice.h"
#include "planner/study/gpu_splits.h"

pp_status pp_plan_search(const pp_plan_request *request, pp_search_result **choice_out, pp_err *err)
{
    const pp_free_settings *f = &request->free;
    return f->framework || f->shapes || f->communicators
               ? pp_plan_frameworks(request, choice_out, err)
               : pp_plan_splits(request, choice_out, err);
}
