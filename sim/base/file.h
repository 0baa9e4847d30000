/* Reads and writes whole files. */
#ifndef PPSIM_SIM_BASE_FILE_H
#define PPSIM_SIM_BASE_FILE_H

#include "sim/base/alloc.h"
#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define PP_FILE_BYTES_MAX ((size_t)1 << 30)

/* Reads a file. The caller frees *text_out with free(); a NUL follows its last byte.
 * Fails: IO, INPUT when the file is larger than PP_FILE_BYTES_MAX, NOMEM. */
PP_MUST_CHECK pp_status pp_file_read(const char *path, char **text_out, size_t *bytes_out,
                                     pp_err *err);

/* Writes a temporary file next to the target and renames it, so that a failure leaves the old file
 * as it was. The mode of the old file is kept, and its owner if this process may. A target that is
 * not a regular file (a pipe, /dev/full) is written directly. Fails: IO, NOMEM. */
PP_MUST_CHECK pp_status pp_file_write(const char *path, const char *text, size_t bytes,
                                      pp_err *err);

/* A file that was written but has not replaced its target yet. Stage all files first and then
 * commit them, so that a failed write leaves none of them changed. Owner frees with
 * pp_file_discard, which removes a file that was not committed. */
typedef struct pp_staged_file {
    char *target;
    char *temporary; /* NULL: the target is not a regular file and is written at commit */
    int lock;        /* descriptor that holds the lock of `temporary` */
} pp_staged_file;

PP_MUST_CHECK pp_status pp_file_stage(const char *path, const char *text, size_t bytes,
                                      pp_staged_file *staged_out, pp_err *err);
/* text and bytes: those given to pp_file_stage. */
PP_MUST_CHECK pp_status pp_file_commit(pp_staged_file *staged, const char *text, size_t bytes,
                                       pp_err *err);
void pp_file_discard(pp_staged_file *staged);

/* Returns true if `path` is a link, a pipe or another special file of somebody else, who is not
 * root: where other users may write, it leads to where they want. */
bool pp_file_is_strangers(const char *path);
/* Returns true if `path` exists and is not a regular file (a pipe, a terminal, /dev/full). */
bool pp_file_is_special(const char *path);

#endif
