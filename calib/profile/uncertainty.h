/* How far a plan's step can be off because its measurements are. */
#ifndef PPSIM_CALIB_PROFILE_UNCERTAINTY_H
#define PPSIM_CALIB_PROFILE_UNCERTAINTY_H

#include "calib/profile/measured.h"
#include "sim/plan/recost.h"

/* Costs the plan once more, so that `measured` tells what this plan alone asks it, and fills
 * plan->assumptions (pp_measured_notes), profile_sha256 and profile_classes.
 * context: its hardware asks `measured`.  hardware: as in pp_measured_notes.
 * Fails: as pp_plan_recost. */
PP_MUST_CHECK pp_status pp_measured_describe(pp_measured_profile *measured,
                                             const pp_cost_context *context, const char *hardware,
                                             pp_plan *plan, pp_err *err);

/* Simulates the plan with each class that it used at either end of its 95 % interval, all others as
 * fitted, after pp_measured_describe. Deviations to one side add up as the root of the sum of their
 * squares, as if classes were wrong independently. plan: is as before.
 * Fails: as pp_plan_recost and pp_plan_simulate. */
PP_MUST_CHECK pp_status pp_measured_uncertainty(pp_measured_profile *measured,
                                                const pp_cost_context *context, const pp_plan *plan,
                                                pp_uncertainty *uncertainty_out, pp_err *err);

/* "affine: a 1.2e-05, b 3e-10". */
PP_MUST_CHECK pp_status pp_entry_describe(const pp_profile_entry *entry, pp_text *text,
                                          pp_err *err);

#endif
