/* A file to compare, taken apart into quantities. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_READ_H
#define PPSIM_TOOLS_PPSIM_COMPARE_READ_H

#include "tools/ppsim/compare/quantities.h"

/* text: as it lies on the disk; gzip is unpacked. A file of another kind is none that fails.
 * file_out: all zero before, and freed by the caller even after a failure.
 * Fails: INPUT with the place, USAGE and INFEASIBLE (a plan that cannot be simulated), NOMEM. */
PP_MUST_CHECK pp_status pp_compare_parse(const char *text, size_t bytes, const char *name,
                                         pp_compare_file *file_out, pp_err *err);

#endif
