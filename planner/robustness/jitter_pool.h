/* Random factors of durations, drawn in advance. */
#ifndef PPSIM_PLANNER_ROBUSTNESS_JITTER_POOL_H
#define PPSIM_PLANNER_ROBUSTNESS_JITTER_POOL_H

#include "sim/analysis/robustness.h"
#include "sim/base/random.h"
#include "sim/base/status.h"
#include "sim/order/order.h"

#define PP_JITTER_LANES 64u             /* scenarios that are computed together, as a block */
#define PP_JITTER_DRAWS 65536u          /* number of factors in a pool */
#define PP_JITTER_COMM PP_OP_KIND_COUNT /* the class of transfers */
#define PP_JITTER_CLASSES (PP_OP_KIND_COUNT + 1)

/* The purposes of random numbers that are not drawn for an op. */
typedef enum pp_jitter_purpose {
    PP_JITTER_STREAM_ORDER = 1,
    PP_JITTER_STREAM_RANK,
    PP_JITTER_STREAM_LINK,
} pp_jitter_purpose;

/* The key of a stream of random numbers. */
static inline uint64_t pp_jitter_stream(uint64_t seed, pp_jitter_purpose purpose)
{
    return pp_random_mix(pp_random_mix(seed) + purpose * PP_RANDOM_STEP);
}

/* The random bits of an op in a block of scenarios. The transfer of its input uses the upper half.
 */
static inline uint64_t pp_jitter_bits(uint64_t key, uint64_t block)
{
    return pp_random_mix(key + (block + 1) * PP_RANDOM_STEP);
}

/* The key of an op, which is the same in every lowering of an order. */
static inline uint64_t pp_jitter_key(uint64_t seed, pp_op op)
{
    uint64_t id = (uint64_t)op.kind << 48 | (uint64_t)op.stage << 32 | op.microbatch;
    return pp_random_mix(pp_random_mix(seed) ^ pp_random_mix(id + 1));
}

/* base * factor * draw, to the nearest nanosecond; below 2^51, where adding 2^52 rounds. */
static inline double pp_jitter_scale(double base_ns, double factor, float draw)
{
    return (base_ns * factor * (double)draw + 0x1p52) - 0x1p52;
}

/* The factors of each class of ops: quantiles of its distribution in random order, followed by the
 * first PP_JITTER_LANES of them again, so that a block may start anywhere. All are 1 when sigma is
 * 0. */
typedef struct pp_jitter_pool {
    float *factor[PP_JITTER_CLASSES]; /* classes with the same sigma share one array */
    uint32_t mask[PP_JITTER_CLASSES];
    double largest[PP_JITTER_CLASSES];
} pp_jitter_pool;

/* Made on up to `threads` threads, which do not change it. Owner frees with pp_jitter_pool_free.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_jitter_pool_new(const pp_jitter_spec *spec, uint64_t seed,
                                           uint32_t threads, pp_jitter_pool *pool, pp_err *err);
void pp_jitter_pool_free(pp_jitter_pool *pool); /* for PP_CLEANUP; all zero is fine */

/* The factors of an op (class: its kind), or of the transfer of its input (PP_JITTER_COMM), in a
 * block: PP_JITTER_LANES of them. */
static inline const float *pp_jitter_draws(const pp_jitter_pool *pool, uint64_t bits,
                                           uint32_t class)
{
    uint64_t at = class == PP_JITTER_COMM ? bits >> 32 : bits;
    return pool->factor[class] + (at & pool->mask[class]);
}

#endif
