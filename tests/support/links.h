/* Published measurements of links (traces/data/links) and the results of fits: the table of
 * docs/explanation/calibration.md. */
#ifndef PPSIM_TESTS_SUPPORT_LINKS_H
#define PPSIM_TESTS_SUPPORT_LINKS_H

#include "calib/fit/fit_series.h"
#include "calib/fit/form/registry.h"
#include "calib/import/import_read.h"
#include "sim/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Communicators of a file from `low` to `high` ranks, which are fitted together, and others of the
 * file that the fit must predict. */
typedef struct link_set {
    const char *name, *file;
    int32_t low, high;
    double most;         /* limit for all errors of the form that is chosen; 0: there is none */
    const char *carried; /* the communicators to predict; NULL: none */
    int32_t carried_low, carried_high;
} link_set;

static const link_set link_sets[] = {
    { "H100 NVSwitch, 8 ranks", "h100-nvswitch", 8, 8, 0.02, "4 ranks", 4, 4 },
    { "H100 NVSwitch, 4 ranks", "h100-nvswitch", 4, 4, 0.02, "8 ranks", 8, 8 },
    { "H100 and InfiniBand, 16 and 80 ranks", "h100-ib", 16, 80, 0.02, NULL, 0, 0 },
    { "B200 and InfiniBand, 16 to 512 ranks", "b200-ib", 16, 512, 0.05, NULL, 0, 0 },
    { "the same, 16 to 64 ranks", "b200-ib", 16, 64, 0, "128 to 512", 128, 512 },
    { "A100 NVSwitch, 8 ranks", "a100-nvswitch", 8, 8, 0, NULL, 0, 0 },
    { "all-reduce, A100, 2 to 8 ranks", "a100-all-reduce", 2, 8, 0.08, NULL, 0, 0 },
    { "the same, 2 to 4 ranks", "a100-all-reduce", 2, 4, 0, "5 to 8", 5, 8 },
};
enum { LINK_SETS = sizeof link_sets / sizeof link_sets[0], LINK_SERIES_MAX = 16 };

/* Errors are mean absolute ones, relative; NaN: there is none. */
typedef struct link_errors {
    double fit, held_out, carried;
} link_errors;

typedef struct link_row {
    size_t samples;
    const char *form; /* that was chosen */
    link_errors chosen, alpha_beta;
} link_row;

static inline void link_ok(pp_status status, const pp_err *err)
{
    if (status) {
        fprintf(stderr, "%s: %s\n", err->where, err->text);
        abort();
    }
}

static inline pp_samples link_samples(const char *file)
{
    pp_samples samples = { 0 };
    pp_err err = { 0 };
    char path[512];
    snprintf(path, sizeof path, "%s/traces/data/links/%s.csv", PPSIM_SOURCE_DIR, file);
    link_ok(pp_import_argument(path, &samples, &err), &err);
    return samples;
}

/* The series with `low` to `high` ranks: [LINK_SERIES_MAX]. */
static inline size_t link_series(const pp_samples *samples, int32_t low, int32_t high,
                                 const pp_series **series)
{
    size_t count = 0;
    for (size_t i = 0; i < samples->count && count < LINK_SERIES_MAX; i++) {
        if (samples->series[i].ranks >= low && samples->series[i].ranks <= high)
            series[count++] = &samples->series[i];
    }
    return count;
}

static inline double link_error(const pp_fit *fit, const pp_series **series, size_t count)
{
    double sum = 0;
    size_t samples = 0;
    pp_err err = { 0 };
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < series[i]->count; k++, samples++) {
            pp_fit_value value = { 0 };
            link_ok(pp_fit_predict(fit, series[i], &series[i]->sample[k], &value, &err), &err);
            sum += fabs(value.seconds / series[i]->sample[k].seconds - 1);
        }
    }
    return sum / (double)samples;
}

static inline link_errors link_errors_of(const link_set *set, const pp_samples *samples,
                                         const pp_fit *fit)
{
    const pp_series *others[LINK_SERIES_MAX];
    link_errors errors = { fit->mape, fit->cv_mape, (double)NAN };
    if (set->carried)
        errors.carried = link_error(
            fit, others, link_series(samples, set->carried_low, set->carried_high, others));
    return errors;
}

static inline link_row link_row_of(const link_set *set)
{
    const pp_series *series[LINK_SERIES_MAX];
    pp_samples samples PP_CLEANUP(pp_samples_free) = link_samples(set->file);
    const size_t count = link_series(&samples, set->low, set->high, series);
    pp_fit_choice *choice = calloc(1, sizeof *choice);
    pp_fit *line = calloc(1, sizeof *line);
    link_row row = { .alpha_beta = { (double)NAN, (double)NAN, (double)NAN } };
    pp_err err = { 0 };
    if (!choice || !line)
        abort();
    link_ok(pp_fit_series(series, count, NULL, choice, &err), &err);
    row.samples = choice->fit.samples;
    row.form = choice->fit.form->name;
    row.chosen = link_errors_of(set, &samples, &choice->fit);
    if (!pp_fit_form(series, count, pp_form_find("alpha_beta"), NULL, line, &err))
        row.alpha_beta = link_errors_of(set, &samples, line);
    for (size_t i = 0; i < choice->rejected_count; i++) { /* pp_fit_form holds nothing out */
        if (choice->rejected[i].form == line->form)
            row.alpha_beta.held_out = choice->rejected[i].cv_mape;
    }
    free(choice);
    free(line);
    return row;
}

static inline void link_print_errors(const link_errors *errors, const char *carried, pp_text *text)
{
    const double error[] = { errors->fit, errors->held_out, errors->carried };
    for (size_t i = 0; i < 3; i++) {
        if (isnan(error[i]))
            pp_text_add(text, " |");
        else
            pp_text_add(text, " %.1f %%%s%s |", 100 * error[i], i == 2 ? " at " : "",
                        i == 2 ? carried : "");
    }
}

/* Markdown. */
static inline void link_print(const link_set *set, const link_row *row, pp_text *text)
{
    pp_text_add(text, "| %s | %zu | `%s` |", set->name, row->samples, row->form);
    link_print_errors(&row->chosen, set->carried, text);
    if (strcmp(row->form, "alpha_beta") == 0)
        pp_text_add(text, " | | |");
    else
        link_print_errors(&row->alpha_beta, set->carried, text);
    pp_text_add(text, "\n");
}

static inline void link_print_header(pp_text *text)
{
    pp_text_add(text,
                "| measured | samples | chosen | its error | left out | carried | `alpha_beta` | "
                "left out | carried |\n|---|---|---|---|---|---|---|---|---|\n");
}

#endif
