/* Reads a profile into a picture: its cost functions against its samples, and the residuals. */
#include "tools/ppsim/plot/profile.h"

#include "calib/profile/profile.h"
#include "calib/profile/profile_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_place(const void *left, const void *right)
{
    const pp_fitted *a = left;
    const pp_fitted *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return (a->fitted_s > b->fitted_s) - (a->fitted_s < b->fitted_s);
}

/* Returns the number of distinct values of the variable among the sorted points. Returns 0 if the
 * fitted time is not a function of the variable that never decreases: a value is unknown, has
 * several fitted times, or has a smaller time than the value before. */
static size_t distinct(const pp_fitted *point, size_t count)
{
    size_t values = 0;
    for (size_t i = 0; i < count; i++) {
        bool same = i > 0 && point[i].at == point[i - 1].at;
        if (!(point[i].at > 0) || (same && point[i].fitted_s != point[i - 1].fitted_s) ||
            (i > 0 && point[i].fitted_s < point[i - 1].fitted_s))
            return 0;
        values += !same;
    }
    return values;
}

/* Adds the samples of an entry in their order. The place of each is its value of `variable`. */
static pp_status add_points(const pp_profile *profile, const pp_profile_entry *entry,
                            pp_variable variable, pp_picture *picture, pp_err *err)
{
    for (size_t s = 0; s < entry->series_count; s++) {
        const pp_series *series = &profile->samples.series[entry->series[s]];
        for (size_t i = 0; i < series->count; i++) {
            pp_fit_value fitted;
            const pp_sample *sample = &series->sample[i];
            if (sample->cold != entry->cold)
                continue;
            pp_status status = pp_fit_predict(&entry->choice.fit, series, sample, &fitted, err);
            pp_fitted *point = status ? NULL : pp_picture_add_fitted(picture, err);
            if (!point)
                return status ? status : PP_NOMEM;
            *point = (pp_fitted){ .curve = picture->curve_count - 1,
                                  .at = sample->at[variable],
                                  .measured_s = sample->seconds,
                                  .fitted_s = fitted.seconds,
                                  .low_s = fitted.low_s,
                                  .high_s = fitted.high_s };
        }
    }
    return PP_OK;
}

/* Chooses the axis of an entry: among the variables that determine the fitted times, the one with
 * the fewest values, because others distinguish points of equal time. If no variable alone
 * determines them, the axis is the fitted time itself. */
static pp_status choose_axis(const pp_profile *profile, const pp_profile_entry *entry,
                             pp_picture *picture, pp_err *err)
{
    const size_t from = picture->fitted_count;
    pp_curve *curve = &picture->curve[picture->curve_count - 1];
    int best = PP_VARIABLE_COUNT;
    size_t fewest = SIZE_MAX;
    pp_status status = PP_OK;
    for (int v = 0; v < PP_VARIABLE_COUNT && !status; v++) {
        picture->fitted_count = from;
        status = add_points(profile, entry, (pp_variable)v, picture, err);
        size_t count = picture->fitted_count - from;
        if (!status && count)
            qsort(&picture->fitted[from], count, sizeof *picture->fitted, by_place);
        size_t values = status ? 0 : distinct(&picture->fitted[from], count);
        if (values > 1 && values < fewest) {
            fewest = values;
            best = v;
        }
    }
    picture->fitted_count = from;
    bool time = best == PP_VARIABLE_COUNT;
    if (!status)
        status =
            add_points(profile, entry, time ? PP_VARIABLE_BYTES : (pp_variable)best, picture, err);
    snprintf(curve->axis, sizeof curve->axis, "%s",
             time ? PP_CURVE_TIME : pp_variable_key((pp_variable)best));
    for (size_t i = from; i < picture->fitted_count && !status; i++) {
        pp_fitted *point = &picture->fitted[i];
        double error = 100 * fabs(point->measured_s / point->fitted_s - 1);
        point->at = time ? point->fitted_s : point->at;
        curve->most_error = error > curve->most_error ? error : curve->most_error;
    }
    if (!status && picture->fitted_count > from)
        qsort(&picture->fitted[from], picture->fitted_count - from, sizeof *picture->fitted,
              by_place);
    return status;
}

static pp_status add_entry(const pp_profile *profile, const pp_profile_entry *entry,
                           pp_picture *picture, pp_err *err)
{
    const pp_fit *fit = &entry->choice.fit;
    pp_curve *curve = pp_picture_add_curve(picture, err);
    if (!curve)
        return PP_NOMEM;
    snprintf(curve->name, sizeof curve->name, "%s%s%s: %s, mean error %.1f %%", entry->class_name,
             entry->spans ? ", between nodes" : "", entry->cold ? ", cold" : "", fit->form->name,
             100 * fit->mape);
    curve->most_error = 1;
    return choose_axis(profile, entry, picture, err);
}

/* Returns whether an entry belongs to a class: "stage_f" includes "stage_f 3" and "stage_f
 * first". */
static bool is_of(const pp_profile_entry *entry, const char *class_name)
{
    const size_t bytes = class_name ? strlen(class_name) : 0;
    return !class_name || (strncmp(entry->class_name, class_name, bytes) == 0 &&
                           (entry->class_name[bytes] == '\0' || entry->class_name[bytes] == ' '));
}

static pp_status refuse_class(const pp_profile *profile, const char *file, const char *class_name,
                              pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    for (size_t i = 0; i < profile->count; i++) {
        if (profile->entry[i].fitted)
            pp_text_add(&text, "%s%s", text.bytes ? ", " : "", profile->entry[i].class_name);
    }
    pp_status status = pp_text_check(&text, err);
    return status ? status
                  : pp_err_set(err, PP_USAGE, "--class",
                               "%.200s has no fitted class '%.64s'; it has %.600s", file,
                               class_name, text.bytes ? text.data : "none");
}

pp_status pp_plot_add_profile(const char *text, size_t bytes, const char *file,
                              const char *class_name, pp_picture *picture, pp_err *err)
{
    pp_profile *profile PP_CLEANUP(pp_profile_free) = NULL;
    const size_t before = picture->curve_count;
    pp_status status = pp_profile_parse(text, bytes, file, &profile, err);
    for (size_t i = 0; !status && i < profile->count; i++) {
        if (profile->entry[i].fitted && is_of(&profile->entry[i], class_name))
            status = add_entry(profile, &profile->entry[i], picture, err);
    }
    if (!status && picture->curve_count == before && class_name)
        return refuse_class(profile, file, class_name, err);
    if (!status && picture->curve_count == before)
        status = pp_err_set(err, PP_INPUT, file, "has no class with a fitted form");
    return status;
}
