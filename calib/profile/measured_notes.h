/* What a profile contributed to a plan, in words for its assumptions. */
#ifndef PPSIM_CALIB_PROFILE_MEASURED_NOTES_H
#define PPSIM_CALIB_PROFILE_MEASURED_NOTES_H

#include "calib/profile/measured.h"

/* What came from where, since pp_measured_forget; in place of such notes that there are. hardware:
 * what the file is called that told the rest; NULL: none did. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_measured_notes(const pp_measured_profile *measured, const char *hardware,
                                          pp_notes *notes, pp_err *err);

#endif
