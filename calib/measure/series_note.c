/* Judges timings: how far the median of a point can be trusted, and whether whole passes differ
 * from each other by more than that, as they do when a processor grows hot or a machine fills up.
 */
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

static bool same_point(const pp_sample *a, const pp_sample *b)
{
    for (int v = 0; v < PP_VARIABLE_COUNT; v++) {
        if (a->at[v] != b->at[v] && !(isnan(a->at[v]) && isnan(b->at[v])))
            return false;
    }
    return a->cold == b->cold;
}

/* Half the 95 % interval of a median of normally distributed times, relative: 1.96 sqrt(pi / 2)
 * standard deviations of the mean, and 2.563 of them from p10 to p90. */
static double interval_of(const pp_sample *sample)
{
    return 0.958 * (sample->p90_s - sample->p10_s) / sqrt((double)sample->repeats) /
           sample->seconds;
}

/* Of each pass at the point of `sample`, into logs[pass]; false: a pass is missing. */
static bool logs_of(const pp_series *series, const pp_sample *sample, uint32_t passes, double *logs)
{
    for (uint32_t k = 0; k < passes; k++)
        logs[k] = NAN;
    for (size_t i = 0; i < series->count; i++) {
        const pp_sample *other = &series->sample[i];
        if (same_point(sample, other))
            logs[other->pass] = log(other->seconds);
    }
    for (uint32_t k = 0; k < passes; k++) {
        if (isnan(logs[k]))
            return false;
    }
    return true;
}

/* effect[pass]: how much slower than their points' average the pass was; all 0 when unknown. */
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
    double *logs = pp_alloc_array(passes, 2 * sizeof *logs); /* and effects behind them */
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
