/* --jitter and --sensitivity of `ppsim simulate`. */
#ifndef PPSIM_TOOLS_PPSIM_ROBUST_TOOL_H
#define PPSIM_TOOLS_PPSIM_ROBUST_TOOL_H

#include "planner/robustness/jitter.h"
#include "tools/ppsim/tool.h"

/* What was asked for. */
typedef struct pp_robustness_request {
    bool jitter, sensitivity;
    pp_jitter_spec spec;
    int64_t threads;
} pp_robustness_request;

/* Before anything is simulated. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_robust_read(const pp_args *args, pp_robustness_request *request,
                                       pp_err *err);

/* Fills report->robustness. Fails: USAGE (no such rank or link), INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_robust_study(const pp_robustness_request *request, const pp_plan *plan,
                                        const pp_jitter_subject *subject, pp_report *report,
                                        pp_err *err);

#endif
