/* The larger of a constant, the floor, and a straight line: max(floor, a + b size). The structure
 * is the size at which the floor ends; once there are coefficients, the larger branch applies. */
#include "calib/fit/form/breakpoint.h"

static double size_of(const pp_fit_point *point)
{
    return point->size;
}

/* At least two sizes must lie on the floor and two beyond it. */
static size_t structure(const pp_fit_points *points, size_t index, double *fixed, bool *more_out)
{
    fixed[0] = pp_form_breakpoint(points, size_of, 2, 8, index, more_out);
    return 1;
}

static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    (void)fixed_count;
    const double size = point->size;
    const bool flat = theta ? theta[0] > theta[1] + theta[2] * size : size < fixed[0];
    row_out[0] = flat;
    row_out[1] = !flat;
    row_out[2] = flat ? 0 : size;
}

const pp_form pp_form_floor = {
    .name = "floor",
    .summary = "a constant time for small sizes, then a line: max(floor, a + b size)",
    .terms = 3,
    .parameter = { { "floor_s", "s", 1 }, { "a_s", "s", 1 }, { "b_s", "s per size", 1 } },
    .structure = structure,
    .row = row,
};
