/* Random numbers that are the same everywhere: splitmix64 (Steele, Lea, Flood 2014; constants of
 * variant 13, Stafford 2011). */
#ifndef PPSIM_SIM_BASE_RANDOM_H
#define PPSIM_SIM_BASE_RANDOM_H

#include <stdint.h>

/* The finaliser: close numbers become far ones. */
static inline uint64_t pp_random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#define PP_RANDOM_STEP 0x9e3779b97f4a7c15u

/* The next 64 bits. *state: the seed at first. */
static inline uint64_t pp_random_next(uint64_t *state)
{
    *state += PP_RANDOM_STEP;
    return pp_random_mix(*state);
}

#endif
