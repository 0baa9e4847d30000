/* The plug-in interface of imports: formats in which other programs write measurements. An import
 * is one file in calib/import/ and one line in calib/imports.def. */
#ifndef PPSIM_CALIB_IMPORT_IMPORT_H
#define PPSIM_CALIB_IMPORT_IMPORT_H

#include "calib/samples/samples.h"

typedef struct pp_import {
    const char *name;
    const char *summary;
    /* Returns whether `text` looks like this format, from its beginning. */
    bool (*recognise)(const char *text, size_t bytes);
    /* Reads the series of a file. samples: empty before; partly filled if it fails. file: its name,
     * for errors and as the source of the series. Fails: INPUT with file:line[:column] or a JSON
     * pointer, NOMEM. */
    pp_status (*read)(const char *text, size_t bytes, const char *file, pp_samples *samples,
                      pp_err *err);
} pp_import;

#endif
