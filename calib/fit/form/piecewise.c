/* Straight lines between knots at measured sizes, never falling: the form for anything that no
 * other form describes. The coefficients are the times at the knots. */
#include "calib/fit/form/form.h"

#include <math.h>
#include <string.h>

/* Places at most a third as many knots as there are points: at every measured size if there are few
 * enough, otherwise evenly spread over the sizes, including both ends. */
static size_t structure(const pp_fit_points *points, size_t index, double *fixed, bool *more_out)
{
    (void)index;
    *more_out = false;
    size_t sizes = 0;
    for (size_t i = 0; i < points->count; i++)
        sizes += i == 0 || points->point[i].size > points->point[i - 1].size;
    size_t knots = (points->count - 1) / 3;
    knots = knots < PP_FORM_KNOTS_MAX ? knots : PP_FORM_KNOTS_MAX;
    knots = knots < sizes ? knots : sizes;
    if (knots < 2)
        return 0;
    size_t seen = 0, placed = 0;
    for (size_t i = 0; i < points->count; i++) {
        if (i > 0 && !(points->point[i].size > points->point[i - 1].size))
            continue;
        if (placed < knots && seen == placed * (sizes - 1) / (knots - 1))
            fixed[placed++] = points->point[i].size;
        seen++;
    }
    return placed;
}

/* Beyond the ends the outer segments are extended, but not below a tenth of the first knot. */
static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    memset(row_out, 0, fixed_count * sizeof *row_out);
    size_t k = 1;
    while (k + 1 < fixed_count && point->size > fixed[k])
        k++;
    const double share = (point->size - fixed[k - 1]) / (fixed[k] - fixed[k - 1]);
    row_out[k - 1] = 1 - share;
    row_out[k] = share;
    if (theta && share < 0 &&
        !(row_out[k - 1] * theta[k - 1] + share * theta[k] > theta[k - 1] / 10)) {
        row_out[k - 1] = 0.1;
        row_out[k] = 0;
    }
}

const pp_form pp_form_piecewise = {
    .name = "piecewise",
    .summary = "any other measurement: straight lines between knots, never falling",
    .parameter = { { "knot_s", "s", 1 } },
    .structure = structure,
    .row = row,
};
