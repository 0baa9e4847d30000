/* Prints the parts of this build. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_VERSION_H
#define PPSIM_TOOLS_PPSIM_BASE_VERSION_H

#include "sim/base/text.h"

/* Appends the parts of this build with their versions and licences. */
void pp_version_print(pp_text *text);

#endif
