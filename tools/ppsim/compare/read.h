/* Reads a file into the quantities that are compared. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_READ_H
#define PPSIM_TOOLS_PPSIM_COMPARE_READ_H

#include "tools/ppsim/compare/quantities.h"

/* Reads `text`, the content of a file, which may be compressed with gzip. A JSON file of an unknown
 * kind is not a failure and becomes PP_COMPARE_OTHER. The caller passes `file_out` all zero and
 * frees it, even after a failure. Fails: INPUT with the place, USAGE and INFEASIBLE (a plan that
 * cannot be simulated), NOMEM. */
PP_MUST_CHECK pp_status pp_compare_parse(const char *text, size_t bytes, const char *name,
                                         pp_compare_file *file_out, pp_err *err);

#endif
