/* Which form describes a series, with what error, and how far it can be trusted.
 * docs/calibration.md has the equations. */
#ifndef PPSIM_CALIB_FIT_FIT_SERIES_H
#define PPSIM_CALIB_FIT_FIT_SERIES_H

#include "calib/fit/form/form.h"

typedef struct pp_fit_options {
    int sm_count; /* of the GPU, for waves; 0: not known */
} pp_fit_options;

/* A form fitted to samples: a value, without pointers but to its form. Errors are of predicted over
 * measured time. */
typedef struct pp_fit {
    const pp_form *form;
    size_t samples, sizes;
    size_t outliers; /* samples without weight */
    /* Parameter k is form->parameter[k]; of a piecewise fit all are form->parameter[0]. Intervals
     * hold 95 %; a bound may be infinite. */
    size_t parameters;
    double value[PP_FORM_KNOTS_MAX], se[PP_FORM_KNOTS_MAX];
    double low[PP_FORM_KNOTS_MAX], high[PP_FORM_KNOTS_MAX];
    /* What the structure chose, as the form orders it: tile sizes and SMs, or knots. */
    size_t fixed_count;
    double fixed[PP_FORM_KNOTS_MAX];
    /* Coefficients, which the values give, and their covariance: [parameters * parameters]. */
    double theta[PP_FORM_KNOTS_MAX];
    double covariance[PP_FORM_KNOTS_MAX * PP_FORM_KNOTS_MAX];
    double spread;        /* standard deviation of log errors without outliers */
    double mape, max_ape; /* mean and worst absolute error */
    double bias;          /* mean error, signed */
    double cv_mape;       /* mean over sizes of the median absolute error with that size left out */
    double cv_se;         /* standard error of cv_mape, by the median */
    pp_sample worst;      /* where max_ape is */
    double at_low[PP_VARIABLE_COUNT], at_high[PP_VARIABLE_COUNT]; /* domain; NaN: not known */
    int32_t ranks_low, ranks_high;
    bool assumed_channels; /* 32 p2p channels, 32 per peer: NVSwitch */
} pp_fit;

typedef struct pp_fit_rejected {
    const pp_form *form;
    double cv_mape;  /* NaN: it was not fitted */
    char reason[96]; /* why it was not fitted, or why it was not chosen */
} pp_fit_rejected;

typedef struct pp_fit_choice {
    pp_fit fit;
    pp_fit_rejected rejected[PP_FORM_MAX]; /* in the order of the table */
    size_t rejected_count;
} pp_fit_choice;

/* Fits `form` to all samples of these series at once: they are of one kind of link or kernel, in
 * communicators of different sizes perhaps. options NULL: nothing is known.
 * Fails: INPUT (a sample is not usable, or the samples do not suit or do not fix the form), NOMEM.
 */
PP_MUST_CHECK pp_status pp_fit_form(const pp_series *const series[], size_t count,
                                    const pp_form *form, const pp_fit_options *options,
                                    pp_fit *fit_out, pp_err *err);

/* The simplest of all forms whose held-out error is within one standard error of the best.
 * choice_out: large; Fails: INPUT (as above, when no form can be fitted), NOMEM. */
PP_MUST_CHECK pp_status pp_fit_series(const pp_series *const series[], size_t count,
                                      const pp_fit_options *options, pp_fit_choice *choice_out,
                                      pp_err *err);

/* Parameters that the choice of a form is charged with. */
size_t pp_fit_complexity(const pp_fit *fit);

/* Sets theta from value, as a profile that is read needs. */
void pp_fit_recall(pp_fit *fit);

typedef struct pp_fit_value {
    double seconds;
    double low_s, high_s;           /* hold 95 % of single measurements there */
    double mean_low_s, mean_high_s; /* the same for what many of them would give */
    const char *outside;            /* key of a variable that left the domain; NULL: none did */
} pp_fit_value;

/* What a sample at these variables would take in `where` (facts of a communicator; its samples are
 * not looked at). at: seconds are not looked at.
 * Fails: INPUT when a variable is missing or is no number from 0 on. */
PP_MUST_CHECK pp_status pp_fit_predict(const pp_fit *fit, const pp_series *where,
                                       const pp_sample *at, pp_fit_value *value_out, pp_err *err);

#endif
