/* Whole files, in and out. */
#ifndef PPSIM_SIM_FILE_H
#define PPSIM_SIM_FILE_H

#include "sim/alloc.h"
#include "sim/status.h"

#include <stddef.h>

#define PP_FILE_BYTES_MAX ((size_t)1 << 30)

/* text_out: the caller's to free(), a NUL follows the last byte.
 * Fails: IO, INPUT when the file is larger than PP_FILE_BYTES_MAX, NOMEM. */
PP_MUST_CHECK pp_status pp_file_read(const char *path, char **text_out, size_t *bytes_out,
                                     pp_err *err);

/* Writes beside the target and renames, so that a failure leaves the old file as it was.
 * A target that is no regular file (a pipe, /dev/full) is written directly. Fails: IO, NOMEM. */
PP_MUST_CHECK pp_status pp_file_write(const char *path, const char *text, size_t bytes,
                                      pp_err *err);

#endif
