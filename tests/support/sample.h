/* Which part of what could be tried exhaustively is tried. tools/test draws a part by a seed, which
 * it prints, and tools/test --long tries all. Under sanitizers, which look at paths that repeat and
 * are several times slower, the part is smaller. */
#ifndef PPSIM_TESTS_SUPPORT_SAMPLE_H
#define PPSIM_TESTS_SUPPORT_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* One of so many is tried: n, and times more under sanitizers or in a quick run. 1: all are. */
static inline uint32_t sample_stride(uint32_t n, uint32_t times)
{
    const uint32_t plain = getenv("PPSIM_TEST_LONG") ? 1 : n;
    return getenv("PPSIM_SANITIZE") || getenv("PPSIM_TEST_QUICK") ? plain * times : plain;
}

/* The first one that is tried: 0 to stride - 1, by the seed. */
static inline uint32_t sample_first(uint32_t stride)
{
    const char *seed = getenv("PPSIM_TEST_SEED");
    return seed ? (uint32_t)(strtoul(seed, NULL, 10) % stride) : 0;
}

/* Is the one of this number left out? */
static inline bool sample_skips(uint64_t number, uint32_t n, uint32_t times)
{
    const uint32_t stride = sample_stride(n, times);
    return number % stride != sample_first(stride);
}

/* Is the next test of this file tried? Under sanitizers and in a quick run one of `times` is. */
static inline bool sample_takes_test(uint32_t times)
{
    static uint32_t number;
    return getenv("PPSIM_TEST_LONG") || !sample_skips(number++, 1, times);
}

/* Adds a test of Check to a case, if it is tried. */
#define sample_add_test(tcase, test, times) \
    do {                                    \
        if (sample_takes_test(times))       \
            tcase_add_test(tcase, test);    \
    } while (0)

#endif
