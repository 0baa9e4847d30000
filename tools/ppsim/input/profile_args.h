/* The options --profile, --profile-only and --profile-layers: costs from a profile. */
#ifndef PPSIM_TOOLS_PPSIM_INPUT_PROFILE_ARGS_H
#define PPSIM_TOOLS_PPSIM_INPUT_PROFILE_ARGS_H

#include "calib/profile/uncertainty.h"
#include "sim/plan/plan.h"
#include "tools/ppsim/base/command.h"
#include "tools/ppsim/input/inputs.h"

/* The profile that a command uses. All zero: there is none. The caller releases it with
 * pp_profile_release. */
typedef struct pp_profile_in_use {
    const pp_inputs *inputs; /* set by the caller: files that were already read; may be NULL */
    bool quiet;              /* set by the caller: no remarks are printed */
    const char *path;
    const pp_profile *profile;
    pp_profile *owned; /* NULL: the profile is one of `inputs`, or there is none */
    pp_measured_profile *measured;
    const char *hardware; /* name of the hardware given by --hw; NULL: none */
} pp_profile_in_use;

/* Loads the profile of --profile, if it is given. Fails: USAGE, IO, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_profile_given(const pp_args *args, pp_profile_in_use *use, pp_err *err);
/* Prepares the profile to give costs, for the part and the number of layers that --profile-only and
 * --profile-layers choose. Does nothing without a profile. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_profile_options(const pp_args *args, pp_profile_in_use *use,
                                           pp_err *err);
void pp_profile_release(pp_profile_in_use *use);

/* Finds the hardware that costs are computed for: that of --hw, or without it one that is described
 * by the profile alone. `hardware_out` refers to the measurements in `use`. Fails: USAGE (the
 * profile describes too little, or another layer than `model` has), IO, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_profile_hardware(const pp_args *args, pp_profile_in_use *use,
                                            const pp_model *model, pp_hardware *hardware_out,
                                            pp_err *err);

/* Writes the settings of compute cpu with which the stages were measured, and the type of its
 * numbers. Returns false when stage times do not come from such a profile. */
bool pp_profile_settings(const pp_profile_in_use *use, char *settings_out, size_t size,
                         pp_dtype *dtype_out);

/* Adds to a plan with costs from the profile, and to its prediction, the assumptions and the
 * interval of uncertainty. Prints a remark about each cost that lies outside of the samples, unless
 * `quiet`. Does nothing without a profile. Fails: NOMEM, and as pp_measured_uncertainty. */
PP_MUST_CHECK pp_status pp_profile_finish(const pp_profile_in_use *use,
                                          const pp_cost_context *context, pp_plan *plan,
                                          pp_err *err);

/* Appends those assumptions of a plan that are warnings, separated by "; ". */
void pp_profile_warnings(const pp_notes *assumptions, pp_text *text);

#endif
