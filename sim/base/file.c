/* Reads and writes whole files. A new file is written next to the old one and renamed over it,
 * which POSIX makes atomic, so that a failure leaves the old one intact. Its name until then is
 * that of the file with .tmpPID; it is locked (flock), so that the next process that writes the
 * file knows whether the writer still lives, and removes it if not. */
#include "sim/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".tmp"
#define SUFFIX_BYTES (sizeof SUFFIX - 1)

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

bool pp_file_is_strangers(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && !S_ISREG(info.st_mode) && info.st_uid != 0 &&
           info.st_uid != geteuid();
}

bool pp_file_is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* Splits a path at its last slash: its folder, which the caller frees, and the rest. */
static char *folder_of(const char *path, const char **name_out)
{
    const char *slash = strrchr(path, '/');
    *name_out = slash ? slash + 1 : path;
    return slash ? strndup(path, (size_t)(slash + 1 - path)) : pp_copy_text("./");
}

/* Returns whether a file's name is that of a temporary file for `target`. */
static bool is_temporary(const char *name, const char *target)
{
    const size_t length = strlen(target);
    if (strncmp(name, target, length) != 0 || strncmp(name + length, SUFFIX, SUFFIX_BYTES) != 0)
        return false;
    const char *number = name + length + SUFFIX_BYTES;
    return *number && strspn(number, "0123456789") == strlen(number);
}

/* Takes the lock of a file, and waits for it unless `at_once`. */
static bool lock_file(int file, bool at_once)
{
    int code;
    do
        code = flock(file, at_once ? LOCK_EX | LOCK_NB : LOCK_EX);
    while (code && errno == EINTR);
    return code == 0;
}

/* Removes a temporary file whose writer is gone: nobody holds its lock. The name is looked up again
 * once the lock is ours, since the writer may have renamed that file and begun another. */
static void remove_leftover(int folder, const char *name)
{
    struct stat info;
    struct stat now;
    const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
        info.st_nlink == 1 && lock_file(file, true) &&
        fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == info.st_dev &&
        now.st_ino == info.st_ino)
        (void)unlinkat(folder, name, 0);
    close(file);
}

static void close_folder(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

/* Removes what processes left that were killed while they wrote this file. If the folder cannot be
 * read, they stay. */
static void remove_leftovers(const char *target)
{
    const char *name;
    const struct dirent *entry;
    char *path PP_CLEANUP(pp_free_text) = folder_of(target, &name);
    DIR *folder PP_CLEANUP(close_folder) = path ? opendir(path) : NULL;
    while (folder && (entry = readdir(folder))) {
        if (is_temporary(entry->d_name, name))
            remove_leftover(dirfd(folder), entry->d_name);
    }
}

/* Gives a new file the owner and the mode of the one that it replaces, as far as this process may:
 * only root gives files away. */
static void keep_mode(int file, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;
    if (fchown(file, old->st_uid, old->st_gid) && fchown(file, (uid_t)-1, old->st_gid))
        mode &= ~(mode_t)S_IRWXG; /* it is another group */
    (void)fchmod(file, mode);
}

/* Creates and locks a file. Another process may take it for a leftover before it is locked, and
 * remove it; then it is created again. Only who has the lock removes it. Returns -1 with errno if
 * it cannot. */
static int create(const char *path)
{
    struct stat info;
    for (;;) {
        const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0)
            return -1;
        if (!lock_file(file, false)) /* no locks here, so nobody removes it */
            return file;
        if (fstat(file, &info) || info.st_nlink > 0)
            return file;
        close(file);
    }
}

static pp_status write_temporary(pp_staged_file *staged, const char *path, const struct stat *old,
                                 const char *text, size_t bytes, pp_err *err)
{
    size_t room = strlen(staged->target) + 32;
    char *temporary PP_CLEANUP(pp_free_text) = malloc(room);
    if (!temporary)
        return pp_err_nomem(err);
    snprintf(temporary, room, "%s" SUFFIX "%ld", staged->target, (long)getpid());
    remove_leftovers(staged->target);
    const int descriptor = create(temporary);
    if (descriptor < 0)
        return io_error(path, err);
    if (old)
        keep_mode(descriptor, old);
    const int lock = fcntl(descriptor, F_DUPFD_CLOEXEC, 0); /* holds the lock until the end */
    FILE *file = lock < 0 ? NULL : fdopen(descriptor, "wb");
    pp_status status = file ? write_and_close(file, path, text, bytes, err) : io_error(path, err);
    if (!file)
        close(descriptor);
    if (status) {
        unlink(temporary);
        if (lock >= 0)
            close(lock);
        return status;
    }
    staged->temporary = temporary;
    staged->lock = lock;
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
        status = write_temporary(&staged, path, exists ? &info : NULL, text, bytes, err);
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
    close(staged->lock);
    free(staged->temporary);
    staged->temporary = NULL;
    return PP_OK;
}

void pp_file_discard(pp_staged_file *staged)
{
    if (staged->temporary) {
        unlink(staged->temporary);
        close(staged->lock);
    }
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
