/* Gives inputs that can be read only once, as `ppsim plot <(zcat plan.json.gz)` has, the file that
 * commands expect: some look at the beginning first, and open the file again by its name. The
 * content is copied into a temporary file without a name. Where the input is one of our
 * descriptors (/dev/fd/63, /dev/stdin), the file takes its place, under the same name. The name of
 * a FIFO is replaced by that of a descriptor on the command line; messages have the old one
 * (pp_args_restore). Inputs in memory are treated like a FIFO. In a program that calls ppsim all
 * are: its descriptors are its own. */
#include "tools/ppsim/base/pipes.h"

#include "sim/base/file.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/console.h"
#include "tools/ppsim/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Copies have descriptors from here on, if there may be so many: up to 999 all names are equally
 * long, so that lines of text break at the same places whatever else is open. */
#define FIRST 100

static void close_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

/* Returns whether a path can be read only once. */
static bool is_pipe(const char *path)
{
    struct stat info;
    return pp_console_find_input(path) ||
           (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

/* Returns the descriptor that the path of an input names, or -1. */
static int descriptor_of(const char *path)
{
    int descriptor = -1;
    int used = 0;
    if (pp_console_current())
        return -1;
    if (strcmp(path, "/dev/stdin") == 0)
        return STDIN_FILENO;
    if ((sscanf(path, "/dev/fd/%d%n", &descriptor, &used) == 1 && !path[used]) ||
        (sscanf(path, "/proc/self/fd/%d%n", &descriptor, &used) == 1 && !path[used]))
        return descriptor;
    return -1;
}

static pp_status copy(FILE *from, FILE *to, const char *path, pp_err *err)
{
    char block[65536];
    size_t bytes = 0;
    size_t got;
    while ((got = fread(block, 1, sizeof block, from)) > 0) {
        bytes += got;
        if (bytes > PP_FILE_BYTES_MAX)
            return pp_err_set(err, PP_INPUT, path, "larger than the limit of 1 GiB");
        if (fwrite(block, 1, got, to) != got)
            return pp_err_set(err, PP_IO, path, "cannot be copied: %s", strerror(errno));
    }
    if (ferror(from))
        return pp_err_set(err, PP_IO, path, "%s", strerror(errno));
    return fflush(to) ? pp_err_set(err, PP_IO, path, "cannot be copied: %s", strerror(errno))
                      : PP_OK;
}

static pp_status write_all(const pp_console_input *input, FILE *to, pp_err *err)
{
    if (fwrite(input->content, 1, input->bytes, to) != input->bytes || fflush(to))
        return pp_err_set(err, PP_IO, input->name, "cannot be copied: %s", strerror(errno));
    return PP_OK;
}

/* Copies an input, and puts the copy at descriptor *at, or at a new one where that is -1. */
static pp_status copy_to(const char *path, int *at, pp_err *err)
{
    FILE *to PP_CLEANUP(close_file) = tmpfile();
    const pp_console_input *held = pp_console_find_input(path);
    FILE *from PP_CLEANUP(close_file) = to && !held ? fopen(path, "rb") : NULL;
    if (!to || (!held && !from))
        return pp_err_set(err, PP_IO, path, "%s%s",
                          to ? "" : "no temporary file for it: ", strerror(errno));
    pp_status status = held ? write_all(held, to, err) : copy(from, to, path, err);
    if (status)
        return status;
    int copied;
    if (*at >= 0)
        copied = dup2(fileno(to), *at);
    else if ((copied = fcntl(fileno(to), F_DUPFD_CLOEXEC, FIRST)) < 0)
        copied = fcntl(fileno(to), F_DUPFD_CLOEXEC, 0);
    if (copied < 0)
        return pp_err_set(err, PP_IO, path, "%s", strerror(errno));
    *at = copied;
    return PP_OK;
}

/* Reads the input that `text` names from `at` on, and replaces its name unless it is that of a
 * descriptor. The index-th option or word of the command line has it. */
static pp_status take(pp_args *args, bool is_word, size_t index, const char *text, size_t at,
                      pp_err *err)
{
    const char *path = text + at;
    const char *known = pp_args_replacement(args, path);
    const int own = descriptor_of(path);
    char name[32];
    int descriptor = own;
    pp_status status = known ? PP_OK : copy_to(path, &descriptor, err);
    if (status || own >= 0)
        return status;
    if (!known) {
        snprintf(name, sizeof name, "/dev/fd/%d", descriptor);
        if ((status = pp_args_own(args, descriptor, err)) ||
            (pp_console_current() &&
             (status = pp_console_rename(pp_console_current(), name, path, err))))
            return status;
    }
    return pp_args_replace(args, is_word, index, at, known ? known : name, err);
}

pp_status pp_pipes_read(pp_args *args, pp_err *err)
{
    const pp_option *option;
    const char *value = NULL;
    pp_status status = PP_OK;
    for (size_t i = 0; !status && (option = pp_args_given(args, i, &value)); i++) {
        const char *equals = value ? strchr(value, '=') : NULL;
        if (!pp_files_is_input(option))
            continue;
        if (is_pipe(value))
            status = take(args, false, i, value, 0, err);
        else if (equals && is_pipe(equals + 1))
            status = take(args, false, i, value, (size_t)(equals + 1 - value), err);
    }
    for (size_t i = 0; !status && (value = pp_args_word(args, i)); i++) {
        if (is_pipe(value))
            status = take(args, true, i, value, 0, err);
    }
    return status;
}
