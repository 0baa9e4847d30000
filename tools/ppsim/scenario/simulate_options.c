/* Defines the options of `ppsim simulate`. They have their own file because the points of a sweep
 * are parsed with them, too. */
#include "tools/ppsim/scenario/simulate_options.h"

#include "tools/ppsim/base/option_rows.h"

#include <stddef.h>

const pp_option pp_simulate_options[] = {
#include "tools/ppsim/scenario/options.def"
    { PP_OPTION_RECOST_PROFILE },
    { PP_OPTION_RECOST },
    { PP_OPTION_RECOST_MODEL },
    { PP_OPTION_RECOST_HW },
    { PP_OPTION_RECOST_ONLY },
    { PP_OPTION_RECOST_LAYERS },
    { PP_ROW("--compile-time", "TIME", FRAMEWORK,
             "time to compile one graph (executors xla, xla-fused and neuronx)", NULL) },
    { PP_OPTION_TORCH_COMPILE },
    { PP_ROW("--why", NULL, SEARCH, "show where the time of the step goes, part by part", NULL) },
    { PP_ROW("--bound", NULL, SEARCH,
             "a closer lower bound of the makespan, as plan has it. It takes longer", NULL) },
    { PP_ROW("--worst", "N", SEARCH, "number of longest waits to show, with their causes", "5") },
    { PP_ROW("--sensitivity", NULL, SEARCH, "growth of the step if a stage or link is slower",
             NULL) },
    { PP_ROW("--jitter", "SPEC", SEARCH,
             "random delays, e.g. compute=0.02,slow-rank=3:1.3 (see ppsim-simulate(1))", NULL) },
    { PP_ROW("--seed", "N", SEARCH, "random seed of --jitter", "0") },
    { PP_ROW("--threads", "N", SEARCH, "threads for --jitter. They do not change the result",
             "all processors") },
    { PP_OPTION_VERBOSE("print every rank, the longest waits, memory by component") },
    { PP_ROW_REPEATED("--emit", "FORMAT=FILE", OUTPUT,
                      "write schedule, plan or report ('ppsim list formats')", NULL) },
    { PP_ROW_REPEATED("--trace", "FORMAT=FILE", OUTPUT,
                      "write the timeline (see 'ppsim list formats')", NULL) },
    { PP_OPTION_TRACE_RANKS },
    { PP_OPTION_COLUMNS },
    { PP_ROW_END },
};
