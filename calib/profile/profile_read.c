/* Reads profiles (docs/reference/formats.md, ppsim.profile). Fits are taken from the file as they
 * are; the hash at the end reveals files that were changed by hand. */
#include "calib/profile/profile_read.h"

#include "calib/fit/form/registry.h"
#include "calib/measure/gpu_state_json.h"
#include "calib/profile/profile_keys.h"
#include "calib/profile/profile_write.h"
#include "calib/samples/environment_json.h"
#include "calib/samples/samples_json.h"
#include "sim/base/alloc.h"
#include "traces/read/gzip.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a number; null, which means infinite or not known, gives `absent`. */
static pp_status read_number(const pp_json_at *object, const char *key, double low, double absent,
                             double *value_out, pp_err *err)
{
    *value_out = absent;
    return pp_json_has(object, key) ? pp_json_get_double(object, key, low, 1e300, value_out, err)
                                    : PP_OK;
}

static pp_status read_list(const pp_json_at *object, const char *key, size_t least, size_t most,
                           double *value_out, size_t *count_out, pp_err *err)
{
    pp_json_at list, item;
    size_t count = 0;
    pp_status status = pp_json_get(object, key, &list, err);
    if (status || (status = pp_json_count(&list, &count, err)))
        return status;
    if (count < least || count > most)
        return pp_json_fail(&list, err, "must have %zu to %zu numbers, not %zu", least, most,
                            count);
    for (size_t i = 0; i < count && !status; i++) {
        if (!(status = pp_json_item(&list, i, &item, err)))
            status = pp_json_read_double(&item, -1e300, 1e300, &value_out[i], err);
    }
    *count_out = count;
    return status;
}

static pp_status read_parameter(const pp_json_at *at, size_t k, pp_fit *fit, pp_err *err)
{
    static const char *const keys[] = { "value", "se", "low", "high", "unit", NULL };
    pp_status status;
    if ((status = pp_json_only(at, keys, err)) ||
        (status = read_number(at, "value", 0, INFINITY, &fit->value[k], err)) ||
        (status = read_number(at, "se", 0, INFINITY, &fit->se[k], err)) ||
        (status = read_number(at, "low", -1e300, 0, &fit->low[k], err)) ||
        (status = read_number(at, "high", 0, INFINITY, &fit->high[k], err)))
        return status;
    return PP_OK;
}

static pp_status read_knots(const pp_json_at *parameters, pp_fit *fit, pp_err *err)
{
    const char *const keys[] = { fit->form->parameter[0].name, NULL };
    pp_json_at list, item;
    size_t count = 0;
    pp_status status;
    if ((status = pp_json_only(parameters, keys, err)) ||
        (status = pp_json_get(parameters, keys[0], &list, err)) ||
        (status = pp_json_count(&list, &count, err)))
        return status;
    if (count < 2 || count > PP_FORM_KNOTS_MAX)
        return pp_json_fail(&list, err, "must have 2 to %d knots, not %zu", PP_FORM_KNOTS_MAX,
                            count);
    fit->parameters = count;
    for (size_t k = 0; k < count && !status; k++) {
        if (!(status = pp_json_item(&list, k, &item, err)))
            status = read_parameter(&item, k, fit, err);
    }
    return status;
}

static pp_status read_parameters(const pp_json_at *at, pp_fit *fit, pp_err *err)
{
    const char *keys[PP_FORM_TERMS_MAX + 1] = { NULL };
    pp_json_at parameters, item;
    pp_status status = pp_json_get(at, "parameters", &parameters, err);
    if (status || fit->form->terms == 0)
        return status ? status : read_knots(&parameters, fit, err);
    fit->parameters = fit->form->terms;
    for (size_t k = 0; k < fit->parameters; k++)
        keys[k] = fit->form->parameter[k].name;
    status = pp_json_only(&parameters, keys, err);
    for (size_t k = 0; k < fit->parameters && !status; k++) {
        if (!(status = pp_json_get(&parameters, keys[k], &item, err)))
            status = read_parameter(&item, k, fit, err);
    }
    return status;
}

