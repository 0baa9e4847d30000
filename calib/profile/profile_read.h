/* Reads profiles from files. */
#ifndef PPSIM_CALIB_PROFILE_PROFILE_READ_H
#define PPSIM_CALIB_PROFILE_PROFILE_READ_H

#include "calib/profile/profile.h"

/* Parses the text of a profile; nothing is fitted again. `file` is its name in messages. The caller
 * frees the profile with pp_profile_free.
 * Fails: INPUT with file and JSON pointer (also if sha256 does not match the rest), NOMEM. */
PP_MUST_CHECK pp_status pp_profile_parse(const char *text, size_t bytes, const char *file,
                                         pp_profile **profile_out, pp_err *err);
/* Reads a file, which may be compressed with gzip. Fails: as pp_profile_parse; IO. */
PP_MUST_CHECK pp_status pp_profile_load(const char *path, pp_profile **profile_out, pp_err *err);

#endif
