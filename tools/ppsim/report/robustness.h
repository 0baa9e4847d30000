/* The options --jitter and --sensitivity of `ppsim simulate`. */
#ifndef PPSIM_TOOLS_PPSIM_REPORT_ROBUSTNESS_H
#define PPSIM_TOOLS_PPSIM_REPORT_ROBUSTNESS_H

#include "planner/robustness/jitter_subject.h"
#include "sim/plan/plan.h"
#include "tools/ppsim/base/command.h"

/* The options --jitter and --sensitivity. */
typedef struct pp_robustness_request {
    bool jitter, sensitivity;
    pp_jitter_spec spec;
    int64_t threads;
} pp_robustness_request;

/* Reads the options, before anything is simulated. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_robust_read(const pp_args *args, pp_robustness_request *request,
                                       pp_err *err);

/* Runs the studies that were asked for and sets report->robustness. Fails: USAGE (no such rank or
 * link), INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_robust_study(const pp_robustness_request *request, const pp_plan *plan,
                                        const pp_jitter_subject *subject, pp_report *report,
                                        pp_err *err);

/* Writes the end of a report: jitter and sensitivity, if they were studied. */
void pp_robustness_print(const pp_robustness *robustness, pp_text *text);

#endif
