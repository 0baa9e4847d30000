/* Inputs that can be read only once: pipes, FIFOs, terminals. And those that are held in memory. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_PIPES_H
#define PPSIM_TOOLS_PPSIM_BASE_PIPES_H

#include "tools/ppsim/base/command.h"

/* Reads every input on the command line that is no regular file, or is held in memory (console.h),
 * into a temporary file, so that commands may open it as often as they like. Fails: IO, INPUT
 * (longer than 1 GiB), NOMEM. */
PP_MUST_CHECK pp_status pp_pipes_read(pp_args *args, pp_err *err);

#endif
