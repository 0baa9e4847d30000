/* The parts that both halves of the stand-in share: settings, the record, and failures on
 * demand. */
#include "tests/cuda/standin.h"

#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
enum { ENTRIES = 4 };
static unsigned calls[ENTRIES]; /* of the functions that shall fail */

long standin_setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

void standin_forget(void)
{
    memset(calls, 0, sizeof calls);
}

void standin_wrong(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("stand-in: wrong use: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    _exit(70);
}

/* The log; each line is written at once. */
static FILE *log_file(void)
{
    static FILE *file;
    static char of[PATH_MAX];
    const char *path = getenv("STANDIN_LOG");
    if (path && strcmp(path, of) == 0)
        return file;
    if (file)
        fclose(file);
    snprintf(of, sizeof of, "%s", path ? path : "");
    file = path ? fopen(path, "a") : NULL;
    if (file)
        setvbuf(file, NULL, _IOLBF, BUFSIZ);
    return file;
}

static void record(const char *name, bool fails, const char *format, va_list arguments)
{
    FILE *file = log_file();
    if (!file)
        return;
    if (fails)
        fprintf(file, "fails %s\n", name);
    fprintf(file, "gpu%d %s ", standin_device(), name);
    vfprintf(file, format, arguments);
    fprintf(file, " @%lx\n", (unsigned long)pthread_self());
}

/* Entries of STANDIN_FAIL: "cudaMalloc:2,ncclSend:7". The lock is held. */
static bool is_due(const char *name)
{
    const size_t length = strlen(name);
    bool due = false;
    const char *entry = getenv("STANDIN_FAIL");
    for (unsigned i = 0; entry && i < ENTRIES; i++) {
        if (strncmp(entry, name, length) == 0 && entry[length] == ':')
            due |= ++calls[i] == (unsigned)strtol(entry + length + 1, NULL, 10);
        entry = strchr(entry, ',');
        entry += entry != NULL;
    }
    return due;
}

long standin_copy_us(size_t bytes)
{
    return (long)((double)bytes / (1 << 20) * (double)standin_setting("STANDIN_MIB_US", 0));
}

void standin_begins(const char *what)
{
    if (standin_setting("STANDIN_START_US", 0))
        (void)standin_fails(what, "begins");
}

bool standin_fails(const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&lock);
    bool fails = is_due(name);
    record(name, fails, format, arguments);
    pthread_mutex_unlock(&lock);
    va_end(arguments);
    return fails;
}
