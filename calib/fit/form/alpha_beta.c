/* The latency-bandwidth model of a message (Hockney 1994): alpha + bytes / B. */
#include "calib/fit/form/form.h"

static const char *unsuited(const pp_fit_points *points)
{
    return points->link ? NULL : "is for links";
}

static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    (void)fixed, (void)fixed_count, (void)theta;
    row_out[0] = 1;
    row_out[1] = point->at[PP_VARIABLE_BYTES];
}

const pp_form pp_form_alpha_beta = {
    .name = "alpha_beta",
    .summary = "a message with latency and bandwidth: alpha + bytes / B",
    .needs = PP_FORM_NEEDS(BYTES),
    .terms = 2,
    .parameter = { { "alpha_s", "s", 1 }, { "bytes_per_s", "B/s", -1 } },
    .unsuited = unsuited,
    .row = row,
};
