/* The problem that is searched: a request in which all values that need no choice are filled in. */
#ifndef PPSIM_PLANNER_CANDIDATE_PROBLEM_H
#define PPSIM_PLANNER_CANDIDATE_PROBLEM_H

#include "planner/candidate/request.h"
#include "sim/framework/framework.h"

typedef struct pp_plan_problem {
    const pp_plan_request *request; /* borrowed */
    pp_parallel parallel;           /* as requested; 0: free */
    int64_t seq_length, global_batch_size, memory_limit_bytes;
    int64_t comfortable_bytes; /* the limit less the request's headroom */
    double *rank_speed; /* [pp] speeds, then [pp] speeds x the rank's share of the limit; NULL: all
                           1 */
    bool fitted;        /* some rank has less memory than the others */
    const pp_framework *framework;
} pp_plan_problem;

/* How often the schedule runs in a step: 1 or more. */
uint32_t pp_problem_runs(const pp_plan_problem *problem);

/* Owner frees with pp_plan_problem_free. Fails: USAGE when the request is not legal, NOMEM. */
PP_MUST_CHECK pp_status pp_plan_problem_new(const pp_plan_request *request,
                                            const pp_plan_problem **problem_out, pp_err *err);
/* Makes the same problem with another memory limit, for bounds alone. It borrows what `problem`
 * owns: do not free it. */
pp_plan_problem pp_plan_problem_limited(const pp_plan_problem *problem, int64_t memory_limit_bytes);
void pp_plan_problem_free(const pp_plan_problem **problem); /* *problem NULL is fine */

#endif
