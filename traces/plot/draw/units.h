/* Units and steps of axes, and numbers in them. */
#ifndef PPSIM_TRACES_PLOT_DRAW_UNITS_H
#define PPSIM_TRACES_PLOT_DRAW_UNITS_H

#include "sim/base/text.h"
#include "sim/base/units.h"

/* A unit in which the largest value reads well: value / divisor has 1 to 4 digits before the dot.
 */
typedef struct pp_plot_unit {
    const char *name; /* "ms", "GiB" */
    int64_t divisor;
    int digits; /* behind the dot, so that no ns is lost; bytes are rounded */
} pp_plot_unit;

pp_plot_unit pp_plot_time_unit(pp_ns largest_ns);
pp_plot_unit pp_plot_bytes_unit(int64_t largest);
/* Adds `value` in `unit`: 1500000 ns in ms is "1.5". */
void pp_plot_number(pp_text *text, int64_t value, pp_plot_unit unit);

/* The distance of labels from 0 to `most`, so that there are at most `count`: 1, 2 or 5 times a
 * power of ten. */
double pp_plot_step(double most, double count);

#endif
