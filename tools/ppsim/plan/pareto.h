/* `ppsim plan --pareto`. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_PARETO_H
#define PPSIM_TOOLS_PPSIM_PLAN_PARETO_H

#include "tools/ppsim/base/command.h"

/* Prints the fastest plan at every memory limit. Fails: as pp_plan_input_read, pp_pareto_find and
 * pp_file_write. */
PP_MUST_CHECK pp_status pp_plan_pareto(const pp_args *args, pp_err *err);

#endif
