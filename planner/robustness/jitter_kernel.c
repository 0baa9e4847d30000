/* Computes the end of every op once for PP_JITTER_LANES scenarios at a time. One scenario is one
 * lane of a vector, so the compiler vectorises the loops over lanes; the same code is compiled for
 * plain x86-64, AVX2 and AVX-512, without fused operations, so that all give the same bits. O(ops *
 * lanes) per block. */
#include "planner/robustness/jitter_kernel.h"

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS void arrive(double *restrict out, const double *source, const float *draw,
                   const double *factor, double latency_ns, bool slow)
{
    for (uint32_t k = 0; k < PP_JITTER_LANES; k++)
        out[k] = source[k] + pp_jitter_scale(latency_ns, slow ? factor[k] : 1.0, draw[k]);
}

ALWAYS void finish(double *restrict out, const double *before, const double *ready,
                   const float *draw, const double *factor, double duration_ns, bool slow)
{
    for (uint32_t k = 0; k < PP_JITTER_LANES; k++) {
        double begin = ready[k] > before[k] ? ready[k] : before[k];
        out[k] = begin + pp_jitter_scale(duration_ns, slow ? factor[k] : 1.0, draw[k]);
    }
}

ALWAYS void advance(const pp_jitter_tape *tape, const pp_jitter_pool *pool,
                    const pp_jitter_lanes *lanes, uint64_t block, bool slow)
{
    double arrival[PP_JITTER_LANES] __attribute__((aligned(64)));
    for (size_t i = 0; i < tape->count; i++) {
        const pp_jitter_step *step = &tape->step[i];
        uint64_t bits = pp_jitter_bits(step->key, block);
        const double *ready = lanes->row + (size_t)step->source * PP_JITTER_LANES;
        if (step->latency_ns > 0) {
            arrive(arrival, ready, pp_jitter_draws(pool, bits, PP_JITTER_COMM),
                   lanes->link_factor + (size_t)step->link * PP_JITTER_LANES, step->latency_ns,
                   slow);
            ready = arrival;
        }
        finish(lanes->row + (size_t)step->row * PP_JITTER_LANES,
               lanes->row + (size_t)step->before * PP_JITTER_LANES, ready,
               pp_jitter_draws(pool, bits, step->class),
               lanes->rank_factor + (size_t)step->rank * PP_JITTER_LANES, step->duration_ns, slow);
    }
}

/* Each copy has `slow` as a constant. */
#define KERNEL(name, target)                                                         \
    target static void name(const pp_jitter_tape *tape, const pp_jitter_pool *pool,  \
                            const pp_jitter_lanes *lanes, uint64_t block, bool slow) \
    {                                                                                \
        if (slow)                                                                    \
            advance(tape, pool, lanes, block, true);                                 \
        else                                                                         \
            advance(tape, pool, lanes, block, false);                                \
    }

KERNEL(run_plain, )
#if defined __x86_64__
KERNEL(run_avx2, __attribute__((target("avx2"))))
KERNEL(run_avx512, __attribute__((target("avx512f"))))
#endif

size_t pp_jitter_kernel_count(void)
{
#if defined __x86_64__
    return 3;
#else
    return 1;
#endif
}

pp_jitter_kernel *pp_jitter_kernel_at(size_t index)
{
#if defined __x86_64__
    if (index == 1)
        return __builtin_cpu_supports("avx2") ? run_avx2 : NULL;
    if (index == 2)
        return __builtin_cpu_supports("avx512f") ? run_avx512 : NULL;
#endif
    return index == 0 ? run_plain : NULL;
}