static pp_status read_domain(const pp_json_at *at, pp_fit *fit, pp_err *err)
{
    const char *keys[PP_VARIABLE_COUNT + 2] = { "ranks" };
    pp_json_at domain;
    double ends[2];
    size_t two;
    for (unsigned v = 0; v < PP_VARIABLE_COUNT; v++) {
        keys[v + 1] = pp_variable_key((pp_variable)v);
        fit->at_low[v] = fit->at_high[v] = NAN;
    }
    pp_status status = pp_json_get(at, "domain", &domain, err);
    if (status || (status = pp_json_only(&domain, keys, err)))
        return status;
    for (unsigned k = 0; k <= PP_VARIABLE_COUNT && !status; k++) {
        if (!pp_json_has(&domain, keys[k]))
            continue;
        status = read_list(&domain, keys[k], 2, 2, ends, &two, err);
        if (!status && !(ends[0] >= 0 && ends[0] <= ends[1] && ends[1] <= 1e30))
            return pp_json_fail(&domain, err, "%s must be two numbers, the smaller one first",
                                keys[k]);
        if (!status && k == 0) {
            fit->ranks_low = (int32_t)fmin(ends[0], INT32_MAX);
            fit->ranks_high = (int32_t)fmin(ends[1], INT32_MAX);
        } else if (!status) {
            fit->at_low[k - 1] = ends[0];
            fit->at_high[k - 1] = ends[1];
        }
    }
    return status;
}

