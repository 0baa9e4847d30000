/* The checksum of a line of a sweep's file. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_SEAL_H
#define PPSIM_TOOLS_PPSIM_SWEEP_SEAL_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define PP_SWEEP_SEAL "check" /* key of the checksum */

/* Adds the checksum to a line, which is an object that ends in "}\n". *text is reallocated. Fails:
 * NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_seal(char **text, size_t *bytes, pp_err *err);
/* Returns whether the line, with its newline, ends in the checksum of what precedes it. */
bool pp_sweep_is_sealed(const char *line, size_t bytes);
/* Returns the length of the line without its end: the checksum, if it has one, and "}\n". */
size_t pp_sweep_content(const char *line, size_t bytes);

#endif
