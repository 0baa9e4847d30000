#include "calib/samples.h"

#include "sim/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pp_variable_key(pp_variable variable)
{
    static const char *const keys[PP_VARIABLE_COUNT] = {
#define PP_VARIABLE_KEY(id, key, unit) #key,
        PP_VARIABLE_MAP(PP_VARIABLE_KEY)
#undef PP_VARIABLE_KEY
    };
    return keys[variable];
}

pp_status pp_samples_add_series(pp_samples *samples, const char *class_name, pp_series **series_out,
                                pp_err *err)
{
    void *list = samples->series;
    pp_status status =
        pp_grow(&list, &samples->capacity, samples->count + 1, sizeof *samples->series, err);
    if (status)
        return status;
    samples->series = list;
    pp_series *series = &samples->series[samples->count++];
    *series = (pp_series){ 0 };
    snprintf(series->class_name, sizeof series->class_name, "%s", class_name);
    *series_out = series;
    return PP_OK;
}

pp_sample pp_sample_of(double seconds)
{
    pp_sample sample = { .seconds = seconds, .p10_s = NAN, .p90_s = NAN };
    for (int v = 0; v < PP_VARIABLE_COUNT; v++)
        sample.at[v] = NAN;
    return sample;
}

pp_status pp_series_add(pp_series *series, const pp_sample *sample, pp_err *err)
{
    void *list = series->sample;
    pp_status status =
        pp_grow(&list, &series->capacity, series->count + 1, sizeof *series->sample, err);
    if (status)
        return status;
    series->sample = list;
    series->sample[series->count++] = *sample;
    return PP_OK;
}

void pp_samples_free(pp_samples *samples)
{
    for (size_t i = 0; i < samples->count; i++)
        free(samples->series[i].sample);
    free(samples->series);
    free(samples->skipped);
    *samples = (pp_samples){ 0 };
}

pp_status pp_samples_read(const pp_json_at *list, pp_samples *samples_out, pp_err *err)
{
    (void)samples_out;
    return pp_json_fail(list, err, "samples cannot be read by this build");
}

pp_json *pp_samples_write(const pp_samples *samples, pp_json_build *build)
{
    (void)samples;
    return pp_json_new_array(build);
}
