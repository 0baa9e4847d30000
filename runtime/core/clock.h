#ifndef PPSIM_RUNTIME_CORE_CLOCK_H
#define PPSIM_RUNTIME_CORE_CLOCK_H

#include <stdint.h>

/* Time for measuring: never goes back, has no meaning beyond differences. */
int64_t pp_clock_now_ns(void);

/* Processor time of the calling thread. */
int64_t pp_clock_thread_ns(void);

/* How often the calling thread lost its processor although it could have gone on. */
int64_t pp_clock_preemptions(void);

/* Sleeps, the last stretch by giving the processor away again and again: it ends within a few us,
 * and others run meanwhile. */
void pp_clock_sleep_until(int64_t deadline_ns);

/* Lets the calling thread's sleeps end when they should, not up to 50 us later (Linux). */
void pp_clock_sharpen(void);

#endif
