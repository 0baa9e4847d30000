/* Prints the profile that `ppsim calibrate` made. */
#ifndef PPSIM_TOOLS_PPSIM_CALIBRATE_PRINT_H
#define PPSIM_TOOLS_PPSIM_CALIBRATE_PRINT_H

#include "calib/profile/profile.h"

/* Appends a table of classes, their forms with parameters and errors, and the classes that could
 * not be fitted. */
void pp_profile_print(const pp_profile *profile, pp_text *text);

#endif
