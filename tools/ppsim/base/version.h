/* What this build is made of. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_VERSION_H
#define PPSIM_TOOLS_PPSIM_BASE_VERSION_H

#include "sim/base/text.h"

/* Writes what this build is made of: parts, versions, licences. */
void pp_version_print(pp_text *text);

#endif
