/* Reads and writes "series", the measured points of a profile and of a samples file
 * (docs/reference/formats.md, ppsim.samples). Unknown facts are left out. */
#include "calib/samples/samples_json.h"

#include <math.h>

/* Reads a positive time; if it is absent, *value_out is unchanged. */
static pp_status read_seconds(const pp_json_at *object, const char *key, double *value_out,
                              pp_err *err)
{
    pp_json_at at;
    double value = 0;
    if (!pp_json_has(object, key))
        return PP_OK;
    pp_status status = pp_json_get(object, key, &at, err);
    if (status || (status = pp_json_read_double(&at, 0, 1e9, &value, err)))
        return status;
    if (!(value > 0))
        return pp_json_fail(&at, err, "a time must be positive, not %g", value);
    *value_out = value;
    return PP_OK;
}

/* Reads an integer from 0 to `high`; if it is absent, the value is 0. */
static pp_status read_count(const pp_json_at *object, const char *key, int64_t high,
                            int64_t *value_out, pp_err *err)
{
    *value_out = 0;
    return pp_json_has(object, key) ? pp_json_get_int(object, key, 0, high, value_out, err) : PP_OK;
}

pp_status pp_sample_read(const pp_json_at *at, pp_sample *sample_out, pp_err *err)
{
    const char *keys[PP_VARIABLE_COUNT + 8] = { "seconds", "p10_s", "p90_s", "repeats",
                                                "pass",    "cold",  "kernel" };
    for (int i = 0; i < PP_VARIABLE_COUNT; i++)
        keys[7 + i] = pp_variable_key((pp_variable)i);
    pp_sample sample = pp_sample_of(NAN);
    int64_t repeats = 0, pass = 0;
    pp_json_at seconds;
    pp_status status;
    if ((status = pp_json_only(at, keys, err)) ||
        (status = pp_json_get(at, "seconds", &seconds, err)) ||
        (status = read_seconds(at, "seconds", &sample.seconds, err)) ||
        (status = read_seconds(at, "p10_s", &sample.p10_s, err)) ||
        (status = read_seconds(at, "p90_s", &sample.p90_s, err)) ||
        (status = read_count(at, "repeats", UINT32_MAX, &repeats, err)) ||
        (status = read_count(at, "pass", UINT32_MAX, &pass, err)))
        return status;
    if (isnan(sample.seconds))
        return pp_json_fail(&seconds, err, "a time must be positive, not null");
    if (pp_json_has(at, "cold") && (status = pp_json_get_bool(at, "cold", &sample.cold, err)))
        return status;
    if (pp_json_has(at, "kernel") &&
        (status = pp_json_get_name(at, "kernel", sample.kernel, sizeof sample.kernel, err)))
        return status;
    for (int i = 0; i < PP_VARIABLE_COUNT; i++) {
        if (pp_json_has(at, pp_variable_key((pp_variable)i)) &&
            (status = pp_json_get_double(at, pp_variable_key((pp_variable)i), 0, 1e30,
                                         &sample.at[i], err)))
            return status;
    }
    sample.repeats = (uint32_t)repeats;
    sample.pass = (uint32_t)pass;
    *sample_out = sample;
    return PP_OK;
}

static pp_status read_facts(const pp_json_at *at, pp_series *series, pp_err *err)
{
    const struct {
        const char *key;
        int32_t *value;
    } facts[] = { { "ranks", &series->ranks },
                  { "nodes", &series->nodes },
                  { "channels_max", &series->channels_max },
                  { "channels_peer", &series->channels_peer } };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        int64_t value = 0;
        const pp_status status = read_count(at, facts[i].key, INT32_MAX, &value, err);
        if (status)
            return status;
        *facts[i].value = (int32_t)value;
    }
    pp_status status = pp_json_get_bool(at, "link", &series->link, err);
    if (status || (status = pp_json_get_optional_name(at, "library", series->library,
                                                      sizeof series->library, err)))
        return status;
    return pp_json_get_optional_name(at, "source", series->source, sizeof series->source, err);
}

