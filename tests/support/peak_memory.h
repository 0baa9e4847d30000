/* The memory that a piece of a test took at most. Check runs each test in a process of its own,
 * whose peak is therefore the test's. */
#ifndef PPSIM_TESTS_SUPPORT_PEAK_MEMORY_H
#define PPSIM_TESTS_SUPPORT_PEAK_MEMORY_H

#include "sim/base/text.h"
#include "tests/support/step.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>

/* Sanitizers keep memory that was freed. */
static inline bool peak_is_known(void)
{
    const char *fork = getenv("CK_FORK");
    return !getenv("PPSIM_SANITIZE") && !(fork && strcmp(fork, "no") == 0);
}

static inline size_t peak_bytes(void)
{
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return (size_t)usage.ru_maxrss * 1024;
}

/* A trace of `bytes` or a little more, as the format chrome writes it: op and idle time by turns.
 */
static inline void print_long_trace(size_t bytes, pp_text *text)
{
    pp_text_add(text, "{\"otherData\":{\"producer\":\"ppsim\",\"schedule\":\"1f1b\"},"
                      "\"traceEvents\":[\n");
    for (uint64_t i = 0; text->bytes < bytes; i++) {
        pp_text_add(
            text,
            "%s{\"ph\":\"X\",\"pid\":%" PRIu64 ",\"tid\":0,\"ts\":%" PRIu64
            ".000,\"dur\":0.500,\"cat\":\"compute\",\"name\":\"%" PRIu64 "F%" PRIu64
            "\",\"cname\":\"thread_state_running\",\"args\":{\"stage\":0,\"kind\":\"F\"}},\n",
            i ? "," : "", i % 64, i, i % 64, i / 64);
        pp_text_add(text,
                    "{\"ph\":\"X\",\"pid\":%" PRIu64 ",\"tid\":0,\"ts\":%" PRIu64
                    ".500,\"dur\":0.500,\"cat\":\"idle\",\"name\":\"data\",\"args\":{}}\n",
                    i % 64, i);
    }
    pp_text_add(text, "]}\n");
}

#endif
