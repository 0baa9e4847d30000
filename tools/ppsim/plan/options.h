/* The options of `ppsim plan`. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_OPTIONS_H
#define PPSIM_TOOLS_PPSIM_PLAN_OPTIONS_H

#include "tools/ppsim/base/command.h"

extern const pp_option pp_plan_options[];              /* ends with a NULL name */
extern const pp_option_alias pp_plan_option_aliases[]; /* ends with a NULL flag */

#endif
