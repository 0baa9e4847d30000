/* Makes profiles: groups the series of samples into entries of one kind, fits a form to each entry,
 * and merges the results of an interrupted run with those of the run that resumed it. */
#include "calib/profile/profile.h"

#include "calib/profile/product_ratios.h"
#include "sim/base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pp_profile_free(pp_profile **profile)
{
    pp_profile *p = *profile;
    if (!p)
        return;
    for (size_t i = 0; i < p->count; i++)
        free(p->entry[i].series);
    free(p->entry);
    free(p->note);
    pp_samples_free(&p->samples);
    free(p);
    *profile = NULL;
}

static bool has_samples(const pp_series *series, bool cold)
{
    for (size_t i = 0; i < series->count; i++) {
        if (series->sample[i].cold == cold)
            return true;
    }
    return false;
}

static bool spans_nodes(const pp_series *series)
{
    return series->link && series->nodes > 1;
}

static pp_profile_entry *find_kind(const pp_profile *p, const pp_series *series, bool cold)
{
    for (size_t i = 0; i < p->count; i++) {
        pp_profile_entry *e = &p->entry[i];
        if (e->link == series->link && e->cold == cold && e->spans == spans_nodes(series) &&
            strcmp(e->class_name, series->class_name) == 0)
            return e;
    }
    return NULL;
}

static pp_status add_series(pp_profile *p, size_t index, bool cold, pp_err *err)
{
    const pp_series *series = &p->samples.series[index];
    if (!has_samples(series, cold))
        return PP_OK;
    pp_profile_entry *e = find_kind(p, series, cold);
    if (!e) {
        e = &p->entry[p->count];
        *e = (pp_profile_entry){ .link = series->link,
                                 .cold = cold,
                                 .spans = spans_nodes(series),
                                 .series = pp_alloc_array(p->samples.count, sizeof *e->series) };
        if (!e->series)
            return pp_err_nomem(err);
        memcpy(e->class_name, series->class_name, sizeof e->class_name);
        p->count++;
    }
    e->series[e->series_count++] = index;
    return PP_OK;
}

static int by_kind(const void *left, const void *right)
{
    const pp_profile_entry *a = left;
    const pp_profile_entry *b = right;
    if (a->link != b->link)
        return a->link - b->link;
    int by_class = strcmp(a->class_name, b->class_name);
    if (by_class)
        return by_class;
    return a->spans != b->spans ? a->spans - b->spans : a->cold - b->cold;
}

pp_status pp_profile_group(pp_profile *p, pp_err *err)
{
    pp_status status = PP_OK;
    p->entry = pp_alloc_array(2 * p->samples.count + 1, sizeof *p->entry);
    if (!p->entry)
        return pp_err_nomem(err);
    for (size_t i = 0; i < p->samples.count && !status; i++) {
        if (!(status = add_series(p, i, false, err)))
            status = add_series(p, i, true, err);
    }
    qsort(p->entry, p->count, sizeof *p->entry, by_kind);
    return status;
}

pp_status pp_profile_samples(const pp_profile *profile, const pp_profile_entry *entry,
                             pp_samples *samples_out, pp_err *err)
{
    pp_samples part PP_CLEANUP(pp_samples_free) = { 0 };
    pp_status status = PP_OK;
    for (size_t i = 0; i < entry->series_count && !status; i++) {
        const pp_series *from = &profile->samples.series[entry->series[i]];
        pp_series *to;
        status = pp_samples_add_series(&part, from->class_name, &to, err);
        if (status)
            return status;
        pp_series facts = *from;
        facts.sample = NULL;
        facts.count = facts.capacity = 0;
        *to = facts;
        for (size_t k = 0; k < from->count && !status; k++) {
            if (from->sample[k].cold == entry->cold)
                status = pp_series_add(to, &from->sample[k], err);
        }
    }
    if (status)
        return status;
    *samples_out = part;
    part = (pp_samples){ 0 };
    return PP_OK;
}

static void free_pointers(const pp_series ***pointers)
{
    free(*pointers);
}

/* Returns true if no sample has a variable, as in class "instruction": the time is then a constant.
 */
static bool is_number(const pp_samples *part)
{
    for (size_t i = 0; i < part->count; i++) {
        for (size_t k = 0; k < part->series[i].count; k++) {
            for (int v = 0; v < PP_VARIABLE_COUNT; v++) {
                if (!isnan(part->series[i].sample[k].at[v]))
                    return false;
            }
        }
    }
    return true;
}

