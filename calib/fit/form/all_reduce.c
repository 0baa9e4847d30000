/* Ring collectives: alpha + share * bytes / B * (1 + sqrt(b0 / bytes)), where share is the part of
 * the bytes that each rank sends. The root lets bandwidth saturate slowly. It is the curve of
 * pp_collective_seconds (sim/cost/kernel.h) inside a node. */
#include "calib/fit/form/form.h"

#include <math.h>

static const char *unsuited(const pp_fit_points *points)
{
    if (!points->link || !points->collective)
        return "is for all_reduce, all_gather and reduce_scatter links";
    for (size_t i = 0; i < points->count; i++) {
        if (!(points->point[i].share > 0))
            return "needs the number of ranks, at least 2";
    }
    return NULL;
}

static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    (void)fixed, (void)fixed_count, (void)theta;
    row_out[0] = 1;
    row_out[1] = point->share * point->at[PP_VARIABLE_BYTES];
    row_out[2] = point->share * sqrt(point->at[PP_VARIABLE_BYTES]);
}

static void report(const double *theta, double *z_out)
{
    z_out[0] = theta[0];
    z_out[1] = theta[1];
    z_out[2] = theta[2] / theta[1];
}

static void recall(const double *z, double *theta_out)
{
    theta_out[0] = z[0];
    theta_out[1] = z[1];
    theta_out[2] = z[2] * z[1];
}

const pp_form pp_form_all_reduce = {
    .name = "all_reduce",
    .summary = "a ring collective: alpha + share bytes / B (1 + sqrt(b0 / bytes)); share 2(n - "
               "1)/n, or half of it",
    .needs = PP_FORM_NEEDS(BYTES),
    .terms = 3,
    .parameter = { { "alpha_s", "s", 1 }, { "bytes_per_s", "B/s", -1 }, { "b0_bytes", "B", 2 } },
    .unsuited = unsuited,
    .row = row,
    .report = report,
    .recall = recall,
};
