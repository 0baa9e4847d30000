/* --profile, --profile-only, --profile-layers: a profile that answers the cost model. */
#ifndef PPSIM_TOOLS_PPSIM_INPUT_PROFILE_ARGS_H
#define PPSIM_TOOLS_PPSIM_INPUT_PROFILE_ARGS_H

#include "calib/profile/uncertainty.h"
#include "sim/plan/plan.h"
#include "tools/ppsim/base/command.h"
#include "tools/ppsim/input/inputs.h"

/* All zero: there is none. */
typedef struct pp_profile_in_use {
    const pp_inputs *inputs; /* what was read before; may be NULL. Set before reading */
    bool quiet;              /* no remarks. Likewise */
    const char *path;
    const pp_profile *profile;
    pp_profile *owned; /* NULL: it is one of the inputs */
    pp_measured_profile *measured;
    const char *hardware; /* name of the hardware that completes the profile; NULL: none */
} pp_profile_in_use;

/* Reads --profile, if it is given. Fails: USAGE, IO, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_profile_given(const pp_args *args, pp_profile_in_use *use, pp_err *err);
/* Has it answer, as the other options say. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_profile_options(const pp_args *args, pp_profile_in_use *use,
                                           pp_err *err);
void pp_profile_release(pp_profile_in_use *use);

/* The hardware that costs are for: --hw, or what the profile alone describes.
 * Fails: USAGE (the profile describes too little), IO, INPUT. */
PP_MUST_CHECK pp_status pp_profile_hardware(const pp_args *args, pp_profile_in_use *use,
                                            const pp_model *model, pp_hardware *hardware_out,
                                            pp_err *err);

/* What compute cpu was measured with, where its stages are taken. False: they are not. */
bool pp_profile_settings(const pp_profile_in_use *use, char *settings_out, size_t size,
                         pp_dtype *dtype_out);

/* Assumptions and interval of a plan that was costed by the profile, also in its prediction.
 * Warns of what it was asked outside of its samples, unless quiet. */
PP_MUST_CHECK pp_status pp_profile_finish(const pp_profile_in_use *use,
                                          const pp_cost_context *context, pp_plan *plan,
                                          pp_err *err);

/* Those of a plan's assumptions that are warnings, with "; " between. */
void pp_profile_warnings(const pp_notes *assumptions, pp_text *text);

#endif
