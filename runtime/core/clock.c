/* Clocks and sleeping on Linux: the monotonic clock, the processor time and the involuntary
 * context switches of a thread, and a sleep that ends within a few microseconds because it
 * yields in a loop for the last 60 us. */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "runtime/core/clock.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#define YIELDING_NS 60000 /* a sleep may end about this much too late */

static int64_t read_clock(clockid_t clock)
{
    struct timespec now = { 0 };
    clock_gettime(clock, &now); /* cannot fail with these clocks and a valid address */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t pp_clock_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t pp_clock_thread_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int64_t pp_clock_preemptions(void)
{
    struct rusage usage = { 0 };
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

void pp_clock_sleep_until(int64_t deadline_ns)
{
    int64_t wake_ns = deadline_ns - YIELDING_NS;
    if (wake_ns > pp_clock_now_ns()) {
        struct timespec at = { .tv_sec = wake_ns / 1000000000, .tv_nsec = wake_ns % 1000000000 };
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
    while (pp_clock_now_ns() < deadline_ns)
        sched_yield();
}

void pp_clock_sharpen(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}