static pp_status read_form(const pp_json_at *at, const pp_form **form_out, pp_err *err)
{
    const char *names[PP_FORM_MAX + 1] = { NULL };
    const char *name;
    pp_json_at place;
    pp_status status;
    if ((status = pp_json_get(at, "form", &place, err)) ||
        (status = pp_json_read_text(&place, &name, err)))
        return status;
    for (size_t i = 0; i < pp_form_count(); i++)
        names[i] = pp_form_at(i)->name;
    if ((*form_out = pp_form_find(name)))
        return PP_OK;
    const char *near = pp_text_nearest(name, names);
    return pp_json_fail(&place, err, "there is no form \"%.32s\"%s%s%s", name,
                        near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static pp_status read_rejected(const pp_json_at *at, pp_fit_choice *choice, pp_err *err)
{
    static const char *const keys[] = { "form", "cv_mape", "reason", NULL };
    pp_json_at list, item;
    size_t count = 0;
    pp_status status;
    if ((status = pp_json_get(at, "rejected", &list, err)) ||
        (status = pp_json_count(&list, &count, err)))
        return status;
    if (count > PP_FORM_MAX)
        return pp_json_fail(&list, err, "has more entries than there are forms");
    for (size_t i = 0; i < count && !status; i++) {
        pp_fit_rejected *r = &choice->rejected[i];
        if ((status = pp_json_item(&list, i, &item, err)) ||
            (status = pp_json_only(&item, keys, err)) ||
            (status = read_form(&item, &r->form, err)) ||
            (status = read_number(&item, "cv_mape", 0, NAN, &r->cv_mape, err)))
            return status;
        status = pp_json_get_name(&item, "reason", r->reason, sizeof r->reason, err);
    }
    choice->rejected_count = count;
    return status;
}

static pp_status read_counts(const pp_json_at *at, pp_fit *fit, pp_err *err)
{
    int64_t samples, sizes, outliers;
    pp_status status;
    if ((status = pp_json_get_int(at, "samples", 1, INT32_MAX, &samples, err)) ||
        (status = pp_json_get_int(at, "sizes", 1, samples, &sizes, err)) ||
        (status = pp_json_get_int(at, "outliers", 0, samples, &outliers, err)))
        return status;
    fit->samples = (size_t)samples;
    fit->sizes = (size_t)sizes;
    fit->outliers = (size_t)outliers;
#define READ(name)                                                       \
    if ((status = read_number(at, #name, -1e300, NAN, &fit->name, err))) \
        return status;
    PP_FIT_NUMBER_MAP(READ)
#undef READ
    return pp_json_has(at, "assumed_channels")
               ? pp_json_get_bool(at, "assumed_channels", &fit->assumed_channels, err)
               : PP_OK;
}

static pp_status read_fit(const pp_json_at *at, pp_fit_choice *choice, pp_err *err)
{
    pp_fit *fit = &choice->fit;
    pp_json_at worst;
    size_t count;
    pp_status status;
    if ((status = read_form(at, &fit->form, err)) || (status = read_parameters(at, fit, err)) ||
        (status = read_counts(at, fit, err)) || (status = read_domain(at, fit, err)) ||
        (status = pp_json_get(at, "worst", &worst, err)) ||
        (status = pp_sample_read(&worst, &fit->worst, err)) ||
        (status = read_rejected(at, choice, err)))
        return status;
    if (fit->form->structure &&
        (status = read_list(at, "fixed", 1, PP_FORM_KNOTS_MAX, fit->fixed, &fit->fixed_count, err)))
        return status;
    const size_t square = fit->parameters * fit->parameters;
    if ((status = read_list(at, "covariance", square, square, fit->covariance, &count, err)))
        return status;
    for (size_t k = 1; k < fit->fixed_count && fit->form->terms == 0; k++) {
        if (!(fit->fixed[k] > fit->fixed[k - 1]))
            return pp_json_fail(at, err, "\"fixed\" must ascend");
    }
    if (fit->form->terms == 0 && fit->fixed_count != fit->parameters)
        return pp_json_fail(at, err, "has %zu knots at %zu places in \"fixed\"", fit->parameters,
                            fit->fixed_count);
    pp_fit_recall(fit);
    return PP_OK;
}

/* Reads a flag; an absent one is false. */
static pp_status read_flag(const pp_json_at *at, const char *key, bool *value_out, pp_err *err)
{
    *value_out = false;
    return pp_json_has(at, key) ? pp_json_get_bool(at, key, value_out, err) : PP_OK;
}

static pp_status find_entry(const pp_json_at *at, bool link, pp_profile *p,
                            pp_profile_entry **entry_out, pp_err *err)
{
    char name[sizeof p->entry->class_name];
    bool cold, spans;
    pp_status status;
    if ((status = pp_json_get_name(at, "class", name, sizeof name, err)) ||
        (status = read_flag(at, "cold", &cold, err)) ||
        (status = read_flag(at, "spans", &spans, err)))
        return status;
    for (size_t i = 0; i < p->count; i++) {
        pp_profile_entry *e = &p->entry[i];
        if (e->link == link && e->cold == cold && e->spans == spans &&
            strcmp(e->class_name, name) == 0 && !e->fitted && !e->reason[0]) {
            *entry_out = e;
            return PP_OK;
        }
    }
    return pp_json_fail(at, err, "class \"%.64s\" has no samples in \"series\", or occurs twice",
                        name);
}

static pp_status read_entry(const pp_json_at *at, bool link, pp_profile *p, pp_err *err)
{
    static const char *const keys[] = { "class",    "cold",    "ranks",    "nodes",
                                        "channels", "spans",   "form",     "reason",
                                        "samples",  "sizes",   "outliers", "parameters",
                                        "fixed",    "spread",  "mape",     "max_ape",
                                        "bias",     "cv_mape", "cv_se",    "covariance",
                                        "worst",    "domain",  "rejected", "assumed_channels",
                                        NULL };
    pp_profile_entry *e = NULL;
    pp_status status;
    if ((status = pp_json_only(at, keys, err)) || (status = find_entry(at, link, p, &e, err)))
        return status;
    if (pp_json_has(at, "form")) {
        status = read_fit(at, &e->choice, err);
        e->fitted = !status;
        return status;
    }
    status = pp_json_get_name(at, "reason", e->reason, sizeof e->reason, err);
    return !status && !e->reason[0] ? pp_json_fail(at, err, "has neither \"form\" nor \"reason\"")
                                    : status;
}

static pp_status read_entries(const pp_json_at *root, const char *key, bool link, pp_profile *p,
                              pp_err *err)
{
    pp_json_at list, item;
    size_t count = 0, wanted = 0;
    pp_status status;
    if ((status = pp_json_get(root, key, &list, err)) ||
        (status = pp_json_count(&list, &count, err)))
        return status;
    for (size_t i = 0; i < count && !status; i++) {
        if (!(status = pp_json_item(&list, i, &item, err)))
            status = read_entry(&item, link, p, err);
    }
    for (size_t i = 0; i < p->count; i++)
        wanted += p->entry[i].link == link;
    if (!status && count < wanted)
        return pp_json_fail(&list, err, "has %zu entries, but \"series\" has %zu classes", count,
                            wanted);
    return status;
}

static pp_status read_note(const pp_json_at *at, pp_series_note *n, pp_err *err)
{
    static const char *const keys[] = { "class",   "clock",   "points",    "precise",
                                        "crowded", "timings", "voided",    "interval",
                                        "drift",   "drifts",  "throttled", NULL };
    char clock[16];
    int64_t points, precise, crowded, timings, voided;
    pp_status status;
    if ((status = pp_json_only(at, keys, err)) ||
        (status = pp_json_get_name(at, "class", n->class_name, sizeof n->class_name, err)) ||
        (status = pp_json_get_name(at, "clock", clock, sizeof clock, err)) ||
        (status = pp_json_get_int(at, "points", 0, UINT32_MAX, &points, err)) ||
        (status = pp_json_get_int(at, "precise", 0, UINT32_MAX, &precise, err)) ||
        (status = pp_json_get_int(at, "crowded", 0, UINT32_MAX, &crowded, err)) ||
        (status = pp_json_get_int(at, "timings", 0, INT64_MAX, &timings, err)) ||
        (status = pp_json_get_int(at, "voided", 0, INT64_MAX, &voided, err)) ||
        (status = read_number(at, "interval", 0, NAN, &n->interval, err)) ||
        (status = read_number(at, "drift", -1, NAN, &n->drift, err)) ||
        (status = pp_json_get_bool(at, "drifts", &n->drifts, err)) ||
        (status = pp_json_get_bool(at, "throttled", &n->throttled, err)))
        return status;
    n->stopwatch = PP_STOPWATCH_THREAD;
    while (strcmp(clock, pp_stopwatch_name(n->stopwatch)) != 0) {
        if (n->stopwatch++ == PP_STOPWATCH_DEVICE)
            return pp_json_fail(at, err, "clock \"%s\": must be thread, wall or device", clock);
    }
    n->points = (uint32_t)points;
    n->precise = (uint32_t)precise;
    n->crowded = (uint32_t)crowded;
    n->timings = (uint64_t)timings;
    n->voided = (uint64_t)voided;
    return PP_OK;
}

static pp_status read_notes(const pp_json_at *root, pp_profile *p, pp_err *err)
{
    pp_json_at list, item;
    size_t count = 0;
    pp_status status;
    if ((status = pp_json_get(root, "notes", &list, err)) ||
        (status = pp_json_count(&list, &count, err)))
        return status;
    p->note = pp_alloc_array(count + 1, sizeof *p->note);
    if (!p->note)
        return pp_err_nomem(err);
    for (size_t i = 0; i < count && !status; i++) {
        if (!(status = pp_json_item(&list, i, &item, err)))
            status = read_note(&item, &p->note[i], err);
    }
    p->note_count = count;
    return status;
}

static pp_status read_unfinished(const pp_json_at *root, uint32_t *bits_out, pp_err *err)
{
    pp_json_at list;
    pp_json_at item;
    size_t count = 0;
    if (!pp_json_has(root, "unfinished"))
        return PP_OK;
    pp_status status = pp_json_get(root, "unfinished", &list, err);
    if (!status)
        status = pp_json_count(&list, &count, err);
    for (size_t i = 0; i < count && !status; i++) {
        const char *names[] = { NULL, NULL };
        const pp_probe *probe;
        pp_err why = pp_err_like(err);
        if ((status = pp_json_item(&list, i, &item, err)) ||
            (status = pp_json_read_text(&item, &names[0], err)))
            return status;
        if (pp_probe_get(names[0], &probe, &why))
            return pp_json_fail(&item, err, "%s", why.text);
        *bits_out |= pp_probe_bits(names);
    }
    return status;
}

static pp_status read_gpus(const pp_json_at *root, pp_profile *p, pp_err *err)
{
    pp_json_at at;
    if (!pp_json_has(root, "gpus"))
        return PP_OK;
    pp_status status = pp_json_get(root, "gpus", &at, err);
    return status ? status : pp_gpu_states_read(&at, &p->gpus, err);
}

static pp_status read_measured(const pp_json_at *root, pp_profile *p, pp_err *err)
{
    pp_json_at at;
    pp_status status;
    p->measured = pp_json_has(root, "environment");
    if (!p->measured)
        return PP_OK;
    if ((status = pp_json_get(root, "environment", &at, err)) ||
        (status = pp_environment_read(&at, &p->environment, err)) ||
        (status = read_gpus(root, p, err)) || (status = read_notes(root, p, err)) ||
        (status = read_unfinished(root, &p->unfinished, err)))
        return status;
    return pp_json_get_bool(root, "interrupted", &p->interrupted, err);
}

static pp_status read_interference(const pp_json_at *root, pp_interference *f, pp_err *err)
{
    static const char *const keys[] = { "compute", "comm", "compute_beside_copy", NULL };
    pp_json_at at;
    pp_status status;
    *f = (pp_interference){ NAN, NAN, NAN };
    if (!pp_json_has(root, "interference"))
        return PP_OK;
    if ((status = pp_json_get(root, "interference", &at, err)) ||
        (status = pp_json_only(&at, keys, err)) ||
        (status = read_number(&at, "compute", 1, NAN, &f->compute, err)) ||
        (status = read_number(&at, "comm", 1, NAN, &f->comm, err)))
        return status;
    return read_number(&at, "compute_beside_copy", 1, NAN, &f->compute_beside_copy, err);
}

static pp_status read_skipped(const pp_json_at *root, pp_profile *p, pp_err *err)
{
    const char *text;
    if (!pp_json_has(root, "skipped"))
        return PP_OK;
    pp_status status = pp_json_get_text(root, "skipped", &text, err);
    if (status)
        return status;
    p->samples.skipped = pp_copy_text(text);
    return p->samples.skipped ? PP_OK : pp_err_nomem(err);
}

static pp_status read_samples(const pp_json_at *root, pp_profile *p, pp_err *err)
{
    pp_json_at list;
    int64_t sm_count = 0;
    pp_status status;
    if ((status = pp_json_get(root, "series", &list, err)) ||
        (status = pp_samples_read(&list, &p->samples, err)))
        return status;
    if (pp_json_has(root, "device") && (status = pp_json_get_name(root, "device", p->samples.device,
                                                                  sizeof p->samples.device, err)))
        return status;
    if (pp_json_has(root, "sm_count") &&
        (status = pp_json_get_int(root, "sm_count", 1, 100000, &sm_count, err)))
        return status;
    p->sm_count = (int)sm_count;
    return read_skipped(root, p, err);
}

/* Compares the hash in the file with that of its content. If the line was removed, the file was
 * changed on purpose, and nothing is compared. */
static pp_status check_hash(const pp_json_at *root, pp_profile *p, pp_err *err)
{
    char said[65] = "";
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes;
    pp_json_at at;
    pp_status status = PP_OK;
    if (pp_json_has(root, "sha256"))
        status = pp_json_get_name(root, "sha256", said, sizeof said, err);
    if (status || (status = pp_profile_write(p, &text, &bytes, err)) || !said[0])
        return status;
    if (strcmp(said, p->sha256) == 0)
        return PP_OK;
    if ((status = pp_json_get(root, "sha256", &at, err)))
        return status;
    return pp_json_fail(&at, err,
                        "does not match the rest of the file, which was changed; restore the file, "
                        "or delete this line if the change is intended");
}

static pp_status read_profile(const pp_json_at *root, pp_profile *p, pp_err *err)
{
    static const char *const keys[] = { "format",      "version",    "device",       "sm_count",
                                        "kernels",     "links",      "environment",  "notes",
                                        "interrupted", "unfinished", "interference", "skipped",
                                        "series",      "sha256",     "gpus",         NULL };
    pp_status status;
    if ((status = pp_json_check_format(root, PP_PROFILE_FORMAT, PP_PROFILE_VERSION, err)) ||
        (status = pp_json_only(root, keys, err)) || (status = read_samples(root, p, err)) ||
        (status = pp_profile_group(p, err)) ||
        (status = read_entries(root, "kernels", false, p, err)) ||
        (status = read_entries(root, "links", true, p, err)) ||
        (status = read_measured(root, p, err)) ||
        (status = read_interference(root, &p->interference, err)))
        return status;
    return check_hash(root, p, err);
}

pp_status pp_profile_parse(const char *text, size_t bytes, const char *file,
                           pp_profile **profile_out, pp_err *err)
{
    pp_profile *p PP_CLEANUP(pp_profile_free) = NULL;
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_status status = pp_json_parse(text, bytes, file, &json, err);
    if (status)
        return status;
    if (!(p = pp_alloc_array(1, sizeof *p)))
        return pp_err_nomem(err);
    const pp_json_at root = pp_json_root(json, file);
    if ((status = read_profile(&root, p, err)))
        return status;
    *profile_out = p;
    p = NULL;
    return PP_OK;
}

pp_status pp_profile_load(const char *path, pp_profile **profile_out, pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status = pp_gzip_read(path, &text, &bytes, err);
    return status ? status : pp_profile_parse(text, bytes, path, profile_out, err);
}
