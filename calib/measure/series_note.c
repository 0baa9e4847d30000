/* Judges timings: how precise the median of a point is, and whether whole passes differ from each
 * other by more than that, as they do when a processor grows hot or other processes start. The
 * effect of a pass is the median over points of the logarithm of its time over the point's mean. */
#include "calib/measure/series_note.h"

#include "calib/samples/order_statistics.h"
#include "sim/base/alloc.h"

#include <math.h>
#include <stdlib.h>

const char *pp_stopwatch_name(pp_stopwatch stopwatch)
{
    static const char *const names[] = { "thread", "wall", "device" };
    return names[stopwatch];
}

/* Returns half the 95 % interval of the median, relative, as if times were normally distributed: it
 * is 1.96 sqrt(pi / 2) standard errors of the mean, and p10 and p90 are 2.563 standard deviations
 * apart. */
static double interval_of(const pp_sample *sample)
{
    return 0.958 * (sample->p90_s - sample->p10_s) / sqrt((double)sample->repeats) /
           sample->seconds;
}

/* Writes the logarithm of the time of each pass at the point of `sample` to logs[pass]. Returns
 * false if a pass is missing. */
static bool logs_of(const pp_series *series, const pp_sample *sample, uint32_t passes, double *logs)
{
    for (uint32_t k = 0; k < passes; k++)
        logs[k] = NAN;
    for (size_t i = 0; i < series->count; i++) {
        const pp_sample *other = &series->sample[i];
        if (sample->cold == other->cold && pp_variables_equal(sample->at, other->at))
            logs[other->pass] = log(other->seconds);
    }
    for (uint32_t k = 0; k < passes; k++) {
        if (isnan(logs[k]))
            return false;
    }
    return true;
}

/* Writes to effect[pass] how much slower than average the pass was, as a logarithm; 0 if no point
 * was measured in all passes. */
static void effects_of(const pp_series *series, uint32_t passes, double *logs, double *of_pass,
                       double *effect)
{
    size_t points = 0;
    for (size_t i = 0; i < series->count; i++) {
        double mean = 0;
        if (series->sample[i].pass != 0 || !logs_of(series, &series->sample[i], passes, logs))
            continue;
        for (uint32_t k = 0; k < passes; k++)
            mean += logs[k] / passes;
        for (uint32_t k = 0; k < passes; k++)
            of_pass[k * series->count + points] = logs[k] - mean;
        points++;
    }
    for (uint32_t k = 0; k < passes; k++)
        effect[k] = points ? pp_median(&of_pass[k * series->count], points) : 0;
}

static void judge_effects(const double *effect, uint32_t passes, double half, pp_series_note *note)
{
    double least = effect[0];
    double most = effect[0];
    bool rises = true;
    for (uint32_t k = 1; k < passes; k++) {
        least = fmin(least, effect[k]);
        most = fmax(most, effect[k]);
        rises = rises && effect[k] >= effect[k - 1] - half;
    }
    note->drift = expm1(most - least);
    note->drifts = note->drift > 2 * half;
    note->throttled = rises && expm1(effect[passes - 1] - effect[0]) > 2 * half;
}

pp_status pp_series_judge(const pp_series *series, double precision, pp_series_note *note,
                          pp_err *err)
{
    uint32_t passes = 0;
    size_t known = 0;
    for (size_t i = 0; i < series->count; i++)
        passes = series->sample[i].pass >= passes ? series->sample[i].pass + 1 : passes;
    double *logs = pp_alloc_array(passes, 2 * sizeof *logs); /* the second half are effects */
    double *of_pass = pp_alloc_array((size_t)passes * series->count, sizeof *of_pass);
    if (!logs || !of_pass) {
        free(logs);
        free(of_pass);
        return pp_err_nomem(err);
    }
    for (size_t i = 0; i < series->count; i++) {
        double interval = interval_of(&series->sample[i]);
        if (isfinite(interval))
            of_pass[known++] = interval;
    }
    note->interval = known ? pp_median(of_pass, known) : 0;
    if (passes) {
        effects_of(series, passes, logs, of_pass, logs + passes);
        judge_effects(logs + passes, passes, fmax(note->interval, precision), note);
    }
    free(logs);
    free(of_pass);
    return PP_OK;
}
