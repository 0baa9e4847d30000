/* Pseudo-random numbers that are the same on every machine: splitmix64 (Steele, Lea, Flood 2014)
 * with the constants of Stafford's variant 13 (2011). */
#ifndef PPSIM_SIM_BASE_RANDOM_H
#define PPSIM_SIM_BASE_RANDOM_H

#include <stdint.h>

/* The finaliser of splitmix64: maps similar numbers to very different ones. */
static inline uint64_t pp_random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#define PP_RANDOM_STEP 0x9e3779b97f4a7c15u

/* The next 64 bits. *state is the seed before the first call. */
static inline uint64_t pp_random_next(uint64_t *state)
{
    *state += PP_RANDOM_STEP;
    return pp_random_mix(*state);
}

/* A number from 0 to count - 1 out of 64 random bits. */
static inline uint32_t pp_random_below(uint64_t bits, uint32_t count)
{
    return (uint32_t)(((bits >> 32) * count) >> 32);
}

/* A generator of random numbers. Two generators with the same seed draw the same numbers. */
typedef struct pp_rng {
    uint64_t state; /* initially the seed */
} pp_rng;

static inline uint64_t pp_rng_bits(pp_rng *rng)
{
    return pp_random_next(&rng->state);
}

/* A number from 0 to count - 1. */
static inline uint32_t pp_rng_below(pp_rng *rng, uint32_t count)
{
    return pp_random_below(pp_rng_bits(rng), count);
}

/* Close to -log2 of a uniform number in (0, 1): exact at powers of two, linear between them. It is
 * computed without a logarithm, so that the result is the same on every machine. */
static inline double pp_rng_exponential(pp_rng *rng)
{
    uint64_t bits = pp_rng_bits(rng) | 1;
    int zeros = __builtin_clzll(bits);
    uint64_t rest = zeros == 63 ? 0 : bits << (zeros + 1);
    return zeros + 1 - (double)rest * 0x1p-64;
}

#endif
