#ifndef PPSIM_RUNTIME_CLOCK_H
#define PPSIM_RUNTIME_CLOCK_H

#include <stdint.h>

/* Time for measuring: never goes back, has no meaning beyond differences. */
int64_t pp_clock_now_ns(void);

#endif
