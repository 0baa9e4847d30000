/* A file that belongs to a test and is removed with its scope. */
#ifndef PPSIM_TESTS_SUPPORT_SCRATCH_FILE_H
#define PPSIM_TESTS_SUPPORT_SCRATCH_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct scratch_file {
    char path[64];
} scratch_file;

static inline scratch_file scratch_write(const char *text, size_t bytes)
{
    scratch_file made = { "/tmp/ppsim-test-XXXXXX" };
    int file = mkstemp(made.path);
    if (file < 0 || write(file, text, bytes) != (ssize_t)bytes || close(file))
        abort();
    return made;
}

static inline void scratch_remove(scratch_file *file)
{
    unlink(file->path);
}

#endif
