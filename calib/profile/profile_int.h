/* Keys that the writer and the reader of profiles share; for calib/ only. */
#ifndef PPSIM_CALIB_PROFILE_PROFILE_INT_H
#define PPSIM_CALIB_PROFILE_PROFILE_INT_H

#include "calib/profile/profile.h"

#define PP_PROFILE_FORMAT "ppsim.profile"
#define PP_PROFILE_VERSION 1

/* key, type, member of pp_fit: plain numbers of a fit. */
#define PP_FIT_NUMBER_MAP(X) \
    X(spread)                \
    X(mape)                  \
    X(max_ape)               \
    X(bias)                  \
    X(cv_mape)               \
    X(cv_se)

/* The entries of the samples, none fitted. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_profile_group(pp_profile *profile, pp_err *err);
/* Of the text, 64 hexadecimal digits. */
void pp_profile_hash(const char *text, size_t bytes, char digits_out[65]);
/* The file without sha256. */
pp_json *pp_profile_tree(const pp_profile *profile, pp_json_build *build);

#endif
