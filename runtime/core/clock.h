/* Clocks of this process and its threads, and a sleep that ends in time. */
#ifndef PPSIM_RUNTIME_CORE_CLOCK_H
#define PPSIM_RUNTIME_CORE_CLOCK_H

#include <stdint.h>

/* Returns monotonic time in ns. Only differences have a meaning. */
int64_t pp_clock_now_ns(void);

/* Returns the processor time of the calling thread, in ns. */
int64_t pp_clock_thread_ns(void);

/* Returns the number of involuntary context switches of the calling thread so far. */
int64_t pp_clock_preemptions(void);

/* Sleeps until deadline_ns, within a few us: for the last stretch it yields again and again, so
 * that other threads run meanwhile. */
void pp_clock_sleep_until(int64_t deadline_ns);

/* Sets the timer slack of the calling thread to 1 ns; by default Linux ends sleeps up to 50 us
 * late.
 */
void pp_clock_sharpen(void);

#endif
