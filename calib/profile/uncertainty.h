/* How much the errors of measurements can change a plan's predicted step. */
#ifndef PPSIM_CALIB_PROFILE_UNCERTAINTY_H
#define PPSIM_CALIB_PROFILE_UNCERTAINTY_H

#include "calib/profile/measured.h"
#include "sim/plan/recost.h"

/* Recomputes the costs of the plan, so that `measured` records what this plan alone asks, and sets
 * plan->assumptions (pp_measured_notes), profile_sha256 and profile_classes. The hardware of
 * `context` must take its times from `measured`; `hardware` is as in pp_measured_notes. Fails: as
 * pp_plan_recost. */
PP_MUST_CHECK pp_status pp_measured_describe(pp_measured_profile *measured,
                                             const pp_cost_context *context, const char *hardware,
                                             pp_plan *plan, pp_err *err);

/* Simulates the plan with each family of classes that it used at either bound of its 95 % interval
 * and all others as fitted. pp_measured_describe must have been called. `plan` is not changed, and
 * uncertainty_out stays empty if no class affects the step.
 * Fails: as pp_plan_recost and pp_plan_simulate. */
PP_MUST_CHECK pp_status pp_measured_uncertainty(pp_measured_profile *measured,
                                                const pp_cost_context *context, const pp_plan *plan,
                                                pp_uncertainty *uncertainty_out, pp_err *err);

/* Appends the fit of an entry, such as "affine: a_s 1.2e-05, b_s 3e-10", to `text`. Fails: NOMEM.
 */
PP_MUST_CHECK pp_status pp_entry_describe(const pp_profile_entry *entry, pp_text *text,
                                          pp_err *err);

#endif
