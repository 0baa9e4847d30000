/* Control characters in what is shown. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_ESCAPE_H
#define PPSIM_TOOLS_PPSIM_BASE_ESCAPE_H

#include "sim/base/text.h"

#include <stdbool.h>

/* Appends `count` bytes of `text`, which a NUL follows, to `out`, with each control character as
 * \u001b. Those in `kept` stay as they are. `colour`: the marks of colour.h become sequences. */
void pp_escape_add(pp_text *out, const char *text, size_t count, const char *kept, bool colour);

#endif
