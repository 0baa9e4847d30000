/* The simplest form of a kernel: a fixed time and a time per unit of size. */
#include "calib/fit/form/form.h"

static const char *unsuited(const pp_fit_points *points)
{
    return points->link ? "is for kernels; of links it is alpha_beta" : NULL;
}

static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    (void)fixed, (void)fixed_count, (void)theta;
    row_out[0] = 1;
    row_out[1] = point->size;
}

const pp_form pp_form_affine = {
    .name = "affine",
    .summary = "a kernel's fixed time and a time per unit of size: a + b size",
    .terms = 2,
    .parameter = { { "a_s", "s", 1 }, { "b_s", "s per size", 1 } },
    .unsuited = unsuited,
    .row = row,
};
