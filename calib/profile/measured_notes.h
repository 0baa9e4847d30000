/* Notes about what a profile contributed to a plan, for the plan's assumptions. */
#ifndef PPSIM_CALIB_PROFILE_MEASURED_NOTES_H
#define PPSIM_CALIB_PROFILE_MEASURED_NOTES_H

#include "calib/profile/measured.h"

/* Replaces the notes about profiles in `notes` by those about what was asked since the last
 * pp_measured_forget. `hardware` names the file that the remaining numbers come from; NULL: none.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_measured_notes(const pp_measured_profile *measured, const char *hardware,
                                          pp_notes *notes, pp_err *err);

#endif
