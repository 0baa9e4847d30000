/* Keys that the reader and the writer of profiles share. */
#ifndef PPSIM_CALIB_PROFILE_PROFILE_KEYS_H
#define PPSIM_CALIB_PROFILE_PROFILE_KEYS_H

#define PP_PROFILE_FORMAT "ppsim.profile"
#define PP_PROFILE_VERSION 1

/* Numbers of pp_fit that are keys of the same name. */
#define PP_FIT_NUMBER_MAP(X) \
    X(spread)                \
    X(mape)                  \
    X(max_ape)               \
    X(bias)                  \
    X(cv_mape)               \
    X(cv_se)

#endif
