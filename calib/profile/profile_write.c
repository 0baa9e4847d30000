/* Writes profiles (docs/reference/formats.md, ppsim.profile), with the SHA-256 of the rest as the
 * last member. */
#include "calib/profile/profile_write.h"

#include "calib/measure/gpu_state_json.h"
#include "calib/profile/profile_keys.h"
#include "calib/profile/sha256.h"
#include "calib/samples/environment_json.h"
#include "calib/samples/samples_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes a number; infinite and unknown ones become null. */
static void put(pp_json_build *build, pp_json *object, const char *key, double value)
{
    if (isfinite(value))
        pp_json_put_double(build, object, key, value);
    else
        pp_json_put_null(build, object, key);
}

static pp_json *write_list(const double *value, size_t count, pp_json_build *build)
{
    pp_json *list = pp_json_new_array(build);
    for (size_t i = 0; i < count; i++)
        pp_json_add_double(build, list, isfinite(value[i]) ? value[i] : 1e300);
    return list;
}

static pp_json *write_parameter(const pp_fit *fit, size_t k, const char *unit, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    put(build, object, "value", fit->value[k]);
    put(build, object, "se", fit->se[k]);
    put(build, object, "low", fit->low[k]);
    put(build, object, "high", fit->high[k]);
    pp_json_put_text(build, object, "unit", unit);
    return object;
}

/* Writes parameters by name, and knots, which share one name, as a list. */
static pp_json *write_parameters(const pp_fit *fit, pp_json_build *build)
{
    const pp_form_parameter *parameter = fit->form->parameter;
    pp_json *object = pp_json_new_object(build);
    if (fit->form->terms == 0) {
        pp_json *list = pp_json_new_array(build);
        for (size_t k = 0; k < fit->parameters; k++)
            pp_json_add(build, list, write_parameter(fit, k, parameter[0].unit, build));
        pp_json_put(build, object, parameter[0].name, list);
        return object;
    }
    for (size_t k = 0; k < fit->parameters; k++)
        pp_json_put(build, object, parameter[k].name,
                    write_parameter(fit, k, parameter[k].unit, build));
    return object;
}

static pp_json *write_domain(const pp_fit *fit, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    for (unsigned v = 0; v < PP_VARIABLE_COUNT; v++) {
        const double ends[] = { fit->at_low[v], fit->at_high[v] };
        if (isfinite(ends[0]) && isfinite(ends[1]))
            pp_json_put(build, object, pp_variable_key((pp_variable)v), write_list(ends, 2, build));
    }
    if (fit->ranks_high > 0) {
        pp_json *ranks = pp_json_new_array(build);
        pp_json_add_int(build, ranks, fit->ranks_low);
        pp_json_add_int(build, ranks, fit->ranks_high);
        pp_json_put(build, object, "ranks", ranks);
    }
    return object;
}

static pp_json *write_rejected(const pp_fit_choice *choice, pp_json_build *build)
{
    pp_json *list = pp_json_new_array(build);
    for (size_t i = 0; i < choice->rejected_count; i++) {
        const pp_fit_rejected *r = &choice->rejected[i];
        pp_json *object = pp_json_new_object(build);
        pp_json_put_text(build, object, "form", r->form->name);
        put(build, object, "cv_mape", r->cv_mape);
        pp_json_put_text(build, object, "reason", r->reason);
        pp_json_add(build, list, object);
    }
    return list;
}

static void put_fit(const pp_fit_choice *choice, pp_json *object, pp_json_build *build)
{
    const pp_fit *fit = &choice->fit;
    pp_json_put_text(build, object, "form", fit->form->name);
    pp_json_put(build, object, "parameters", write_parameters(fit, build));
    if (fit->fixed_count)
        pp_json_put(build, object, "fixed", write_list(fit->fixed, fit->fixed_count, build));
    pp_json_put(build, object, "covariance",
                write_list(fit->covariance, fit->parameters * fit->parameters, build));
    pp_json_put_int(build, object, "samples", (int64_t)fit->samples);
    pp_json_put_int(build, object, "sizes", (int64_t)fit->sizes);
    pp_json_put_int(build, object, "outliers", (int64_t)fit->outliers);
#define PUT(name) put(build, object, #name, fit->name);
    PP_FIT_NUMBER_MAP(PUT)
#undef PUT
    pp_json_put(build, object, "worst", pp_sample_write(&fit->worst, build));
    pp_json_put(build, object, "domain", write_domain(fit, build));
    if (fit->assumed_channels)
        pp_json_put_bool(build, object, "assumed_channels", true);
    pp_json_put(build, object, "rejected", write_rejected(choice, build));
}

/* Writes one number, or a list if communicators of several sizes were measured. */
static void put_facts(const pp_profile *p, const pp_profile_entry *e, const char *key,
                      int32_t (*of)(const pp_series *), pp_json *object, pp_json_build *build)
{
    pp_json *list = NULL;
    int32_t first = of(&p->samples.series[e->series[0]]);
    bool same = true;
    for (size_t i = 1; i < e->series_count; i++)
        same = same && of(&p->samples.series[e->series[i]]) == first;
    if (same && first > 0)
        pp_json_put_int(build, object, key, first);
    if (same)
        return;
    list = pp_json_new_array(build);
    for (size_t i = 0; i < e->series_count; i++)
        pp_json_add_int(build, list, of(&p->samples.series[e->series[i]]));
    pp_json_put(build, object, key, list);
}

