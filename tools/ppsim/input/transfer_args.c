/* Reads the options of transfers, of communicators, of shared NICs and of the slow-down by overlap.
 * They take precedence over the plan. */
#include "tools/ppsim/input/transfer_args.h"

#include "tools/ppsim/base/args.h"
#include "tools/ppsim/input/load.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Parses "compute=1.1,comm=1.3", or reads both factors from a profile. */
static pp_status read_slowdown(const char *text, pp_sharing *sharing, pp_err *err)
{
    pp_profile *profile PP_CLEANUP(pp_profile_free) = NULL;
    if (strchr(text, '='))
        return pp_slowdown_parse(text, sharing, err);
    pp_status status = pp_load_profile(text, &profile, err);
    if (status)
        return status;
    const pp_interference *found = &profile->interference;
    if (pp_interference_share(found, sharing) || isfinite(found->compute) || isfinite(found->comm))
        return PP_OK; /* the factors were measured and may both be 1 */
    return pp_err_set(err, PP_USAGE, "--overlap-slowdown",
                      "%.200s has no slow-down; measure it with 'ppsim calibrate --probe "
                      "interference', or give compute=X,comm=Y",
                      text);
}

static pp_status apply_sharing(const pp_args *args, pp_sharing *sharing, pp_err *err)
{
    const char *slowdown = pp_args_text(args, "--overlap-slowdown");
    pp_status status = pp_args_int(args, "--nic", 1, PP_RANKS_MAX, &sharing->ranks_per_nic, err);
    if (!status && slowdown)
        status = read_slowdown(slowdown, sharing, err);
    if (!status)
        status = pp_args_duration(args, "--transfer-latency", &sharing->latency_ns, err);
    if (!status && pp_args_has(args, "--transfer-latency") && !pp_sharing_is_on(sharing))
        return pp_err_set(err, PP_USAGE, "--transfer-latency",
                          "has an effect only with --nic or --overlap-slowdown; add one of them");
    return status;
}

/* Applies --communicators. A communicator has one queue on each of its ranks, as in NCCL. */
static pp_status apply_communicators(const pp_args *args, pp_plan *plan, pp_err *err)
{
    int layout = 0;
    if (!pp_args_has(args, "--communicators"))
        return PP_OK;
    bool transport = pp_comm_is_transport(pp_args_text(args, "--comm"));
    if (transport || pp_args_has(args, "--lanes"))
        return pp_err_set(err, PP_USAGE, "--communicators",
                          "sets the lanes itself; remove %s or this option",
                          transport ? "--comm" : "--lanes");
    pp_status status =
        pp_args_choice(args, "--communicators", pp_communicators_names(), &layout, err);
    if (status)
        return status;
    plan->comm.has_lanes = true;
    plan->comm.lanes = pp_communicators_lanes((pp_communicators)(layout + 1));
    return PP_OK;
}

pp_status pp_apply_transfer_options(const pp_args *args, pp_plan *plan, pp_err *err)
{
    int p2p = (int)plan->p2p;
    pp_status status = pp_args_choice(args, "--p2p", pp_p2p_names(), &p2p, err);
    plan->p2p = (pp_p2p)p2p;
    if (!status)
        status = apply_communicators(args, plan, err);
    return status ? status : apply_sharing(args, &plan->sharing, err);
}