static pp_status read_series(const pp_json_at *at, pp_samples *samples, pp_err *err)
{
    static const char *const keys[] = {
        "class",        "link",          "ranks",  "nodes",   "library",
        "channels_max", "channels_peer", "source", "samples", NULL
    };
    char name[sizeof samples->series->class_name] = "";
    pp_series *series = NULL;
    pp_json_at list;
    size_t count = 0;
    pp_status status;
    if ((status = pp_json_only(at, keys, err)) ||
        (status = pp_json_get_name(at, "class", name, sizeof name, err)))
        return status;
    if (!name[0])
        return pp_json_fail(at, err,
                            "has an empty class; name what was measured, such as send_recv");
    if ((status = pp_samples_add_series(samples, name, &series, err)) ||
        (status = read_facts(at, series, err)) ||
        (status = pp_json_get(at, "samples", &list, err)) ||
        (status = pp_json_count(&list, &count, err)))
        return status;
    for (size_t i = 0; i < count; i++) {
        pp_json_at item;
        pp_sample sample;
        if ((status = pp_json_item(&list, i, &item, err)) ||
            (status = pp_sample_read(&item, &sample, err)) ||
            (status = pp_series_add(series, &sample, err)))
            return status;
    }
    return PP_OK;
}

pp_status pp_samples_read(const pp_json_at *list, pp_samples *samples_out, pp_err *err)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    size_t count = 0;
    pp_status status = pp_json_count(list, &count, err);
    for (size_t i = 0; i < count && !status; i++) {
        pp_json_at item;
        if (!(status = pp_json_item(list, i, &item, err)))
            status = read_series(&item, &samples, err);
    }
    if (status)
        return status;
    *samples_out = samples;
    samples = (pp_samples){ 0 };
    return PP_OK;
}

static void put_known(pp_json_build *build, pp_json *object, const char *key, double value)
{
    if (!isnan(value))
        pp_json_put_double(build, object, key, value);
}

static void put_positive(pp_json_build *build, pp_json *object, const char *key, int64_t value)
{
    if (value > 0)
        pp_json_put_int(build, object, key, value);
}

pp_json *pp_sample_write(const pp_sample *sample, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    for (int i = 0; i < PP_VARIABLE_COUNT; i++)
        put_known(build, object, pp_variable_key((pp_variable)i), sample->at[i]);
    pp_json_put_double(build, object, "seconds", sample->seconds);
    put_known(build, object, "p10_s", sample->p10_s);
    put_known(build, object, "p90_s", sample->p90_s);
    put_positive(build, object, "repeats", sample->repeats);
    put_positive(build, object, "pass", sample->pass);
    if (sample->cold)
        pp_json_put_bool(build, object, "cold", true);
    if (sample->kernel[0])
        pp_json_put_text(build, object, "kernel", sample->kernel);
    return object;
}

pp_json *pp_samples_write(const pp_samples *samples, pp_json_build *build)
{
    pp_json *list = pp_json_new_array(build);
    for (size_t i = 0; i < samples->count; i++) {
        const pp_series *series = &samples->series[i];
        pp_json *object = pp_json_new_object(build), *points = pp_json_new_array(build);
        for (size_t k = 0; k < series->count; k++)
            pp_json_add(build, points, pp_sample_write(&series->sample[k], build));
        pp_json_put_text(build, object, "class", series->class_name);
        pp_json_put_bool(build, object, "link", series->link);
        put_positive(build, object, "ranks", series->ranks);
        put_positive(build, object, "nodes", series->nodes);
        put_positive(build, object, "channels_max", series->channels_max);
        put_positive(build, object, "channels_peer", series->channels_peer);
        if (series->library[0])
            pp_json_put_text(build, object, "library", series->library);
        if (series->source[0])
            pp_json_put_text(build, object, "source", series->source);
        pp_json_put(build, object, "samples", points);
        pp_json_add(build, list, object);
    }
    return list;
}
