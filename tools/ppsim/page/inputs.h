/* Loads the inputs of `ppsim report` into a page. */
#ifndef PPSIM_TOOLS_PPSIM_PAGE_INPUTS_H
#define PPSIM_TOOLS_PPSIM_PAGE_INPUTS_H

#include "tools/ppsim/page/page.h"

/* Adds what `source` holds: a file, recognised by its content, or a named schedule with the options
 * of a study. Fails: USAGE, IO, INPUT, INFEASIBLE, NOMEM. */
PP_MUST_CHECK pp_status pp_page_load(const pp_args *args, const char *source, pp_page *page,
                                     pp_err *err);

#endif