static pp_status fit_entry(const pp_profile *p, pp_profile_entry *e, pp_err *err)
{
    pp_samples part PP_CLEANUP(pp_samples_free) = { 0 };
    const pp_series **list PP_CLEANUP(free_pointers) =
        pp_alloc_array(e->series_count, sizeof *list);
    const pp_fit_options options = { .sm_count = p->sm_count };
    pp_err why = pp_err_like(err);
    if (!list)
        return pp_err_nomem(err);
    pp_status status = pp_profile_samples(p, e, &part, err);
    if (status)
        return status;
    if (!e->link && is_number(&part)) {
        snprintf(e->reason, sizeof e->reason, "a number by itself, measured at no size");
        return PP_OK;
    }
    for (size_t i = 0; i < part.count; i++)
        list[i] = &part.series[i];
    status = pp_fit_series(list, part.count, &options, &e->choice, &why);
    if (status == PP_NOMEM)
        return pp_err_nomem(err);
    e->fitted = !status;
    snprintf(e->reason, sizeof e->reason, "%.255s", why.text);
    return PP_OK;
}

static pp_status fit_all(pp_profile *p, const pp_profile_watch *watch, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; i < p->count && !status; i++) {
        pp_profile_entry *e = &p->entry[i];
        if (watch && watch->stop && *watch->stop) {
            snprintf(e->reason, sizeof e->reason, "interrupted before it was fitted");
            continue;
        }
        if (watch && watch->fitting)
            watch->fitting(watch->context, e->class_name, i, p->count);
        if (pp_interference_class(e->class_name))
            snprintf(e->reason, sizeof e->reason, "for the interference only");
        else if (pp_product_class(e->class_name))
            snprintf(e->reason, sizeof e->reason, "for its ratio to others only");
        else
            status = fit_entry(p, e, err);
    }
    return status;
}

pp_status pp_profile_carry(const pp_profile *before, const char *const *names,
                           pp_calibration *calibration, pp_err *err)
{
    const size_t now = calibration->count;
    for (size_t i = 0; i < before->note_count; i++) {
        const pp_series_note *was = &before->note[i];
        size_t k = 0;
        while (k < now && strcmp(calibration->note[k].class_name, was->class_name) != 0)
            k++;
        if (k < now && calibration->note[k].points)
            continue;
        if (k == now) {
            void *list = calibration->note;
            pp_status status = pp_grow(&list, &calibration->capacity, calibration->count + 1,
                                       sizeof(pp_series_note), err);
            calibration->note = list;
            if (status)
                return status;
            k = calibration->count++;
        }
        calibration->note[k] = *was;
    }
    pp_gpu_states_carry(&before->gpus, &calibration->gpus);
    if (before->interrupted) {
        const uint32_t was = before->unfinished ? before->unfinished : pp_probe_bits(NULL);
        calibration->unfinished |= was & ~pp_probe_bits(names);
        calibration->interrupted |= calibration->unfinished != 0;
    }
    return PP_OK;
}

pp_status pp_profile_make(pp_samples *samples, pp_calibration *calibration,
                          const pp_fit_options *options, const pp_profile_watch *watch,
                          pp_profile **profile_out, pp_err *err)
{
    pp_profile *p PP_CLEANUP(pp_profile_free) = pp_alloc_array(1, sizeof *p);
    pp_status status;
    if (!p)
        return pp_err_nomem(err);
    p->samples = *samples;
    p->sm_count = options ? options->sm_count : 0;
    if (calibration) {
        p->measured = true;
        p->interrupted = calibration->interrupted;
        p->unfinished = calibration->interrupted ? calibration->unfinished : 0;
        p->environment = calibration->environment;
        p->gpus = calibration->gpus;
        p->note = calibration->note;
        p->note_count = calibration->count;
    }
    status = pp_interference_of(&p->samples, &p->interference, err);
    if (!status && !(status = pp_profile_group(p, err)))
        status = fit_all(p, watch, err);
    if (status) { /* the caller keeps both */
        p->samples = (pp_samples){ 0 };
        p->note = NULL;
        return status;
    }
    *samples = (pp_samples){ 0 };
    if (calibration) {
        calibration->note = NULL;
        pp_calibration_free(calibration);
    }
    *profile_out = p;
    p = NULL;
    return PP_OK;
}

const pp_profile_entry *pp_profile_find(const pp_profile *profile, const char *class_name,
                                        bool spans)
{
    for (size_t i = 0; i < profile->count; i++) {
        const pp_profile_entry *e = &profile->entry[i];
        if (e->fitted && !e->cold && e->spans == (e->link && spans) &&
            strcmp(e->class_name, class_name) == 0)
            return e;
    }
    return NULL;
}
