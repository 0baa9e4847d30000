/* Files that were compressed with gzip, recognised by their content. */
#ifndef PPSIM_TRACES_GUNZIP_H
#define PPSIM_TRACES_GUNZIP_H

#include "sim/status.h"

#include <stdbool.h>
#include <stddef.h>

bool pp_gzip_recognise(const char *data, size_t bytes);

/* All members of the file, one behind the other.
 * limit: of the text.  text_out: the caller's to free(), a NUL follows the last byte.
 * Fails: INPUT when it is damaged, cut off or longer than `limit`; NOMEM. */
PP_MUST_CHECK pp_status pp_gunzip(const char *data, size_t bytes, size_t limit, const char *file,
                                  char **text_out, size_t *bytes_out, pp_err *err);

#endif
