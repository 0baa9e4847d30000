/* A profile against its samples, as a picture. */
#ifndef PPSIM_TOOLS_PPSIM_PLOT_PROFILE_H
#define PPSIM_TOOLS_PPSIM_PLOT_PROFILE_H

#include "traces/plot/plot.h"

/* The curves of a profile. class_name: of this class alone; NULL: of all. Fails: USAGE (no such
 * class), INPUT with file and JSON pointer, NOMEM. */
PP_MUST_CHECK pp_status pp_plot_add_profile(const char *text, size_t bytes, const char *file,
                                            const char *class_name, pp_picture *picture,
                                            pp_err *err);

#endif