static int32_t ranks_of(const pp_series *series)
{
    return series->ranks;
}

static int32_t nodes_of(const pp_series *series)
{
    return series->nodes;
}

static int32_t channels_of(const pp_series *series)
{
    return series->channels_max;
}

static pp_json *write_entry(const pp_profile *p, const pp_profile_entry *e, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json_put_text(build, object, "class", e->class_name);
    if (e->cold)
        pp_json_put_bool(build, object, "cold", true);
    if (e->link) {
        put_facts(p, e, "ranks", ranks_of, object, build);
        put_facts(p, e, "nodes", nodes_of, object, build);
        put_facts(p, e, "channels", channels_of, object, build);
        pp_json_put_bool(build, object, "spans", e->spans);
    }
    if (e->fitted) {
        put_fit(&e->choice, object, build);
    } else {
        pp_json_put_null(build, object, "form");
        pp_json_put_text(build, object, "reason", e->reason);
    }
    return object;
}

static pp_json *write_notes(const pp_profile *p, pp_json_build *build)
{
    pp_json *list = pp_json_new_array(build);
    for (size_t i = 0; i < p->note_count; i++) {
        const pp_series_note *n = &p->note[i];
        pp_json *object = pp_json_new_object(build);
        pp_json_put_text(build, object, "class", n->class_name);
        pp_json_put_text(build, object, "clock", pp_stopwatch_name(n->stopwatch));
        pp_json_put_int(build, object, "points", n->points);
        pp_json_put_int(build, object, "precise", n->precise);
        pp_json_put_int(build, object, "crowded", n->crowded);
        pp_json_put_int(build, object, "timings", (int64_t)n->timings);
        pp_json_put_int(build, object, "voided", (int64_t)n->voided);
        put(build, object, "interval", n->interval);
        put(build, object, "drift", n->drift);
        pp_json_put_bool(build, object, "drifts", n->drifts);
        pp_json_put_bool(build, object, "throttled", n->throttled);
        pp_json_add(build, list, object);
    }
    return list;
}

static pp_json *write_unfinished(const pp_profile *p, pp_json_build *build)
{
    pp_json *list = pp_json_new_array(build);
    for (size_t i = 0; i < pp_probe_count(); i++) {
        if (p->unfinished >> i & 1)
            pp_json_add_text(build, list, pp_probe_at(i)->name);
    }
    return list;
}

static void put_measured(const pp_profile *p, pp_json *root, pp_json_build *build)
{
    pp_json_put(build, root, "environment", pp_environment_write(&p->environment, build));
    if (p->gpus.count || p->gpus.lacks[0])
        pp_json_put(build, root, "gpus", pp_gpu_states_write(&p->gpus, build));
    pp_json_put(build, root, "notes", write_notes(p, build));
    pp_json_put_bool(build, root, "interrupted", p->interrupted);
    if (p->unfinished)
        pp_json_put(build, root, "unfinished", write_unfinished(p, build));
}

static void put_interference(const pp_profile *p, pp_json *root, pp_json_build *build)
{
    const pp_interference *f = &p->interference;
    if (isnan(f->compute) && isnan(f->comm) && isnan(f->compute_beside_copy))
        return;
    pp_json *object = pp_json_new_object(build);
    put(build, object, "compute", f->compute);
    put(build, object, "comm", f->comm);
    put(build, object, "compute_beside_copy", f->compute_beside_copy);
    pp_json_put(build, root, "interference", object);
}

static pp_json *write_profile(const pp_profile *p, pp_json_build *build)
{
    pp_json *root = pp_json_new_object(build);
    pp_json *kernels = pp_json_new_array(build), *links = pp_json_new_array(build);
    for (size_t i = 0; i < p->count; i++)
        pp_json_add(build, p->entry[i].link ? links : kernels, write_entry(p, &p->entry[i], build));
    pp_json_put_text(build, root, "format", PP_PROFILE_FORMAT);
    pp_json_put_int(build, root, "version", PP_PROFILE_VERSION);
    pp_json_put_text(build, root, "device", p->samples.device[0] ? p->samples.device : NULL);
    if (p->sm_count)
        pp_json_put_int(build, root, "sm_count", p->sm_count);
    pp_json_put(build, root, "kernels", kernels);
    pp_json_put(build, root, "links", links);
    if (p->measured)
        put_measured(p, root, build);
    put_interference(p, root, build);
    pp_json_put_text(build, root, "skipped", p->samples.skipped);
    pp_json_put(build, root, "series", pp_samples_write(&p->samples, build));
    return root;
}

pp_status pp_profile_write(pp_profile *profile, char **text_out, size_t *bytes_out, pp_err *err)
{
    pp_json_build build = { 0 };
    pp_json *root PP_CLEANUP(pp_json_free) = write_profile(profile, &build);
    char *text = NULL;
    size_t bytes = 0;
    pp_status status = pp_json_print(&build, root, &text, &bytes, err);
    if (status)
        return status;
    pp_sha256(text, bytes, profile->sha256);
    free(text);
    pp_json_put_text(&build, root, "sha256", profile->sha256);
    return pp_json_print(&build, root, text_out, bytes_out, err);
}
