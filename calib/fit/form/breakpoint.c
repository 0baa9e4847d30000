/* Candidates for the place where a curve bends. All places between the same two neighbouring sizes
 * fit the samples equally well, so trying one place per gap is an exact search. If there are more
 * gaps than the caller wants to try, evenly spread ones are tried. O(count * values) per place. */
#include "calib/fit/form/breakpoint.h"

#include <math.h>

/* Returns the next larger value among the points, or infinity if there is none. */
static double next_value(const pp_fit_points *points, double (*of)(const pp_fit_point *point),
                         double after)
{
    double next = INFINITY;
    for (size_t i = 0; i < points->count; i++) {
        const double value = of(&points->point[i]);
        if (value > after && value < next)
            next = value;
    }
    return next;
}

double pp_form_breakpoint(const pp_fit_points *points, double (*of)(const pp_fit_point *point),
                          size_t least, size_t most, size_t index, bool *more_out)
{
    size_t values = 0;
    for (double v = next_value(points, of, -INFINITY); v < INFINITY; v = next_value(points, of, v))
        values++;
    const size_t places = values + 1 > 2 * least ? values + 1 - 2 * least : 0;
    const size_t tried = places < most ? places : most;
    *more_out = index + 1 < tried;
    if (index >= tried)
        return NAN;
    const size_t skipped = tried > 1 ? index * (places - 1) / (tried - 1) : 0;
    double below = -INFINITY;
    for (size_t i = 0; i < least + skipped; i++)
        below = next_value(points, of, below);
    return below + (next_value(points, of, below) - below) / 2;
}
