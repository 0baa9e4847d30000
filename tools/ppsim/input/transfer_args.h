/* The options about transfers of tensors. */
#ifndef PPSIM_TOOLS_PPSIM_INPUT_TRANSFER_ARGS_H
#define PPSIM_TOOLS_PPSIM_INPUT_TRANSFER_ARGS_H

#include "sim/plan/plan.h"
#include "tools/ppsim/base/command.h"

/* Applies --p2p, --communicators, --nic, --overlap-slowdown and --transfer-latency, which take
 * precedence over the plan's settings. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_apply_transfer_options(const pp_args *args, pp_plan *plan, pp_err *err);

#endif
