/* One format of measurements by other programs: one file in calib/import/ and one line in
 * calib/imports.def each. */
#ifndef PPSIM_CALIB_IMPORT_IMPORT_H
#define PPSIM_CALIB_IMPORT_IMPORT_H

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

#endif
