/* Reads measurements of other programs from a file, in any of the formats of the registry. */
#ifndef PPSIM_CALIB_IMPORT_IMPORT_READ_H
#define PPSIM_CALIB_IMPORT_IMPORT_READ_H

#include "calib/import/registry.h"

/* Appends the series of a file to `samples`, which is unchanged if it fails. import: NULL takes the
 * first one that recognises the text. text: as stored; gzip is decompressed. file: its name.
 * samples->skipped receives a line per reason for which something was left out, with file:line and
 * how often.
 * Fails: INPUT (bad syntax, or nothing can be used), NOMEM. */
PP_MUST_CHECK pp_status pp_import_read(const pp_import *import, const char *text, size_t bytes,
                                       const char *file, pp_samples *samples, pp_err *err);

/* Reads the file of an argument "FORMAT=FILE", or "FILE" for any format. A FORMAT that is not the
 * name of an import is part of the path. Fails: IO, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_import_argument(const char *argument, pp_samples *samples, pp_err *err);

#endif
