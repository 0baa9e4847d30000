/* Writes profiles as JSON. */
#ifndef PPSIM_CALIB_PROFILE_PROFILE_WRITE_H
#define PPSIM_CALIB_PROFILE_PROFILE_WRITE_H

#include "calib/profile/profile.h"

/* Writes the text that pp_profile_parse reads and sets profile->sha256. Equal profiles give equal
 * bytes. The caller passes text_out to free(). Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_profile_write(pp_profile *profile, char **text_out, size_t *bytes_out,
                                         pp_err *err);

#endif
