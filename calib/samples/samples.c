/* Lists of measured points, grouped into series by what was measured, and the reasons for which
 * something was left out. */
#include "calib/samples/samples.h"

#include "sim/base/alloc.h"
#include "sim/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variable_keys[] = {
#define PP_VARIABLE_KEY(id, key, unit) #key,
    PP_VARIABLE_MAP(PP_VARIABLE_KEY)
#undef PP_VARIABLE_KEY
};

const char *pp_variable_key(pp_variable variable)
{
    return variable_keys[variable];
}

bool pp_variables_equal(const double a[PP_VARIABLE_COUNT], const double b[PP_VARIABLE_COUNT])
{
    int v = 0;
    while (v < PP_VARIABLE_COUNT && (a[v] == b[v] || (isnan(a[v]) && isnan(b[v]))))
        v++;
    return v == PP_VARIABLE_COUNT;
}

pp_sample pp_sample_of(double seconds)
{
    pp_sample sample = { .seconds = seconds, .p10_s = NAN, .p90_s = NAN };
    for (int i = 0; i < PP_VARIABLE_COUNT; i++)
        sample.at[i] = NAN;
    return sample;
}

pp_status pp_samples_add_series(pp_samples *samples, const char *class_name, pp_series **series_out,
                                pp_err *err)
{
    if (strlen(class_name) >= sizeof samples->series->class_name)
        return pp_err_set(err, PP_INPUT, class_name, "a class has at most %zu characters",
                          sizeof samples->series->class_name - 1);
    const pp_status status = pp_grow((void **)&samples->series, &samples->capacity,
                                     samples->count + 1, sizeof *samples->series, err);
    if (status)
        return status;
    pp_series *series = &samples->series[samples->count++];
    *series = (pp_series){ 0 };
    snprintf(series->class_name, sizeof series->class_name, "%s", class_name);
    *series_out = series;
    return PP_OK;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double nearest_rank(const double *sorted, size_t count, double part)
{
    size_t rank = (size_t)ceil(part * (double)count);
    return sorted[rank ? rank - 1 : 0];
}

pp_series *pp_samples_find(const pp_samples *samples, const char *class_name)
{
    for (size_t i = 0; i < samples->count; i++) {
        if (strcmp(samples->series[i].class_name, class_name) == 0)
            return &samples->series[i];
    }
    return NULL;
}

pp_sample pp_sample_of_repeats(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    pp_sample sample = pp_sample_of((values[(count - 1) / 2] + values[count / 2]) / 2);
    sample.repeats = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    if (count > 1) {
        sample.p10_s = nearest_rank(values, count, 0.1);
        sample.p90_s = nearest_rank(values, count, 0.9);
    }
    return sample;
}

pp_status pp_series_add(pp_series *series, const pp_sample *sample, pp_err *err)
{
    const pp_status status = pp_reserve((void **)&series->sample, &series->capacity,
                                        series->count + 1, sizeof *series->sample, err);
    if (!status)
        series->sample[series->count++] = *sample;
    return status;
}

static bool has_line(const char *text, const char *line)
{
    const char *at = text;
    while (at && (at = strstr(at, line)) && at > text && at[-1] != '\n')
        at++;
    return at;
}

pp_status pp_samples_skip(pp_samples *samples, const char *what, const char *why, pp_err *err)
{
    pp_text line PP_CLEANUP(pp_text_free) = { 0 };
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_text_add(&line, "%s: %s\n", what, why);
    pp_status status = pp_text_check(&line, err);
    if (status)
        return status;
    for (size_t i = 0; i + 1 < line.bytes; i++) {
        if (line.data[i] == '\n') /* messages of libraries may have several lines */
            line.data[i] = ' ';
    }
    if (has_line(samples->skipped, line.data))
        return PP_OK;
    pp_text_add(&text, "%s%s", samples->skipped ? samples->skipped : "", line.data);
    status = pp_text_check(&text, err);
    if (status)
        return status;
    free(samples->skipped);
    samples->skipped = text.data;
    text = (pp_text){ 0 }; /* owned by the samples now */
    return PP_OK;
}

void pp_samples_unskip(pp_samples *samples, const char *what)
{
    const size_t length = strlen(what);
    for (char *at = samples->skipped; at && *at;) {
        char *next = at + strcspn(at, "\n");
        next += *next == '\n';
        if (strncmp(at, what, length) == 0 && strncmp(at + length, ": ", 2) == 0)
            memmove(at, next, strlen(next) + 1);
        else
            at = next;
    }
    if (samples->skipped && !samples->skipped[0]) {
        free(samples->skipped);
        samples->skipped = NULL;
    }
}

void pp_samples_free(pp_samples *samples)
{
    for (size_t i = 0; i < samples->count; i++)
        free(samples->series[i].sample);
    free(samples->series);
    free(samples->skipped);
    *samples = (pp_samples){ 0 };
}
