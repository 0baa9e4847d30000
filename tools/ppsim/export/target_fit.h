/* Whether a plan fits the memory limit under the framework that a configuration is written for. */
#ifndef PPSIM_TOOLS_PPSIM_EXPORT_TARGET_FIT_H
#define PPSIM_TOOLS_PPSIM_EXPORT_TARGET_FIT_H

#include "traces/target/target.h"

/* The target whose configuration `format` is; NULL: it is no target's. */
const pp_target *pp_target_of_format(const pp_format *format);

/* The plan as the target runs it: with its framework, unless the plan has one that the target may
 * use. It borrows everything from `plan`: do not free it. */
pp_plan pp_target_plan(const pp_target *target, const pp_plan *plan);

/* Whether the target can be told the plan's number formats, optimizer, context-parallel exchange
 * and division of experts. Fails: INFEASIBLE if not. */
PP_MUST_CHECK pp_status pp_target_check_settings(const pp_target *target, const pp_plan *plan,
                                                 pp_err *err);

/* Fails: INFEASIBLE if the plan has a memory limit and exceeds it as the target runs it, or does
 * not run there; NOMEM. */
PP_MUST_CHECK pp_status pp_target_check_fit(const pp_target *target, const pp_export *data,
                                            pp_err *err);

#endif
