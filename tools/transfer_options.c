/* How tensors travel: options of `ppsim simulate` that go over what a plan says. */
#include "tools/tool.h"

#include <stdio.h>

static pp_status apply_sharing(const pp_args *args, pp_sharing *sharing, pp_err *err)
{
    const char *slowdown = pp_args_text(args, "--overlap-slowdown");
    pp_status status = pp_args_int(args, "--nic", 1, PP_RANKS_MAX, &sharing->ranks_per_nic, err);
    if (!status && slowdown)
        status = pp_slowdown_parse(slowdown, sharing, err);
    if (!status)
        status = pp_args_duration(args, "--transfer-latency", &sharing->latency_ns, err);
    if (!status && pp_args_has(args, "--transfer-latency") && !pp_sharing_is_on(sharing))
        return pp_err_set(err, PP_USAGE, "--transfer-latency",
                          "matters only beside --nic or --overlap-slowdown; give one of them");
    return status;
}

/* A communicator is one queue on each of its ranks (NCCL). */
static pp_status apply_communicators(const pp_args *args, pp_plan *plan, pp_err *err)
{
    int layout = 0;
    if (!pp_args_has(args, "--communicators"))
        return PP_OK;
    if (pp_args_has(args, "--lanes"))
        return pp_err_set(err, PP_USAGE, "--communicators",
                          "decides the lanes; leave --lanes out, or this");
    pp_status status =
        pp_args_choice(args, "--communicators", pp_communicators_names(), &layout, err);
    if (!status)
        snprintf(plan->lanes, sizeof plan->lanes, "%s", pp_communicators_lanes(layout));
    return status;
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
