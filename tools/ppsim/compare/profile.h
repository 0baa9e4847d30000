/* Reads the quantities of profiles, and compares what two profiles predict. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_PROFILE_H
#define PPSIM_TOOLS_PPSIM_COMPARE_PROFILE_H

#include "tools/ppsim/compare/quantities.h"

/* Adds the quantities of a profile, which `file` keeps. Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_compare_read_profile(const char *text, size_t bytes,
                                                pp_compare_file *file, pp_err *err);
/* Adds to two profiles what each predicts at the sizes at which `base` was measured, in ns, as
 * quantities of the metric "drift". Fails: USAGE (no class is fitted in both), NOMEM. */
PP_MUST_CHECK pp_status pp_compare_drift(pp_compare_file *base, pp_compare_file *now, pp_err *err);

#endif
