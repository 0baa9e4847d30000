/* Series made from a known form, with 3 % lognormal noise and 5 % of outliers that took 1.3 to 3
 * times as long. */
#ifndef PPSIM_TESTS_SUPPORT_FIT_TRUTH_H
#define PPSIM_TESTS_SUPPORT_FIT_TRUTH_H

#include "calib/fit/fit_series.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

typedef struct fit_random {
    uint64_t state;
} fit_random;

/* splitmix64: 0 <= x < 1 */
static inline double fit_uniform(fit_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static inline double fit_normal(fit_random *random)
{
    const double radius = sqrt(-2 * log(1 - fit_uniform(random)));
    return radius * cos(2 * acos(-1) * fit_uniform(random));
}

static inline double fit_noise(fit_random *random)
{
    const double noise = exp(0.03 * fit_normal(random));
    const bool outlier = fit_uniform(random) < 0.05;
    const double factor = 1.3 + 1.7 * fit_uniform(random);
    return outlier ? noise * factor : noise;
}

typedef struct fit_truth {
    const char *form, *class_name;
    bool link;
    int sizes, passes;
    size_t parameters;
    double parameter[12];
    /* Sets the variables of the index-th size and returns its time. */
    double (*seconds)(const double *parameter, int index, fit_random *random, double *at);
} fit_truth;

static inline void fit_free_samples(pp_samples *samples)
{
    pp_samples_free(samples);
}

/* Makes one series: 132 SMs, and for a link 8 ranks in a node. */
static inline void fit_make(const fit_truth *truth, uint64_t seed, pp_samples *samples)
{
    pp_err err = { 0 };
    pp_series *series = NULL;
    fit_random random = { seed * 1000003 + (uint64_t)truth->form[0] * 31 + truth->parameters };
    ck_assert_int_eq(pp_samples_add_series(samples, truth->class_name, &series, &err), PP_OK);
    series->link = truth->link;
    series->ranks = 8;
    series->nodes = 1;
    for (int i = 0; i < truth->sizes; i++) {
        pp_sample sample = pp_sample_of(1);
        const double exact = truth->seconds(truth->parameter, i, &random, sample.at);
        for (int pass = 0; pass < truth->passes; pass++) {
            sample.pass = (uint32_t)pass;
            sample.seconds = exact * fit_noise(&random);
            ck_assert_int_eq(pp_series_add(series, &sample, &err), PP_OK);
        }
    }
}

#endif
