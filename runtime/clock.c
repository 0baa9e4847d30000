#include "runtime/clock.h"

#include <time.h>

int64_t pp_clock_now_ns(void)
{
    struct timespec now = { 0 };
    clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock and a valid address */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
