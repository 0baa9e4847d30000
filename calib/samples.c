#include "calib/samples.h"

#include "sim/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[] = {
#define PP_VARIABLE_KEY(id, key, unit) #key,
    PP_VARIABLE_MAP(PP_VARIABLE_KEY)
#undef PP_VARIABLE_KEY
};

const char *pp_variable_key(pp_variable variable)
{
    return keys[variable];
}

pp_sample pp_sample_of(double seconds)
{
    pp_sample sample = { .seconds = seconds, .p10_s = (double)NAN, .p90_s = (double)NAN };
    for (size_t v = 0; v < PP_VARIABLE_COUNT; v++)
        sample.at[v] = (double)NAN;
    return sample;
}

pp_status pp_samples_add_series(pp_samples *samples, const char *class_name, pp_series **series_out,
                                pp_err *err)
{
    void *all = samples->series;
    pp_status status =
        pp_grow(&all, &samples->capacity, samples->count + 1, sizeof *samples->series, err);
    if (status)
        return status;
    samples->series = all;
    pp_series *series = &samples->series[samples->count++];
    snprintf(series->class_name, sizeof series->class_name, "%s", class_name);
    *series_out = series;
    return PP_OK;
}

pp_status pp_series_add(pp_series *series, const pp_sample *sample, pp_err *err)
{
    void *all = series->sample;
    pp_status status =
        pp_reserve(&all, &series->capacity, series->count + 1, sizeof *series->sample, err);
    if (status)
        return status;
    series->sample = all;
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

static pp_status read_count(const pp_json_at *object, const char *key, int32_t *out, pp_err *err)
{
    int64_t value = 0;
    pp_status status = PP_OK;
    if (pp_json_has(object, key))
        status = pp_json_get_int(object, key, 0, INT32_MAX, &value, err);
    *out = (int32_t)value;
    return status;
}

static pp_status read_real(const pp_json_at *object, const char *key, double *out, pp_err *err)
{
    return pp_json_has(object, key) ? pp_json_get_double(object, key, 0, 1e300, out, err) : PP_OK;
}

static pp_status read_sample(const pp_json_at *at, pp_series *series, pp_err *err)
{
    const char *known[PP_VARIABLE_COUNT + 7] = { "seconds", "p10_s", "p90_s",
                                                 "repeats", "pass",  "cold" };
    memcpy(known + 6, keys, sizeof keys);
    pp_sample sample = pp_sample_of(0);
    int32_t repeats = 0;
    int32_t pass = 0;
    pp_status status = pp_json_only(at, known, err);
    if (status || (status = pp_json_get_double(at, "seconds", 1e-12, 1e9, &sample.seconds, err)) ||
        (status = read_real(at, "p10_s", &sample.p10_s, err)) ||
        (status = read_real(at, "p90_s", &sample.p90_s, err)) ||
        (status = read_count(at, "repeats", &repeats, err)) ||
        (status = read_count(at, "pass", &pass, err)))
        return status;
    for (size_t v = 0; v < PP_VARIABLE_COUNT && !status; v++)
        status = read_real(at, keys[v], &sample.at[v], err);
    if (!status && pp_json_has(at, "cold"))
        status = pp_json_get_bool(at, "cold", &sample.cold, err);
    sample.repeats = (uint32_t)repeats;
    sample.pass = (uint32_t)pass;
    return status ? status : pp_series_add(series, &sample, err);
}

static pp_status read_series(const pp_json_at *at, pp_samples *samples, pp_err *err)
{
    static const char *const known[] = { "class",   "link",         "ranks",
                                         "nodes",   "channels_max", "channels_peer",
                                         "library", "source",       "samples",
                                         NULL };
    char name[sizeof((pp_series *)0)->class_name];
    pp_series *series = NULL;
    pp_json_at list = { 0 };
    pp_json_at item = { 0 };
    size_t count = 0;
    pp_status status = pp_json_only(at, known, err);
    if (status || (status = pp_json_get_name(at, "class", name, sizeof name, err)) ||
        (status = pp_samples_add_series(samples, name, &series, err)) ||
        (status = read_count(at, "ranks", &series->ranks, err)) ||
        (status = read_count(at, "nodes", &series->nodes, err)) ||
        (status = read_count(at, "channels_max", &series->channels_max, err)) ||
        (status = read_count(at, "channels_peer", &series->channels_peer, err)))
        return status;
    if (pp_json_has(at, "link"))
        status = pp_json_get_bool(at, "link", &series->link, err);
    if (!status && pp_json_has(at, "library"))
        status = pp_json_get_name(at, "library", series->library, sizeof series->library, err);
    if (!status && pp_json_has(at, "source"))
        status = pp_json_get_name(at, "source", series->source, sizeof series->source, err);
    if (status || (status = pp_json_get(at, "samples", &list, err)) ||
        (status = pp_json_count(&list, &count, err)))
        return status;
    for (size_t i = 0; i < count && !status; i++) {
        status = pp_json_item(&list, i, &item, err);
        if (!status)
            status = read_sample(&item, series, err);
    }
    return status;
}

pp_status pp_samples_read(const pp_json_at *list, pp_samples *samples_out, pp_err *err)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_json_at item = { 0 };
    size_t count = 0;
    pp_status status = pp_json_count(list, &count, err);
    for (size_t i = 0; i < count && !status; i++) {
        status = pp_json_item(list, i, &item, err);
        if (!status)
            status = read_series(&item, &samples, err);
    }
    if (status)
        return status;
    *samples_out = samples;
    samples = (pp_samples){ 0 };
    return PP_OK;
}

static pp_json *write_sample(const pp_sample *sample, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json_put_double(build, object, "seconds", sample->seconds);
    for (size_t v = 0; v < PP_VARIABLE_COUNT; v++) {
        if (!isnan(sample->at[v]))
            pp_json_put_double(build, object, keys[v], sample->at[v]);
    }
    if (!isnan(sample->p10_s))
        pp_json_put_double(build, object, "p10_s", sample->p10_s);
    if (!isnan(sample->p90_s))
        pp_json_put_double(build, object, "p90_s", sample->p90_s);
    pp_json_put_int(build, object, "repeats", sample->repeats);
    pp_json_put_int(build, object, "pass", sample->pass);
    pp_json_put_bool(build, object, "cold", sample->cold);
    return object;
}

pp_json *pp_samples_write(const pp_samples *samples, pp_json_build *build)
{
    pp_json *list = pp_json_new_array(build);
    for (size_t i = 0; i < samples->count; i++) {
        const pp_series *series = &samples->series[i];
        pp_json *object = pp_json_new_object(build);
        pp_json *points = pp_json_new_array(build);
        pp_json_put_text(build, object, "class", series->class_name);
        pp_json_put_bool(build, object, "link", series->link);
        pp_json_put_int(build, object, "ranks", series->ranks);
        pp_json_put_int(build, object, "nodes", series->nodes);
        pp_json_put_int(build, object, "channels_max", series->channels_max);
        pp_json_put_int(build, object, "channels_peer", series->channels_peer);
        pp_json_put_text(build, object, "library", series->library);
        pp_json_put_text(build, object, "source", series->source);
        for (size_t k = 0; k < series->count; k++)
            pp_json_add(build, points, write_sample(&series->sample[k], build));
        pp_json_put(build, object, "samples", points);
        pp_json_add(build, list, object);
    }
    return list;
}
