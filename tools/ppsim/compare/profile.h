/* Profiles as quantities. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_PROFILE_H
#define PPSIM_TOOLS_PPSIM_COMPARE_PROFILE_H

#include "tools/ppsim/compare/quantities.h"

PP_MUST_CHECK pp_status pp_compare_read_profile(const char *text, size_t bytes,
                                                pp_compare_file *file, pp_err *err);
/* Of two profiles: adds what each predicts at the sizes that the old one was measured at.
 * Fails: USAGE (no class is fitted in both), NOMEM. */
PP_MUST_CHECK pp_status pp_compare_drift(pp_compare_file *base, pp_compare_file *now, pp_err *err);

#endif
