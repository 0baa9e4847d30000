/* Answers one request with one search and, if nothing fits, looks for a change that would. */
#include "planner/study/plan_one.h"

#include "planner/study/recommend.h"
#include "planner/study/repair.h"

pp_status pp_plan_one(const pp_plan_request *request, pp_search_result **result_out, pp_err *err)
{
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_search_outcome outcome;
    pp_status status = pp_recommend(&search, request, &outcome, err);
    if (status)
        return status;
    return outcome.best == SIZE_MAX ? pp_search_repair(&search, err)
                                    : pp_search_result_new(&search, &outcome, result_out, err);
}
