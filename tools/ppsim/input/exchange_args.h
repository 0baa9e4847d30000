/* Options about how receivers learn sizes. */
#ifndef PPSIM_TOOLS_PPSIM_INPUT_EXCHANGE_ARGS_H
#define PPSIM_TOOLS_PPSIM_INPUT_EXCHANGE_ARGS_H

#include "sim/plan/plan.h"
#include "tools/ppsim/base/command.h"

/* --shapes, --host, --shape-message, --tensors-per-boundary over what *exchange has.
 * Fails: USAGE. */
PP_MUST_CHECK pp_status pp_args_exchange(const pp_args *args, pp_exchange_options *exchange,
                                         pp_err *err);
/* The same, and --shapes may be auto: *auto_out says so, and *exchange keeps its protocol. */
PP_MUST_CHECK pp_status pp_args_exchange_or_auto(const pp_args *args, pp_exchange_options *exchange,
                                                 bool *auto_out, pp_err *err);
/* Returns whether "auto" was given for an option. */
bool pp_args_is_auto(const pp_args *args, const char *option);

#endif
