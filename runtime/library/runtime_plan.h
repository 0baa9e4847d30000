/* The contents of a plan of pp_runtime.h. */
#ifndef PPSIM_RUNTIME_LIBRARY_RUNTIME_PLAN_H
#define PPSIM_RUNTIME_LIBRARY_RUNTIME_PLAN_H

#include "runtime/library/pp_runtime.h"
#include "runtime/measure/execution.h"

#include <stdatomic.h>

struct pp_runtime_plan {
    pp_plan *plan;
    pp_execution x; /* as pp_execution_prepare leaves it */
    bool has[PP_OP_KIND_COUNT];
    atomic_bool *pinned; /* set if a thread that does not end uses the plan, which is then kept */
    atomic_bool pin;
};

#endif
