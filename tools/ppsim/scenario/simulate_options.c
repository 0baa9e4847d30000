/* Defines the options of `ppsim simulate`. They have a file of their own because the points of a
 * sweep are parsed with them, too. */
#include "tools/ppsim/scenario/simulate_options.h"

#include "tools/ppsim/base/option_rows.h"

#include <stddef.h>

const pp_option pp_simulate_options[] = {
#include "tools/ppsim/scenario/options.def"
    { "--compile-time", "TIME", "of one graph, where the executor compiles (xla, neuronx)", NULL,
      false },
    { "--worst", "N", "show the N longest waits and what caused them; 5", NULL, false },
    { "--why", NULL, "say where the step goes, part by part, in ns that sum to it", NULL, false },
    { "--jitter", "SPEC", "Monte Carlo: compute=0.02,comm=0.1,slow-rank=3:1.3; see manual", NULL,
      false },
    { "--sensitivity", NULL, "growth of the step per ns on each stage and link", NULL, false },
    { "--threads", "N", "for --jitter, which does not depend on it; all processors", NULL, false },
    { "--seed", "N", "of --jitter, echoed in the report; 0", NULL, false },
    { PP_OPTION_COLUMNS },
    { "--emit", "FORMAT=FILE", "write the schedule, the plan or the report; 'ppsim list formats'",
      NULL, true },
    { PP_OPTION_TORCH_COMPILE },
    { PP_OPTION_RECOST_PROFILE },
    { PP_OPTION_RECOST },
    { PP_OPTION_RECOST_MODEL },
    { PP_OPTION_RECOST_HW },
    { PP_OPTION_RECOST_ONLY },
    { PP_OPTION_RECOST_LAYERS },
    { "--trace", "FORMAT=FILE", "write the timeline; 'ppsim list formats'", NULL, true },
    { PP_OPTION_TRACE_RANKS },
    { NULL, NULL, NULL, NULL, false },
};
