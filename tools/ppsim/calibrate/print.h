/* What ppsim calibrate shows; for cmd_calibrate.c only. */
#ifndef PPSIM_TOOLS_PPSIM_CALIBRATE_PRINT_H
#define PPSIM_TOOLS_PPSIM_CALIBRATE_PRINT_H

#include "calib/profile/profile.h"

/* A table of classes, their forms with parameters and errors, and what could not be fitted. */
void pp_profile_print(const pp_profile *profile, pp_text *text);

#endif
