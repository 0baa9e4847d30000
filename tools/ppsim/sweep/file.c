/* The file of a sweep: a header, then a line per point that is done, in the order of completion.
 *
 * A line is appended, as a rule by one write(), and counts once its newline is there. A process
 * that is killed at any byte therefore leaves whole lines and at most one torn one, which the next
 * run cuts off. */
#include "tools/ppsim/sweep/file.h"

#include "runtime/core/clock.h"
#include "sim/base/alloc.h"
#include "sim/base/file.h"
#include "tools/ppsim/sweep/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYNC_EVERY_NS 1000000000

pp_status pp_sweep_lines_new(uint32_t points, pp_sweep_lines *lines_out, pp_err *err)
{
    char **line = pp_alloc_array(points, sizeof *line);
    if (!line)
        return pp_err_nomem(err);
    *lines_out = (pp_sweep_lines){ .line = line, .points = points };
    return PP_OK;
}

void pp_sweep_lines_free(pp_sweep_lines *lines)
{
    for (uint32_t i = 0; lines->line && i < lines->points; i++)
        free(lines->line[i]);
    free(lines->line);
    *lines = (pp_sweep_lines){ 0 };
}

/* Whether two lines say the same, with or without a checksum. */
static bool is_same(const char *before, const char *text, size_t bytes)
{
    const size_t content = pp_sweep_content(text, bytes);
    return pp_sweep_content(before, strlen(before)) == content &&
           memcmp(before, text, content) == 0;
}

/* sealed: the file's header has a checksum, as every version after 0.2.0 writes it, so that the
 * line must have one, too. */
static pp_status add_line(const pp_sweep *sweep, const char *text, size_t bytes, const char *where,
                          bool sealed, pp_sweep_lines *lines, pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    const char *ignored;
    uint32_t point = 0;
    pp_status status = pp_json_parse(text, bytes, where, &json, err);
    if (status)
        return status;
    pp_json_at root = pp_json_root(json, where);
    if ((sealed || pp_json_has(&root, PP_SWEEP_SEAL)) && !pp_sweep_is_sealed(text, bytes))
        return pp_err_set(err, PP_INPUT, where,
                          "was changed after it was written, since its checksum differs; remove "
                          "the line, and its point is computed again");
    if ((status = pp_grid_find(&sweep->grid, &root, &point, err)) ||
        (status = pp_json_get_text(&root, "status", &ignored, err)))
        return status;
    const char *before = lines->line[point];
    if (before && !is_same(before, text, bytes))
        return pp_json_fail(&root, err, "differs from an earlier line with the same point");
    if (before)
        return PP_OK;
    if (!(lines->line[point] = malloc(bytes + 1)))
        return pp_err_nomem(err);
    memcpy(lines->line[point], text, bytes);
    lines->line[point][bytes] = '\0';
    lines->done++;
    return PP_OK;
}

/* Checks a file without a newline. It is accepted if it is the beginning of this sweep's header,
 * which a killed process leaves. */
static pp_status check_torn_header(const pp_sweep *sweep, const char *path, const char *text,
                                   size_t bytes, pp_err *err)
{
    char *header PP_CLEANUP(pp_free_text) = NULL;
    size_t header_bytes = 0;
    pp_status status = pp_sweep_header(sweep, &header, &header_bytes, err);
    if (!status && (bytes >= header_bytes || memcmp(header, text, bytes) != 0))
        status =
            pp_err_set(err, PP_INPUT, path,
                       "is not the file of a sweep and is not changed; name another file with -o");
    return status;
}

pp_status pp_sweep_lines_parse(const pp_sweep *sweep, const char *text, size_t bytes,
                               const char *path, bool any_shard, pp_sweep_lines *lines,
                               off_t *good_bytes_out, pp_err *err)
{
    size_t good = 0;
    bool sealed = false;
    pp_status status;
    const char *newline = memchr(text, '\n', bytes);
    if (!newline && (status = check_torn_header(sweep, path, text, bytes, err)))
        return status;
    for (size_t number = 1; newline; number++) {
        char where[256];
        size_t end = (size_t)(newline - text) + 1;
        snprintf(where, sizeof where, "%.200s, line %zu", path, number);
        if (number == 1) {
            pp_json *json PP_CLEANUP(pp_json_free) = NULL;
            if ((status = pp_json_parse(text, end, path, &json, err)))
                return status;
            pp_json_at root = pp_json_root(json, path);
            sealed = pp_json_has(&root, PP_SWEEP_SEAL);
            if (sealed && !pp_sweep_is_sealed(text, end))
                return pp_err_set(err, PP_INPUT, where,
                                  "was changed after it was written, since its checksum differs; "
                                  "run the sweep again with another file");
            status = pp_sweep_same(sweep, &root, any_shard, err);
        } else {
            status = add_line(sweep, text + good, end - good, where, sealed, lines, err);
        }
        if (status)
            return status;
        good = end;
        newline = memchr(text + good, '\n', bytes - good);
    }
    *good_bytes_out = (off_t)good;
    return PP_OK;
}

