/* Fails one allocation of the code under test. The linker's --wrap sends ours through this file. */
#include "tests/torture/torture.h"

#include "tests/support/sample.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/json.h"

enum { FIRST = 50 };

/* Names that the linker's --wrap gives. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static struct {
    bool armed;
    long failing; /* number of the allocation to fail; 0 for none */
    long asked;
    bool json_out; /* the JSON library has met the failure: all its later allocations fail, too */
} torture;

static bool fails(void)
{
    if (!torture.armed || ++torture.asked != torture.failing)
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t bytes)
{
    return fails() ? NULL : __real_strndup(text, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

/* Jansson's lexer drops bytes silently when its buffer cannot grow but a later allocation succeeds.
 * In a real shortage all later allocations fail, and it reports the error. So for Jansson the
 * shortage lasts. */
static void *json_malloc(size_t bytes)
{
    if (torture.armed && torture.json_out) {
        errno = ENOMEM;
        return NULL;
    }
    void *block = __wrap_malloc(bytes);
    torture.json_out = !block;
    return block;
}

int pp_torture_arm(long n)
{
    if (n < 0)
        return -1;
    /* Jansson is a shared library, out of the linker's reach. */
    pp_json_set_alloc(json_malloc, free);
    torture.json_out = false;
    torture.failing = n;
    torture.asked = 0;
    torture.armed = true;
    return 0;
}

long pp_torture_count(void)
{
    return torture.asked;
}

void pp_torture_disarm(void)
{
    torture.armed = false;
}

int pp_torture_run(int (*body)(void *context), void *context, int nomem, long limit,
                   long *allocations_out)
{
    /* Beyond the first ones a part by the seed, a smaller one under sanitizers. */
    const long stride = (long)sample_stride(3, 2);
    const long first = FIRST + (long)sample_first((uint32_t)stride); /* the rest begins here */
    for (long n = 1; n <= limit; n = n == FIRST - 1 ? first : n + (n < FIRST ? 1 : stride)) {
        pp_torture_arm(n);
        int status = body(context);
        pp_torture_disarm();
        bool failed = pp_torture_count() >= n;
        if (failed ? status != 0 && status != nomem : status != 0) {
            *allocations_out = n;
            return status;
        }
        if (!failed) {
            *allocations_out = pp_torture_count();
            return 0;
        }
    }
    *allocations_out = limit;
    return -1;
}
