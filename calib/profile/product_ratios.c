/* Ratios of the times of the same matrix product under two conditions: the median over products and
 * passes, for each number of SMs or channels that was taken from it. */
#include "calib/profile/product_ratios.h"

#include "calib/samples/order_statistics.h"

#include <math.h>
#include <string.h>

enum { VALUES_MAX = 64 };

static const struct {
    const char *class_name, *against;
} pairs[] = {
    { "product_fewer_sms", "product_alone" },
    { "product_beside_copy", "product_alone" },
    { "product_beside_self_send", "product_alone" },
    { "product_sustained", "product_burst" },
};

bool pp_product_class(const char *class_name)
{
    static const char prefix[] = "product_";
    return strncmp(class_name, prefix, sizeof prefix - 1) == 0;
}

/* Returns the number of SMs that are taken, or of channels that NCCL may take; 0: not given. */
static double taken(const pp_sample *sample)
{
    const double channels = sample->at[PP_VARIABLE_CHANNELS];
    return isnan(channels) ? 0 : channels;
}

static bool is_same_product(const pp_sample *a, const pp_sample *b)
{
    return a->pass == b->pass && a->at[PP_VARIABLE_ROWS] == b->at[PP_VARIABLE_ROWS] &&
           a->at[PP_VARIABLE_COLUMNS] == b->at[PP_VARIABLE_COLUMNS] &&
           a->at[PP_VARIABLE_DEPTH] == b->at[PP_VARIABLE_DEPTH];
}

/* Returns NaN if no product was measured in both series. */
static double median_ratio(const pp_series *of, const pp_series *against, double wanted)
{
    double values[VALUES_MAX] = { 0 };
    size_t count = 0;
    for (size_t i = 0; i < of->count; i++) {
        for (size_t k = 0; k < against->count && taken(&of->sample[i]) == wanted; k++) {
            if (is_same_product(&of->sample[i], &against->sample[k]) && count < VALUES_MAX)
                values[count++] = of->sample[i].seconds / against->sample[k].seconds;
        }
    }
    return count ? pp_median(values, count) : NAN;
}

/* Returns the smallest number of SMs or channels above `below` that a sample has, or NaN. */
static double next_taken(const pp_series *of, double below)
{
    double next = NAN;
    for (size_t i = 0; i < of->count; i++) {
        if (taken(&of->sample[i]) > below)
            next = fmin(next, taken(&of->sample[i])); /* fmin ignores NaN */
    }
    return next;
}

size_t pp_product_ratios(const pp_samples *samples,
                         pp_product_ratio ratio_out[PP_PRODUCT_RATIOS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const pp_series *of = pp_samples_find(samples, pairs[i].class_name);
        const pp_series *against = pp_samples_find(samples, pairs[i].against);
        if (!of || !against)
            continue;
        for (double t = next_taken(of, -1); !isnan(t) && count < PP_PRODUCT_RATIOS_MAX;
             t = next_taken(of, t)) {
            const double ratio = median_ratio(of, against, t);
            if (!isnan(ratio))
                ratio_out[count++] = (pp_product_ratio){ pairs[i].class_name, t, ratio };
        }
    }
    return count;
}
