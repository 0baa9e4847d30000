/* Units and label distances of axes. */
#ifndef PPSIM_TRACES_PLOT_DRAW_UNITS_H
#define PPSIM_TRACES_PLOT_DRAW_UNITS_H

#include "sim/base/text.h"
#include "sim/base/units.h"

/* The unit of an axis: a value of 1 is printed as 1 / divisor. */
typedef struct pp_plot_unit {
    const char *name; /* "ms", "GiB" */
    int64_t divisor;
    int digits; /* after the point: enough for single nanoseconds, but bytes are rounded */
} pp_plot_unit;

/* Return the unit in which the largest value has 1 to 4 digits before the point. */
pp_plot_unit pp_plot_time_unit(pp_ns largest_ns);
pp_plot_unit pp_plot_bytes_unit(int64_t largest);
/* Adds `value` in `unit`: 1500000 ns in ms is "1.5". */
void pp_plot_number(pp_text *text, int64_t value, pp_plot_unit unit);

/* Returns the distance of the labels of an axis from 0 to `most`: the smallest 1, 2 or 5 times a
 * power of ten that gives at most `count` labels. */
double pp_plot_step(double most, double count);
/* Sets the range of a logarithmic axis ('x' or 'y'), and labels at powers of ten or, if there are
 * few of these, at 1, 2 and 5 times them: at most `count`. */
void pp_plot_log_axis(char axis, double low, double high, double count, pp_text *script);

#endif
