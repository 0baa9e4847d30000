/* Inside of the library: results. */
#ifndef PPSIM_TOOLS_LIBRARY_RESULT_H
#define PPSIM_TOOLS_LIBRARY_RESULT_H

#include "tools/library/ppsim.h"
#include "tools/ppsim/base/console.h"

struct ppsim_result {
    pp_console console;
    int64_t first_fit_ns; /* of ppsim_replan */
};

#endif
