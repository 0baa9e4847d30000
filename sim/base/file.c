/* Reads and writes whole files. A new file is written next to the old one and renamed over it,
 * which POSIX makes atomic, so that a failure leaves the old one intact. */
#include "sim/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void close_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

static pp_status io_error(const char *path, pp_err *err)
{
    return pp_err_set(err, PP_IO, path, "%s", strerror(errno));
}

pp_status pp_file_read(const char *path, char **text_out, size_t *bytes_out, pp_err *err)
{
    FILE *file PP_CLEANUP(close_file) = fopen(path, "rb");
    if (!file)
        return io_error(path, err);
    struct stat info;
    if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return io_error(path, err);
    }
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t capacity = 0;
    size_t bytes = 0;
    for (;;) {
        void *grown = text;
        pp_status status = pp_grow(&grown, &capacity, bytes + 65536 + 1, 1, err);
        if (status)
            return status;
        text = grown;
        size_t got = fread(text + bytes, 1, capacity - bytes - 1, file);
        bytes += got;
        if (bytes > PP_FILE_BYTES_MAX)
            return pp_err_set(err, PP_INPUT, path, "larger than the limit of 1 GiB");
        if (got == 0)
            break;
    }
    if (ferror(file))
        return io_error(path, err);
    text[bytes] = '\0';
    *text_out = text;
    *bytes_out = bytes;
    text = NULL; /* the caller's now */
    return PP_OK;
}

static pp_status write_and_close(FILE *file, const char *path, const char *text, size_t bytes,
                                 pp_err *err)
{
    int failed = fwrite(text, 1, bytes, file) != bytes;
    int saved = errno;
    if (fclose(file) && !failed) {
        failed = 1;
        saved = errno;
    }
    errno = saved;
    return failed ? io_error(path, err) : PP_OK;
}

bool pp_file_is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

static pp_status write_temporary(pp_staged_file *staged, const char *path, int mode,
                                 const char *text, size_t bytes, pp_err *err)
{
    size_t room = strlen(staged->target) + 32;
    char *temporary PP_CLEANUP(pp_free_text) = malloc(room);
    if (!temporary)
        return pp_err_nomem(err);
    snprintf(temporary, room, "%s.tmp%ld", staged->target, (long)getpid());
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (descriptor < 0)
        return io_error(path, err);
    FILE *file = fdopen(descriptor, "wb");
    if (!file)
        close(descriptor);
    pp_status status = file ? write_and_close(file, path, text, bytes, err) : io_error(path, err);
    if (status) {
        unlink(temporary);
        return status;
    }
    staged->temporary = temporary;
    temporary = NULL; /* now owned by the staged file */
    return PP_OK;
}

pp_status pp_file_stage(const char *path, const char *text, size_t bytes,
                        pp_staged_file *staged_out, pp_err *err)
{
    struct stat info;
    bool exists = stat(path, &info) == 0;
    bool special = exists && !S_ISREG(info.st_mode);
    if (exists && access(path, W_OK))
        return io_error(path, err);
    pp_staged_file staged = { .target =
                                  exists && !special ? realpath(path, NULL) : pp_copy_text(path) };
    if (!staged.target)
        return exists && errno != ENOMEM ? io_error(path, err) : pp_err_nomem(err);
    pp_status status = PP_OK;
    if (!special)
        status = write_temporary(&staged, path, exists ? (int)(info.st_mode & 0777) : 0666, text,
                                 bytes, err);
    if (status)
        pp_file_discard(&staged);
    else
        *staged_out = staged;
    return status;
}

pp_status pp_file_commit(pp_staged_file *staged, const char *text, size_t bytes, pp_err *err)
{
    if (!staged->temporary) {
        FILE *file = fopen(staged->target, "wb");
        return file ? write_and_close(file, staged->target, text, bytes, err)
                    : io_error(staged->target, err);
    }
    if (rename(staged->temporary, staged->target))
        return io_error(staged->target, err);
    free(staged->temporary);
    staged->temporary = NULL;
    return PP_OK;
}

void pp_file_discard(pp_staged_file *staged)
{
    if (staged->temporary)
        unlink(staged->temporary);
    free(staged->temporary);
    free(staged->target);
    *staged = (pp_staged_file){ 0 };
}

pp_status pp_file_write(const char *path, const char *text, size_t bytes, pp_err *err)
{
    pp_staged_file staged PP_CLEANUP(pp_file_discard) = { 0 };
    pp_status status = pp_file_stage(path, text, bytes, &staged, err);
    return status ? status : pp_file_commit(&staged, text, bytes, err);
}
