/* The plug-in interface of targets: training runtimes for which plans are made. A target is one
 * file in traces/target/ and one line in traces/targets.def. */
#ifndef PPSIM_TRACES_TARGET_TARGET_H
#define PPSIM_TRACES_TARGET_TARGET_H

#include "sim/framework/target_limits.h"
#include "traces/format/export/format.h"

typedef struct pp_target {
    pp_target_limits limits; /* what the runtime can run; limits the planner's search */
    pp_format format; /* of its configuration files; format.name NULL: it reads ppsim.plan files.
                         format.emit fails with the reason when the runtime cannot run the plan */
} pp_target;

#endif
