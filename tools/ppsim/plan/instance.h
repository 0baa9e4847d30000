/* `ppsim plan --instance FILE` and `ppsim plan --costs-file FILE --schedule NAME`. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_INSTANCE_H
#define PPSIM_TOOLS_PPSIM_PLAN_INSTANCE_H

#include "tools/ppsim/base/command.h"

/* Orders the ops of a ppsim.instance file, or of a schedule with the times of a costs file, and
 * prints the orders. options: the table of the command;
 * those that are not for instances are refused. Fails: USAGE, INPUT, IO, INFEASIBLE, NOMEM. */
PP_MUST_CHECK pp_status pp_plan_instance(const pp_args *args, const pp_option *options,
                                         pp_err *err);

#endif
