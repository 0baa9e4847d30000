/* Factors are lognormal with median 1: exp(sigma z), z standard normal. Instead of drawing every
 * factor, 65,536 quantiles of the distribution are computed once with GSL and shuffled (Fisher and
 * Yates); an op then takes consecutive ones from a random position. That is stratified sampling:
 * the pool has the mean and the spread of the distribution almost exactly, and a draw costs one
 * load. Time and memory: O(65,536) per distinct sigma. */
#include "planner/robustness/jitter_pool.h"

#include "sim/base/alloc.h"
#include "sim/base/for_each.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Threads share the work on a pool in parts of so many numbers. */
#define PART (PP_JITTER_DRAWS / 16)

static void draw_normals(void *context, size_t part)
{
    double *z = context;
    for (size_t i = part * PART; i < (part + 1) * PART; i++) {
        z[i] = gsl_cdf_ugaussian_Pinv(((double)i + 0.5) / PP_JITTER_DRAWS);
        z[PP_JITTER_DRAWS - 1 - i] = -z[i];
    }
}

/* The medians of PP_JITTER_DRAWS equally likely slices of the standard normal distribution, in an
 * order that the seed decides. NULL: no memory. */
static double *new_normals(uint64_t seed, uint32_t threads)
{
    double *z = pp_alloc_array(PP_JITTER_DRAWS, sizeof *z);
    if (!z)
        return NULL;
    gsl_error_handler_t *old = gsl_set_error_handler_off();
    pp_for_each(threads, PP_JITTER_DRAWS / PART / 2, draw_normals, z);
    gsl_set_error_handler(old);
    uint64_t key = pp_jitter_stream(seed, PP_JITTER_STREAM_ORDER);
    for (uint32_t i = PP_JITTER_DRAWS - 1; i > 0; i--) { /* Fisher-Yates */
        uint32_t k = pp_random_below(pp_jitter_bits(key, i), i + 1);
        double swap = z[i];
        z[i] = z[k];
        z[k] = swap;
    }
    return z;
}

typedef struct drawing {
    float *factor;
    const double *z;
    double sigma;
} drawing;

static void draw_factors(void *context, size_t part)
{
    const drawing *d = context;
    for (size_t i = part * PART; i < (part + 1) * PART; i++)
        d->factor[i] = (float)exp(d->sigma * d->z[i]);
}

static float *new_pool(double sigma, const double *z, uint32_t threads)
{
    uint32_t count = sigma > 0 ? PP_JITTER_DRAWS + PP_JITTER_LANES : PP_JITTER_LANES;
    float *factor = pp_alloc_array(count, sizeof *factor);
    drawing d = { .factor = factor, .z = z, .sigma = sigma };
    if (factor && sigma > 0)
        pp_for_each(threads, PP_JITTER_DRAWS / PART, draw_factors, &d);
    for (uint32_t i = 0; factor && i < PP_JITTER_LANES; i++)
        factor[count - PP_JITTER_LANES + i] = sigma > 0 ? factor[i] : 1;
    return factor;
}

static double largest(const float *factor, uint32_t count)
{
    double most = 1;
    for (uint32_t i = 0; i < count; i++)
        most = (double)factor[i] > most ? (double)factor[i] : most;
    return most;
}

pp_status pp_jitter_pool_new(const pp_jitter_spec *spec, uint64_t seed, uint32_t threads,
                             pp_jitter_pool *pool, pp_err *err)
{
    *pool = (pp_jitter_pool){ 0 };
    double sigma[PP_JITTER_CLASSES];
    memcpy(sigma, spec->sigma, sizeof spec->sigma);
    sigma[PP_JITTER_COMM] = spec->comm_sigma;
    double *z PP_CLEANUP(pp_free_array) = new_normals(seed, threads);
    if (!z)
        return pp_err_nomem(err);
    for (uint32_t c = 0; c < PP_JITTER_CLASSES; c++) {
        uint32_t same = 0;
        while (sigma[same] != sigma[c])
            same++;
        pool->factor[c] = same < c ? pool->factor[same] : new_pool(sigma[c], z, threads);
        if (!pool->factor[c]) {
            pp_jitter_pool_free(pool);
            return pp_err_nomem(err);
        }
        pool->mask[c] = sigma[c] > 0 ? PP_JITTER_DRAWS - 1 : 0;
        pool->largest[c] = largest(pool->factor[c], pool->mask[c] + 1);
    }
    return PP_OK;
}

void pp_jitter_pool_free(pp_jitter_pool *pool)
{
    for (uint32_t c = 0; c < PP_JITTER_CLASSES; c++) {
        bool shared = false;
        for (uint32_t d = 0; d < c; d++)
            shared = shared || pool->factor[d] == pool->factor[c];
        if (!shared)
            free(pool->factor[c]);
    }
    *pool = (pp_jitter_pool){ 0 };
}
