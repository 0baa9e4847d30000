/* Reads profiles from files. */
#ifndef PPSIM_CALIB_PROFILE_PROFILE_READ_H
#define PPSIM_CALIB_PROFILE_PROFILE_READ_H

#include "calib/profile/profile.h"

/* A file of ours. What it says is taken as it stands; nothing is fitted again.
 * Fails: INPUT with file and JSON pointer (also where sha256 is not that of the rest), NOMEM. */
PP_MUST_CHECK pp_status pp_profile_parse(const char *text, size_t bytes, const char *file,
                                         pp_profile **profile_out, pp_err *err);
/* Fails: IO too. */
PP_MUST_CHECK pp_status pp_profile_load(const char *path, pp_profile **profile_out, pp_err *err);

#endif
