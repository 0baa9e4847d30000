/* Reads a profile and its samples for a picture. */
#ifndef PPSIM_TOOLS_PPSIM_PLOT_PROFILE_H
#define PPSIM_TOOLS_PPSIM_PLOT_PROFILE_H

#include "traces/plot/plot.h"

/* Adds the curves of a profile: those of the class `class_name`, or all when it is NULL. `file` is
 * the name for messages. Fails: USAGE (no such class), INPUT with file and JSON pointer, NOMEM. */
PP_MUST_CHECK pp_status pp_plot_add_profile(const char *text, size_t bytes, const char *file,
                                            const char *class_name, pp_picture *picture,
                                            pp_err *err);

#endif
