/* The smaller and the larger of two times, sizes or counts. */
#ifndef PPSIM_SIM_BASE_MINMAX_H
#define PPSIM_SIM_BASE_MINMAX_H

#include <stdint.h>

static inline int64_t pp_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t pp_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