pp_status pp_sweep_parse(const char *text, size_t bytes, const char *path, pp_sweep *sweep,
                         pp_sweep_lines *lines, pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    off_t ignored;
    pp_status status = pp_json_parse(text, strcspn(text, "\n"), path, &json, err);
    if (status)
        return status;
    pp_json_at root = pp_json_root(json, path);
    if ((status = pp_sweep_from_header(&root, sweep, err)) ||
        (status = pp_sweep_lines_new(sweep->grid.points, lines, err)))
        return status;
    return pp_sweep_lines_parse(sweep, text, bytes, path, true, lines, &ignored, err);
}

pp_status pp_sweep_lines_read(const pp_sweep *sweep, const char *path, bool any_shard,
                              pp_sweep_lines *lines, off_t *good_bytes_out, pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status = pp_file_read(path, &text, &bytes, err);
    return status ? status
                  : pp_sweep_lines_parse(sweep, text, bytes, path, any_shard, lines, good_bytes_out,
                                         err);
}

static pp_status io_error(const pp_sweep_file *file, pp_err *err)
{
    return pp_err_set(err, PP_IO, file->path, "%s", strerror(errno));
}

/* Locks the file, reads its lines, and cuts off an incomplete one. Writes the header into an empty
 * file. */
static pp_status begin(const pp_sweep *sweep, pp_sweep_lines *lines, pp_sweep_file *file,
                       pp_err *err)
{
    struct stat info;
    char *header PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    if (fstat(file->descriptor, &info))
        return io_error(file, err);
    file->regular = S_ISREG(info.st_mode);
    if (file->regular && flock(file->descriptor, LOCK_EX | LOCK_NB))
        return errno == EWOULDBLOCK ? pp_err_set(err, PP_IO, file->path,
                                                 "another sweep is writing this file; wait until "
                                                 "it ends, or name another file with -o")
                                    : io_error(file, err);
    if (file->regular && info.st_size > 0) {
        pp_status status =
            pp_sweep_lines_read(sweep, file->path, false, lines, &file->good_bytes, err);
        if (status)
            return status;
        if (ftruncate(file->descriptor, file->good_bytes))
            return io_error(file, err);
    }
    if (file->good_bytes > 0)
        return PP_OK;
    pp_status status = pp_sweep_header(sweep, &header, &bytes, err);
    return status ? status : pp_sweep_file_append(file, header, bytes, err);
}

pp_status pp_sweep_file_open(const pp_sweep *sweep, const char *path, pp_sweep_lines *lines,
                             pp_sweep_file *file_out, pp_err *err)
{
    pp_sweep_file file PP_CLEANUP(pp_sweep_file_close) = { .path = path, .descriptor = -1 };
    if (path) {
        file.descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (file.descriptor < 0)
            return io_error(&file, err);
        pp_status status = begin(sweep, lines, &file, err);
        if (status)
            return status;
    }
    *file_out = file;
    file.path = NULL; /* the caller owns it now */
    return PP_OK;
}

pp_status pp_sweep_file_append(pp_sweep_file *file, const char *line, size_t bytes, pp_err *err)
{
    if (!file->path)
        return PP_OK;
    size_t written = 0;
    while (written < bytes) { /* after a short write (full disk, closed pipe) the next one fails
                                 with the reason */
        ssize_t now = write(file->descriptor, line + written, bytes - written);
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0) {
            pp_status status = io_error(file, err);
            if (written > 0 && file->regular && ftruncate(file->descriptor, file->good_bytes))
                return status; /* an incomplete line remains, as after a kill */
            return status;
        }
        written += (size_t)now;
    }
    file->good_bytes += (off_t)bytes;
    file->dirty = true;
    return pp_clock_now_ns() - file->synced_ns < SYNC_EVERY_NS ? PP_OK
                                                               : pp_sweep_file_sync(file, err);
}

pp_status pp_sweep_file_sync(pp_sweep_file *file, pp_err *err)
{
    if (!file->path || !file->regular || !file->dirty)
        return PP_OK;
    if (fsync(file->descriptor))
        return io_error(file, err);
    file->dirty = false;
    file->synced_ns = pp_clock_now_ns();
    return PP_OK;
}

void pp_sweep_file_close(pp_sweep_file *file)
{
    if (file->path)
        close(file->descriptor);
    file->path = NULL;
}
