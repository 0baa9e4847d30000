/* The slow-downs that a profile holds, for the engine. */
#ifndef PPSIM_CALIB_PROFILE_SHARING_OF_H
#define PPSIM_CALIB_PROFILE_SHARING_OF_H

#include "calib/probe/probes.h"
#include "sim/job/sharing.h"

/* Sets the factors of `sharing` that are measured and that it does not have yet, as
 * --overlap-slowdown would; a measured 1 leaves 0, at most PP_SLOWDOWN_MAX. Nothing else changes.
 * Returns whether a factor was set. */
bool pp_interference_share(const pp_interference *interference, pp_sharing *sharing);

#endif
