/* Reads and writes gzip. Input is recognised by its content, so that every function that reads also
 * accepts texts that are not compressed; output is compressed when the name of the file ends in
 * .gz. */
#ifndef PPSIM_TRACES_READ_GZIP_H
#define PPSIM_TRACES_READ_GZIP_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct pp_json pp_json; /* sim/base/json.h */

/* Returns whether `data` begins like a gzip file. */
bool pp_gzip_recognise(const char *data, size_t bytes);

/* Decompresses all members of a gzip file, which make one text of at most `limit` bytes. `file`
 * names it in errors. text_out: the caller frees it; a NUL, which bytes_out does not count, follows
 * the last byte.
 * Fails: INPUT when it is damaged, cut off or longer than `limit`; NOMEM. */
PP_MUST_CHECK pp_status pp_gunzip(const char *data, size_t bytes, size_t limit, const char *file,
                                  char **text_out, size_t *bytes_out, pp_err *err);

/* Reads a whole file (pp_file_read), and decompresses it if need be (pp_gunzip). text_out and
 * bytes_out: as those of pp_gunzip. Fails: as these. */
PP_MUST_CHECK pp_status pp_gzip_read(const char *path, char **text_out, size_t *bytes_out,
                                     pp_err *err);

/* Reads a whole file of JSON (pp_gzip_read). Fails: as pp_gzip_read; INPUT when it is not JSON. */
PP_MUST_CHECK pp_status pp_gzip_json(const char *path, pp_json **json_out, pp_err *err);
/* Reads the first `most` bytes of the decompressed text, or all of a shorter one. text_out and
 * bytes_out: as those of pp_gunzip. A text that is damaged or cut off ends there. Fails: IO, NOMEM.
 */
PP_MUST_CHECK pp_status pp_gzip_read_head(const char *path, size_t most, char **text_out,
                                          size_t *bytes_out, pp_err *err);

/* A file that is decompressed as it is read; all zero is closed. */
typedef struct pp_gzip_file {
    const char *path; /* borrowed */
    struct gzFile_s *handle;
} pp_gzip_file;

/* Opens a file to be read; the caller closes it. Fails: IO, NOMEM. */
PP_MUST_CHECK pp_status pp_gzip_open(const char *path, pp_gzip_file *file_out, pp_err *err);
void pp_gzip_close(pp_gzip_file *file); /* for PP_CLEANUP */
/* Reads the next bytes of the decompressed text, `most` of them unless the text ends earlier. A
 * pp_json_source, whose context is the pp_gzip_file. bytes_out: also set when it fails.
 * Fails: IO, INPUT (damaged or cut off). */
PP_MUST_CHECK pp_status pp_gzip_read_some(void *file, char *buffer, size_t most, size_t *bytes_out,
                                          pp_err *err);

/* Returns whether the name ends in .gz, after at least one character. */
bool pp_gzip_named(const char *path);
/* Compresses a text. The header holds neither time nor name, so that equal texts give equal bytes.
 * data_out: the caller frees it. Fails: INPUT beyond 4 GiB, NOMEM. */
PP_MUST_CHECK pp_status pp_gzip(const char *text, size_t bytes, char **data_out, size_t *bytes_out,
                                pp_err *err);

#endif
