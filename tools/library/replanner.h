/* Inside of the library: replanners. */
#ifndef PPSIM_TOOLS_LIBRARY_REPLANNER_H
#define PPSIM_TOOLS_LIBRARY_REPLANNER_H

#include "planner/study/replan.h"
#include "tools/library/ppsim.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/plan/input.h"

struct ppsim_replanner {
    pp_args *args;
    pp_plan_input input; /* the replanner borrows its request */
    pp_console console;  /* of reading and of the search for the pipeline */
    char *command;
    pp_replanner *core;
};

#endif
