/* The table of ppsim simulate --executor all. */
#ifndef PPSIM_TOOLS_PPSIM_SCENARIO_FRAMEWORK_TABLE_H
#define PPSIM_TOOLS_PPSIM_SCENARIO_FRAMEWORK_TABLE_H

#include "sim/plan/plan.h"
#include "tools/ppsim/base/command.h"

/* Carries out --executor all: simulates the plan under every framework and prints a table, or JSON
 * with --json. Fails: as pp_plan_simulate, but a framework that cannot run the plan is a row;
 * IO. */
PP_MUST_CHECK pp_status pp_print_executor_table(const pp_args *args, pp_plan *plan, pp_err *err);

#endif
