/* `ppsim plan --explain`. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_EXPLAIN_H
#define PPSIM_TOOLS_PPSIM_PLAN_EXPLAIN_H

#include "planner/candidate/request.h"
#include "tools/ppsim/base/command.h"
#include "tools/ppsim/base/progress.h"

/* Prints the sets of changes after which a plan fits, for a request that nothing fits.
 * The progress line ends before it prints. Fails: NOMEM, IO. */
PP_MUST_CHECK pp_status pp_plan_explain(const pp_args *args, const pp_plan_request *request,
                                        pp_progress_line *progress, pp_err *err);

#endif
