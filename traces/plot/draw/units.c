/* Chooses units in which the largest value has few digits, and round distances of labels. */
#include "traces/plot/draw/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

pp_plot_unit pp_plot_time_unit(pp_ns largest_ns)
{
    static const pp_plot_unit units[] = {
        { "s", 1000000000, 9 }, { "ms", 1000000, 6 }, { "us", 1000, 3 }, { "ns", 1, 0 }
    };
    size_t i = 0;
    while (i < 3 && largest_ns < 2 * units[i].divisor)
        i++;
    return units[i];
}

pp_plot_unit pp_plot_bytes_unit(int64_t largest)
{
    static const pp_plot_unit units[] = {
        { "GiB", 1 << 30, 4 }, { "MiB", 1 << 20, 4 }, { "KiB", 1 << 10, 4 }, { "B", 1, 0 }
    };
    size_t i = 0;
    while (i < 3 && largest < 2 * units[i].divisor)
        i++;
    return units[i];
}

void pp_plot_number(pp_text *text, int64_t value, pp_plot_unit unit)
{
    char buffer[64];
    int length =
        snprintf(buffer, sizeof buffer, "%.*f", unit.digits, (double)value / (double)unit.divisor);
    while (unit.digits && buffer[length - 1] == '0')
        length--;
    if (buffer[length - 1] == '.')
        length--;
    pp_text_add_bytes(text, buffer, (size_t)length);
}

double pp_plot_step(double most, double count)
{
    double step = 1e-6;
    for (int i = 0; most / step > count; i++)
        step *= i % 3 == 1 ? 2.5 : 2;
    return step;
}

/* Returns a mark between the decades: 1, 2 or 5 times a power of ten, or, if dense is false, that
 * power. number counts the marks from 1 on. */
static double log_mark(int number, bool dense)
{
    static const double parts[] = { 1, 2, 5 };
    int decade = dense ? (number >= 0 ? number / 3 : -((2 - number) / 3)) : number;
    return pow(10, decade) * (dense ? parts[number - 3 * decade] : 1);
}

void pp_plot_log_axis(char axis, double low, double high, double count, pp_text *script)
{
    const double from = low / 1.25;
    const double to = high * 1.25;
    bool dense = log10(to / from) * 3 <= count;
    int per_decade = dense ? 3 : 1;
    int first = (int)floor(log10(from)) * per_decade;
    int last = (int)ceil(log10(to)) * per_decade;
    int step = 1;
    bool any = false;
    while ((last - first) / per_decade > count * step)
        step++;
    pp_text_add(script, "set %crange [%.6g:%.6g]\nset %ctics (", axis, from, to, axis);
    for (int i = first; i <= last; i += step) {
        double mark = log_mark(i, dense);
        if (mark < from || mark > to)
            continue;
        pp_text_add(script, "%s%.6g", any ? ", " : "", mark);
        any = true;
    }
    if (!any)
        pp_text_add(script, "%.2g", low);
    pp_text_add(script, ")\n");
}
