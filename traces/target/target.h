/* The plug-in interface of targets: training runtimes for which plans are made. A target is one
 * file in traces/target/ and one line in traces/targets.def. */
#ifndef PPSIM_TRACES_TARGET_TARGET_H
#define PPSIM_TRACES_TARGET_TARGET_H

#include "sim/framework/target_limits.h"
#include "traces/format/export/format.h"

typedef struct pp_target {
    pp_target_limits limits; /* for the search */
    pp_format format;        /* its files, of its own name; name NULL: it reads plans.
                                emit: refuses what the runtime does not run, with the reason */
} pp_target;

#endif
