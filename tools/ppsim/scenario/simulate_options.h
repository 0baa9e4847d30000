/* The options of `ppsim simulate`. */
#ifndef PPSIM_TOOLS_PPSIM_SCENARIO_SIMULATE_OPTIONS_H
#define PPSIM_TOOLS_PPSIM_SCENARIO_SIMULATE_OPTIONS_H

#include "tools/ppsim/base/command.h"

extern const pp_option pp_simulate_options[]; /* ends with a NULL name */

#endif
