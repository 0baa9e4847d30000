/* Writes profiles as JSON. */
#ifndef PPSIM_CALIB_PROFILE_PROFILE_WRITE_H
#define PPSIM_CALIB_PROFILE_PROFILE_WRITE_H

#include "calib/profile/profile.h"

/* The text that pp_profile_parse reads; the same profile gives the same bytes. Sets sha256.
 * text_out: the caller's to free(). Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_profile_write(pp_profile *profile, char **text_out, size_t *bytes_out,
                                         pp_err *err);

#endif
