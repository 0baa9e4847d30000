/* The flight record of one rank as JSON. */
#ifndef PPSIM_RUNTIME_CORE_PROGRESS_JSON_H
#define PPSIM_RUNTIME_CORE_PROGRESS_JSON_H

#include "runtime/core/progress.h"
#include "sim/base/json.h"
#include "sim/program/program.h"

/* Returns the last moments of a rank, oldest first, as a list of objects that `build` owns. Times
 * count from origin_ns. */
pp_json *pp_progress_write(pp_progress *progress, const pp_program *program, pp_ns origin_ns,
                           pp_json_build *build);

#endif
