/* Measurements of other programs, read from a file in any of the formats of the registry. */
#ifndef PPSIM_CALIB_IMPORT_IMPORT_READ_H
#define PPSIM_CALIB_IMPORT_IMPORT_READ_H

#include "calib/import/registry.h"

/* Adds what the file holds to `samples`, which is unchanged when it fails.
 * import: NULL takes whichever recognises it.  text: as it lies on the disk; gzip is unpacked.
 * samples->skipped says, per reason, what was left out: file:line, the reason, how often.
 * Fails: INPUT when nothing in it can be taken, too; NOMEM. */
PP_MUST_CHECK pp_status pp_import_read(const pp_import *import, const char *text, size_t bytes,
                                       const char *file, pp_samples *samples, pp_err *err);

/* argument: "FORMAT=FILE", or "FILE" of any format; a FORMAT that is no name is part of the path.
 * Fails: IO, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_import_argument(const char *argument, pp_samples *samples, pp_err *err);

#endif
