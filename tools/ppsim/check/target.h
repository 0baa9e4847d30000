/* Whether a training runtime does with a schedule or plan what it should. */
#ifndef PPSIM_TOOLS_PPSIM_CHECK_TARGET_H
#define PPSIM_TOOLS_PPSIM_CHECK_TARGET_H

#include "tools/ppsim/check/print.h"

/* Chooses the framework of the target in `v`, if there is one: that of --executor or of the plan,
 * if the target has it, else the target's first. Fails: USAGE when the target does not have the
 * framework of --executor. */
PP_MUST_CHECK pp_status pp_check_use_target(bool executor_given, const pp_plan *plan,
                                            pp_check_verdict *v, pp_err *err);

/* Sets v->refused and v->refusal if the target does not run what was checked, and v->shuffled if
 * PyTorch would run it and compute wrong gradients. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_check_runtime(const pp_check_subject *s, pp_check_verdict *v,
                                         pp_err *err);

#endif
