/* The file of a sweep: a header, then a line per point that is done. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_FILE_H
#define PPSIM_TOOLS_PPSIM_SWEEP_FILE_H

#include "tools/ppsim/sweep/header.h"

#include <sys/types.h>

/* The lines of the points that are done. line[point] ends in a newline and a NUL; it is NULL for a
 * point that is not done. */
typedef struct pp_sweep_lines {
    char **line; /* [points] */
    uint32_t points, done;
} pp_sweep_lines;

PP_MUST_CHECK pp_status pp_sweep_lines_new(uint32_t points, pp_sweep_lines *lines_out, pp_err *err);
void pp_sweep_lines_free(pp_sweep_lines *lines); /* for PP_CLEANUP */
/* Adds the lines of the file `path`. An incomplete line after the last newline is left out, and
 * good_bytes_out receives the number of bytes before it. any_shard: as in pp_sweep_same. Fails: IO,
 * INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_lines_read(const pp_sweep *sweep, const char *path, bool any_shard,
                                            pp_sweep_lines *lines, off_t *good_bytes_out,
                                            pp_err *err);
/* Does the same for a text. `path` is the name for messages. Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_lines_parse(const pp_sweep *sweep, const char *text, size_t bytes,
                                             const char *path, bool any_shard,
                                             pp_sweep_lines *lines, off_t *good_bytes_out,
                                             pp_err *err);

/* Reads a whole file of a sweep, or of one of its shards, from its text: the sweep that its first
 * line describes, and its lines. The caller frees both, also on failure. Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_parse(const char *text, size_t bytes, const char *path,
                                       pp_sweep *sweep_out, pp_sweep_lines *lines_out, pp_err *err);

/* A file to which lines are appended. When `path` is NULL, nothing is written. */
typedef struct pp_sweep_file {
    const char *path; /* borrowed */
    int descriptor;
    off_t good_bytes;    /* whole lines */
    int64_t synced_ns;   /* time of the last sync, on the clock of runtime/core/clock.h */
    bool regular, dirty; /* dirty: not synced */
} pp_sweep_file;

/* Opens or creates `path`, locks it against other sweeps, and adds the lines that it holds to
 * `lines`. `path` is borrowed. Fails: IO (also when another sweep writes the file), INPUT,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_file_open(const pp_sweep *sweep, const char *path,
                                           pp_sweep_lines *lines, pp_sweep_file *file_out,
                                           pp_err *err);
/* Appends a whole line. Syncs if the last sync was at least a second ago. Fails: IO. */
PP_MUST_CHECK pp_status pp_sweep_file_append(pp_sweep_file *file, const char *line, size_t bytes,
                                             pp_err *err);
/* Syncs the file to disk. Fails: IO. */
PP_MUST_CHECK pp_status pp_sweep_file_sync(pp_sweep_file *file, pp_err *err);
void pp_sweep_file_close(pp_sweep_file *file); /* for PP_CLEANUP */

#endif
