/* The options about how receivers learn the sizes of tensors. */
#ifndef PPSIM_TOOLS_PPSIM_INPUT_EXCHANGE_ARGS_H
#define PPSIM_TOOLS_PPSIM_INPUT_EXCHANGE_ARGS_H

#include "sim/plan/plan.h"
#include "tools/ppsim/base/command.h"

/* Applies --shapes, --host, --shape-message and --tensors-per-boundary to *exchange, as far as they
 * are given. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_args_exchange(const pp_args *args, pp_exchange_options *exchange,
                                         pp_err *err);
/* Does the same, but --shapes may be "auto": then *auto_out is true and *exchange keeps its
 * protocol. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_args_exchange_or_auto(const pp_args *args, pp_exchange_options *exchange,
                                                 bool *auto_out, pp_err *err);
/* Returns whether "auto" was given for an option. */
bool pp_args_is_auto(const pp_args *args, const char *option);

#endif
