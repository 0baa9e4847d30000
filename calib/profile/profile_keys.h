/* Keys that the writer and the reader of profiles have in common. */
#ifndef PPSIM_CALIB_PROFILE_PROFILE_KEYS_H
#define PPSIM_CALIB_PROFILE_PROFILE_KEYS_H

#define PP_PROFILE_FORMAT "ppsim.profile"
#define PP_PROFILE_VERSION 1

/* Members of pp_fit that are plain numbers, and keys of the same name. */
#define PP_FIT_NUMBER_MAP(X) \
    X(spread)                \
    X(mape)                  \
    X(max_ape)               \
    X(bias)                  \
    X(cv_mape)               \
    X(cv_se)

#endif
