/* Fits forms to series of samples, chooses a form, and predicts times with intervals.
 * docs/explanation/calibration.md has the equations. */
#ifndef PPSIM_CALIB_FIT_FIT_SERIES_H
#define PPSIM_CALIB_FIT_FIT_SERIES_H

#include "calib/fit/form/form.h"

typedef struct pp_fit_options {
    int sm_count; /* of the GPU, for waves; 0: not known */
} pp_fit_options;

/* A form fitted to samples. It can be copied: the form is its only pointer. Errors are relative:
 * predicted over measured time, minus 1. */
typedef struct pp_fit {
    const pp_form *form;
    size_t samples, sizes;
    size_t outliers; /* samples that have no weight */
    /* Parameter k is form->parameter[k]; all knots of a piecewise fit are form->parameter[0]. `low`
     * and `high` are 95 % intervals; a bound may be infinite. */
    size_t parameters;
    double value[PP_FORM_KNOTS_MAX], se[PP_FORM_KNOTS_MAX];
    double low[PP_FORM_KNOTS_MAX], high[PP_FORM_KNOTS_MAX];
    /* The numbers of the chosen structure, in the order of the form: tile sizes and SMs, or knots.
     */
    size_t fixed_count;
    double fixed[PP_FORM_KNOTS_MAX];
    /* Coefficients, which follow from the values, and their covariance, [parameters * parameters].
     */
    double theta[PP_FORM_KNOTS_MAX];
    double covariance[PP_FORM_KNOTS_MAX * PP_FORM_KNOTS_MAX];
    double spread;        /* robust standard deviation of log errors */
    double mape, max_ape; /* mean and largest absolute error */
    double bias;          /* mean error, signed */
    double cv_mape;  /* mean over sizes of the median absolute error when the size is left out */
    double cv_se;    /* standard error of cv_mape, by the median */
    pp_sample worst; /* the sample with the error max_ape */
    double at_low[PP_VARIABLE_COUNT], at_high[PP_VARIABLE_COUNT]; /* domain; NaN: not known */
    int32_t ranks_low, ranks_high;
    bool assumed_channels; /* the channels of NVSwitch machines were assumed: 32 p2p, 32 per peer */
} pp_fit;

typedef struct pp_fit_rejected {
    const pp_form *form;
    double cv_mape;  /* NaN if it was not fitted */
    char reason[96]; /* why it was not fitted or not chosen */
} pp_fit_rejected;

typedef struct pp_fit_choice {
    pp_fit fit;
    pp_fit_rejected rejected[PP_FORM_MAX]; /* in the order of forms.def */
    size_t rejected_count;
} pp_fit_choice;

/* Not thread-safe: while they run, both functions switch off GSL's error handler, which the whole
 * program shares. */

/* Fits `form` to the samples of `count` series together. They must be of one kind of link or
 * kernel; communicators may differ in size. `options` may be NULL. Fails: INPUT (an unusable
 * sample, or samples that do not suit the form or do not determine its parameters), NOMEM. */
PP_MUST_CHECK pp_status pp_fit_form(const pp_series *const series[], size_t count,
                                    const pp_form *form, const pp_fit_options *options,
                                    pp_fit *fit_out, pp_err *err);

/* Fits every form and chooses the simplest one whose held-out error is within one standard error of
 * the smallest. A pp_fit_choice takes 11 KB. Fails: INPUT (no form can be fitted), NOMEM. */
PP_MUST_CHECK pp_status pp_fit_series(const pp_series *const series[], size_t count,
                                      const pp_fit_options *options, pp_fit_choice *choice_out,
                                      pp_err *err);

/* Returns the number of parameters by which forms are compared: fitted ones and searched ones. */
size_t pp_fit_complexity(const pp_fit *fit);

/* Sets fit->theta from fit->value, for a fit that was read from a file. */
void pp_fit_recall(pp_fit *fit);

typedef struct pp_fit_value {
    double seconds;
    double low_s, high_s;           /* 95 % interval of a single measurement there */
    double mean_low_s, mean_high_s; /* 95 % interval of the mean of many */
    const char *outside;            /* key of a variable outside the domain of the fit, or NULL */
} pp_fit_value;

/* Predicts the time at the variables of `at` (its seconds are ignored) in the communicator that
 * `where` describes (its samples are ignored).
 * Fails: INPUT when a variable that the form needs is missing, negative or above 1e30. */
PP_MUST_CHECK pp_status pp_fit_predict(const pp_fit *fit, const pp_series *where,
                                       const pp_sample *at, pp_fit_value *value_out, pp_err *err);

#endif
