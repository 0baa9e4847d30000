/* Chooses units in which the largest value has few digits, and round distances of labels. */
#include "traces/plot/draw/units.h"

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
    double step = 1e-3;
    for (int i = 0; most / step > count; i++)
        step *= i % 3 == 1 ? 2.5 : 2;
    return step;
}
