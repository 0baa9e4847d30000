/* A file for readers that take paths. */
#ifndef PPSIM_TESTS_FUZZ_SCRATCH_H
#define PPSIM_TESTS_FUZZ_SCRATCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void need(int holds)
{
    if (!holds)
        abort();
}

/* The path of a file with these bytes, valid until the next call. */
static inline const char *scratch_of(const uint8_t *data, size_t bytes)
{
    static char path[32];
    static int file = -1;
    if (file < 0) {
        char name[] = "/tmp/ppsim-fuzz-XXXXXX";
        file = mkstemp(name);
        need(file >= 0 && unlink(name) == 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    need(ftruncate(file, 0) == 0 && pwrite(file, data, bytes, 0) == (ssize_t)bytes);
    return path;
}

#endif
