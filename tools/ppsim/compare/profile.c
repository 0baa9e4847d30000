/* Reads profiles as quantities: parameters and errors of each fit; and adds what two profiles
 * predict at the sizes that the first was measured at. */
#include "tools/ppsim/compare/profile.h"

#include "calib/profile/profile.h"
#include "calib/profile/profile_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const pp_metric *metric_of(const char *name)
{
    return pp_metric_find(PP_COMPARE_PROFILE, name);
}

static void entry_name(const pp_profile_entry *entry, char *name, size_t size)
{
    snprintf(name, size, "%s%s%s", entry->class_name, entry->cold ? " cold" : "",
             entry->spans ? " between nodes" : "");
}

static const pp_profile_entry *find_entry(const pp_profile *profile, const pp_profile_entry *like)
{
    for (size_t i = 0; i < profile->count; i++) {
        const pp_profile_entry *entry = &profile->entry[i];
        if (strcmp(entry->class_name, like->class_name) == 0 && entry->link == like->link &&
            entry->cold == like->cold && entry->spans == like->spans)
            return entry;
    }
    return NULL;
}

static pp_status add_text(pp_compare_file *file, const char *name, const char *place,
                          const char *text, pp_err *err)
{
    pp_quantity *item = NULL;
    if (!*text)
        return PP_OK; /* it is not known */
    pp_status status = pp_compare_add(file, metric_of(name), place, 0, &item, err);
    if (status)
        return status;
    item->text = pp_compare_printable(text);
    return item->text ? PP_OK : pp_err_nomem(err);
}

/* Adds a measured number. `low` and `high` are NaN when they are not known. */
static pp_status add_number(pp_compare_file *file, const char *name, const char *place,
                            double value, double low, double high, pp_err *err)
{
    pp_quantity *item = NULL;
    if (!isfinite(value))
        return PP_OK; /* it is not known */
    pp_status status = pp_compare_add(file, metric_of(name), place, value, &item, err);
    if (status)
        return status;
    item->measured = true;
    item->spread = low <= high;
    item->low = item->spread ? low : value;
    item->high = item->spread ? high : value;
    return PP_OK;
}

static pp_status add_fit(const pp_fit *fit, const char *name, pp_compare_file *file, pp_err *err)
{
    char place[256];
    pp_status status = add_text(file, "form", name, fit->form->name, err);
    for (size_t k = 0; k < fit->parameters && !status; k++) {
        const pp_form_parameter *p = &fit->form->parameter[fit->form->terms ? k : 0];
        if (fit->form->terms)
            snprintf(place, sizeof place, "%s of %s", p->name, name);
        else
            snprintf(place, sizeof place, "%s %zu of %s", p->name, k, name);
        status =
            add_number(file, "parameter", place, fit->value[k], fit->low[k], fit->high[k], err);
    }
    double reach = 1.96 * fit->cv_se; /* 95 % of a normal distribution */
    if (status || (status = add_number(file, "fit-error", name, fit->mape, NAN, NAN, err)) ||
        (status = add_number(file, "max-error", name, fit->max_ape, NAN, NAN, err)))
        return status;
    return add_number(file, "held-out-error", name, fit->cv_mape, fit->cv_mape - reach,
                      fit->cv_mape + reach, err);
}

/* Sets where the profile was measured: the device, such as "NVIDIA H200", or the processor and its
 * cores. */
static void set_platform(const pp_profile *profile, pp_compare_file *file)
{
    if (profile->samples.device[0])
        snprintf(file->platform, sizeof file->platform, "%s", profile->samples.device);
    else if (profile->measured)
        snprintf(file->platform, sizeof file->platform, "%s %d cores", profile->environment.cpu,
                 (int)profile->environment.cores);
}

