/* The slow-downs that the probe `interference` measured: for every point that was timed alone and
 * under load, the ratio of both times; the factor is the median over points and passes. */
#include "calib/profile/interference.h"

#include "calib/samples/order_statistics.h"
#include "sim/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool pp_interference_class(const char *class_name)
{
    static const char *const classes[] = { "compute_alone", "compute_beside_copy",
                                           "compute_beside_link", "link_alone",
                                           "link_beside_compute" };
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strcmp(classes[i], class_name) == 0)
            return true;
    }
    return false;
}

static const pp_sample *counterpart(const pp_series *series, const pp_sample *sample)
{
    for (size_t i = 0; i < series->count; i++) {
        const pp_sample *other = &series->sample[i];
        if (other->pass == sample->pass && pp_variables_equal(other->at, sample->at))
            return other;
    }
    return NULL;
}

/* Finds the median ratio of two classes, at least 1; NaN if no point was measured in both. */
static pp_status ratio(const pp_samples *samples, const char *beside, const char *alone,
                       double *ratio_out, pp_err *err)
{
    const pp_series *b = pp_samples_find(samples, beside);
    const pp_series *a = pp_samples_find(samples, alone);
    size_t count = 0;
    *ratio_out = NAN;
    if (!a || !b)
        return PP_OK;
    double *ratios = pp_alloc_array(b->count, sizeof *ratios);
    if (!ratios)
        return pp_err_nomem(err);
    for (size_t i = 0; i < b->count; i++) {
        const pp_sample *other = counterpart(a, &b->sample[i]);
        if (other)
            ratios[count++] = b->sample[i].seconds / other->seconds;
    }
    if (count)
        *ratio_out = fmax(1, pp_median(ratios, count));
    free(ratios);
    return PP_OK;
}

pp_status pp_interference_of(const pp_samples *samples, pp_interference *interference_out,
                             pp_err *err)
{
    pp_interference found;
    pp_status status;
    if ((status = ratio(samples, "compute_beside_link", "compute_alone", &found.compute, err)) ||
        (status = ratio(samples, "compute_beside_copy", "compute_alone", &found.compute_beside_copy,
                        err)) ||
        (status = ratio(samples, "link_beside_compute", "link_alone", &found.comm, err)))
        return status;
    *interference_out = found;
    return PP_OK;
}

static bool set(double measured, double *factor)
{
    if (*factor > 0 || !(measured > 1)) /* NaN too */
        return false;
    *factor = fmin(measured, PP_SLOWDOWN_MAX);
    return true;
}

bool pp_interference_share(const pp_interference *interference, pp_sharing *sharing)
{
    const bool compute = set(interference->compute, &sharing->compute_slowdown);
    const bool comm = set(interference->comm, &sharing->comm_slowdown);
    return compute || comm;
}
