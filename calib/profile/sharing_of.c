#include "calib/profile/sharing_of.h"

#include <math.h>

static bool set(double measured, double *factor)
{
    if (*factor > 0 || !(measured > 1)) /* NaN too */
        return false;
    *factor = fmin(measured, PP_SLOWDOWN_MAX);
    return true;
}

bool pp_interference_share(const pp_interference *interference, pp_sharing *sharing)
{
    const bool compute = set(interference->compute, &sharing->compute_slowdown);
    const bool comm = set(interference->comm, &sharing->comm_slowdown);
    return compute || comm;
}