pp_status pp_compare_read_profile(const char *text, size_t bytes, pp_compare_file *file,
                                  pp_err *err)
{
    file->measured = true;
    pp_status status = pp_profile_parse(text, bytes, file->name, &file->profile, err);
    if (status)
        return status;
    const pp_profile *p = file->profile;
    set_platform(p, file);
    if ((status = add_text(file, "device", "", p->samples.device, err)) ||
        (status = add_text(file, "processor", "", p->environment.cpu, err)) ||
        (status = add_number(file, "slowdown", "compute during transfers", p->interference.compute,
                             NAN, NAN, err)) ||
        (status = add_number(file, "slowdown", "transfers beside compute", p->interference.comm,
                             NAN, NAN, err)))
        return status;
    for (size_t i = 0; i < p->count && !status; i++) {
        char name[128];
        entry_name(&p->entry[i], name, sizeof name);
        status = p->entry[i].fitted ? add_fit(&p->entry[i].choice.fit, name, file, err)
                                    : add_text(file, "not-fitted", name, p->entry[i].reason, err);
    }
    return status;
}

static pp_status add_predicted(const pp_fit *fit, const pp_series *series, const pp_sample *sample,
                               const char *place, pp_compare_file *file, pp_err *err)
{
    pp_fit_value value = { 0 };
    pp_err ignored = { 0 };
    if (pp_fit_predict(fit, series, sample, &value, &ignored))
        return PP_OK; /* the fit needs a variable that this sample does not have */
    return add_number(file, "drift", place, value.seconds * 1e9, value.low_s * 1e9,
                      value.high_s * 1e9, err);
}

static pp_status add_drift(const pp_profile_entry *old, const pp_profile_entry *new_entry,
                           pp_compare_file *base, pp_compare_file *now, pp_err *err)
{
    const pp_profile *profile = base->profile;
    char name[128];
    char place[300];
    pp_status status = PP_OK;
    entry_name(old, name, sizeof name);
    for (size_t k = 0; k < old->series_count; k++) {
        const pp_series *series = &profile->samples.series[old->series[k]];
        for (size_t i = 0; i < series->count && !status; i++) {
            const pp_sample *sample = &series->sample[i];
            if (sample->pass != 0)
                continue; /* later passes repeat the same sizes */
            pp_compare_sample_name(name, series, sample, place, sizeof place);
            status = add_predicted(&old->choice.fit, series, sample, place, base, err);
            if (!status)
                status = add_predicted(&new_entry->choice.fit, series, sample, place, now, err);
        }
    }
    return status;
}

/* Writes the first fitted classes: "stage_f, stage_b". */
static void name_fitted(const pp_profile *profile, pp_text *text)
{
    char name[128];
    size_t told = 0;
    for (size_t i = 0; i < profile->count; i++) {
        entry_name(&profile->entry[i], name, sizeof name);
        if (profile->entry[i].fitted && told++ < 4)
            pp_text_add(text, "%s%s", told > 1 ? ", " : "", name);
    }
    pp_text_add(text, "%s", told > 4 ? ", ..." : told ? "" : "nothing fitted");
}

static pp_status refuse_apart(const pp_compare_file *base, const pp_compare_file *now, pp_err *err)
{
    pp_text was PP_CLEANUP(pp_text_free) = { 0 };
    pp_text is PP_CLEANUP(pp_text_free) = { 0 };
    name_fitted(base->profile, &was);
    name_fitted(now->profile, &is);
    pp_status status = pp_text_check(&was, err);
    if (!status)
        status = pp_text_check(&is, err);
    return status ? status
                  : pp_err_set(err, PP_USAGE, now->name,
                               "has no fitted class in common with %.200s, so there is nothing to "
                               "compare: %s there, %s here",
                               base->name, was.data, is.data);
}

pp_status pp_compare_drift(pp_compare_file *base, pp_compare_file *now, pp_err *err)
{
    pp_status status = PP_OK;
    bool any = false;
    for (size_t i = 0; i < base->profile->count && !status; i++) {
        const pp_profile_entry *old = &base->profile->entry[i];
        const pp_profile_entry *match = find_entry(now->profile, old);
        if (!old->fitted || !match || !match->fitted)
            continue;
        any = true;
        status = add_drift(old, match, base, now, err);
    }
    if (!status && !any)
        status = refuse_apart(base, now, err);
    if (!status)
        status = pp_compare_sort(base, err);
    return status ? status : pp_compare_sort(now, err);
}
