/* Files compressed with gzip: read by their content, written where the name ends in .gz. */
#ifndef PPSIM_TRACES_READ_GZIP_H
#define PPSIM_TRACES_READ_GZIP_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct pp_json pp_json; /* sim/base/json.h */

bool pp_gzip_recognise(const char *data, size_t bytes);

/* All members of the file, one behind the other.
 * limit: of the text.  text_out: the caller's to free(), a NUL follows the last byte.
 * Fails: INPUT when it is damaged, cut off or longer than `limit`; NOMEM. */
PP_MUST_CHECK pp_status pp_gunzip(const char *data, size_t bytes, size_t limit, const char *file,
                                  char **text_out, size_t *bytes_out, pp_err *err);

/* pp_file_read, and pp_gunzip where the file is compressed. Fails: as these. */
PP_MUST_CHECK pp_status pp_gzip_read(const char *path, char **text_out, size_t *bytes_out,
                                     pp_err *err);

/* pp_json_load, compressed or not. Fails: as pp_gzip_read; INPUT. */
PP_MUST_CHECK pp_status pp_gzip_json(const char *path, pp_json **json_out, pp_err *err);
/* The first `most` bytes of its text, fewer where it is shorter; text_out: as above.
 * Fails: IO, NOMEM. */
PP_MUST_CHECK pp_status pp_gzip_read_head(const char *path, size_t most, char **text_out,
                                          size_t *bytes_out, pp_err *err);

bool pp_gzip_named(const char *path);
/* Without time and name in the header: equal text, equal bytes. data_out: the caller's to free().
 * Fails: INPUT beyond 4 GiB, NOMEM. */
PP_MUST_CHECK pp_status pp_gzip(const char *text, size_t bytes, char **data_out, size_t *bytes_out,
                                pp_err *err);

#endif
