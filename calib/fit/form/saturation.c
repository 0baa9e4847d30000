/* Matrix products whose rate saturates with the number of rows: the rate is P m / (m + m0), so that
 * the time is 2mnk / P + 2nk m0 / P, which is linear in 1 / P and m0 / P. */
#include "calib/fit/form/form.h"

static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    (void)fixed, (void)fixed_count, (void)theta;
    const double *at = point->at;
    row_out[1] = 2 * at[PP_VARIABLE_COLUMNS] * at[PP_VARIABLE_DEPTH];
    row_out[0] = row_out[1] * at[PP_VARIABLE_ROWS];
}

static void report(const double *theta, double *z_out)
{
    z_out[0] = theta[0];
    z_out[1] = theta[1] / theta[0];
}

static void recall(const double *z, double *theta_out)
{
    theta_out[0] = z[0];
    theta_out[1] = z[1] * z[0];
}

const pp_form pp_form_saturation = {
    .name = "saturation",
    .summary = "a matrix product whose rate grows with its m rows: 2mnk / (P m / (m + m0))",
    .needs = PP_FORM_NEEDS(ROWS) | PP_FORM_NEEDS(COLUMNS) | PP_FORM_NEEDS(DEPTH),
    .terms = 2,
    .parameter = { { "flops_per_s", "flop/s", -1 }, { "m0", "rows", 1 } },
    .row = row,
    .report = report,
    .recall = recall,
};
