/* Measurements of others: one file in calib/import/ and one line in calib/imports.def each. */
#ifndef PPSIM_CALIB_IMPORT_IMPORTS_H
#define PPSIM_CALIB_IMPORT_IMPORTS_H

#include "calib/samples/samples.h"

typedef struct pp_import {
    const char *name;
    const char *summary;
    /* Does `text` look like this format? Looks at its first bytes only. */
    bool (*recognise)(const char *text, size_t bytes);
    /* samples: empty before, partly filled when it fails.  file: for messages and `source`.
     * Fails: INPUT with file:line[:column] or a JSON pointer, NOMEM. */
    pp_status (*read)(const char *text, size_t bytes, const char *file, pp_samples *samples,
                      pp_err *err);
} pp_import;

size_t pp_import_count(void);
const pp_import *pp_import_at(size_t index);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_import_get(const char *name, const pp_import **import_out, pp_err *err);

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
