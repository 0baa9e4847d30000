/* Fits forms to series and chooses among them. A form is fitted by trying its structures with a
 * short robust fit and finishing the best three (calib/fit/robust.h). Forms are compared by
 * leave-one-out cross-validation over sizes, and the simplest one within one standard error of the
 * best is chosen (Breiman et al., Classification and Regression Trees, 1984, section 3.4.3). Cost:
 * structures * sizes short fits per form. docs/explanation/calibration.md has the equations. */
#include "calib/fit/fit_series.h"

#include "calib/fit/fit_points.h"
#include "calib/fit/form/registry.h"
#include "calib/fit/robust.h"
#include "calib/samples/order_statistics.h"
#include "sim/base/alloc.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDS_MAX 64 /* of cross-validation; if there are more sizes, they share folds */
#define FINALISTS 3  /* structures that are fitted in full */
#define EQUAL 1e-4   /* clocks do not resolve smaller differences of held-out errors */

/* Arrays with one element per point. */
typedef struct workspace {
    pp_fit_point *kept;
    double *block; /* the allocation that holds the four below */
    double *seconds, *residual, *scratch, *held;
} workspace;

/* A form with one of its structures, and the coefficients fitted to it. */
typedef struct trial {
    const pp_form *form;
    const pp_fit_points *points;
    size_t terms, fixed_count;
    double fixed[PP_FORM_KNOTS_MAX];
    double theta[PP_FORM_KNOTS_MAX];
    double scale, loss;
} trial;

typedef struct certainty {
    double free_theta[PP_FORM_KNOTS_MAX];
    double covariance[PP_FORM_KNOTS_MAX * PP_FORM_KNOTS_MAX];
} certainty;

static void free_workspace(workspace *w)
{
    free(w->kept);
    free(w->block);
}

static pp_status new_workspace(size_t count, workspace *w, pp_err *err)
{
    w->kept = pp_alloc_array(count, sizeof *w->kept);
    w->block = pp_alloc_array(count, 4 * sizeof *w->block);
    if (!w->kept || !w->block)
        return pp_err_nomem(err);
    w->seconds = w->block;
    w->residual = w->block + count;
    w->scratch = w->block + 2 * count;
    w->held = w->block + 3 * count;
    return PP_OK;
}

static void trial_row(const void *context, size_t index, const double *theta, double *row_out)
{
    const trial *t = context;
    t->form->row(&t->points->point[index], t->fixed, t->fixed_count, theta, row_out);
}

static pp_robust robust_of(const trial *t, const workspace *w)
{
    return (pp_robust){ .count = t->points->count,
                        .terms = t->terms,
                        .seconds = w->seconds,
                        .monotone = t->form->terms == 0,
                        .row = trial_row,
                        .context = t,
                        .residual = w->residual,
                        .scratch = w->scratch };
}

static double loss_of(const trial *t, const workspace *w)
{
    double loss = 0;
    for (size_t i = 0; i < t->points->count; i++)
        loss += fabs(w->residual[i]);
    return loss;
}

static bool make_trial(const pp_form *form, const pp_fit_points *points, size_t index, trial *t,
                       bool *more_out)
{
    *t = (trial){ .form = form, .points = points };
    *more_out = false;
    if (form->structure)
        t->fixed_count = form->structure(points, index, t->fixed, more_out);
    for (size_t k = 0; k < t->fixed_count; k++) {
        if (isnan(t->fixed[k]))
            return false;
    }
    t->terms = form->terms ? form->terms : t->fixed_count;
    return t->terms > 0;
}

/* Finds the structures with the smallest absolute log errors after the start of a fit, best first.
 * Returns how many there are. */
static size_t choose_finalists(const pp_form *form, const pp_fit_points *points, const workspace *w,
                               trial *finalist)
{
    size_t count = 0;
    bool more = true;
    for (size_t index = 0; more; index++) {
        trial t;
        if (!make_trial(form, points, index, &t, &more))
            continue;
        const pp_robust problem = robust_of(&t, w);
        if (!pp_robust_start(&problem, t.theta))
            continue;
        t.loss = loss_of(&t, w);
        size_t at = count < FINALISTS ? count++ : FINALISTS;
        for (; at > 0 && t.loss < finalist[at - 1].loss; at--) {
            if (at < FINALISTS)
                finalist[at] = finalist[at - 1];
        }
        if (at < FINALISTS)
            finalist[at] = t;
    }
    return count;
}

/* Takes the structure with the smallest loss among those whose coefficients the points determine.
 * Returns false if there is none. */
static bool fit_points(const pp_form *form, const pp_fit_points *points, const workspace *w,
                       trial *best_out, certainty *certainty_out)
{
    trial finalist[FINALISTS];
    bool found = false;
    for (size_t i = 0; i < points->count; i++)
        w->seconds[i] = points->point[i].seconds;
    const size_t count = choose_finalists(form, points, w, finalist);
    for (size_t i = 0; i < count; i++) {
        certainty sure;
        trial *t = &finalist[i];
        const pp_robust problem = robust_of(t, w);
        if (!pp_robust_finish(&problem, t->theta, &t->scale))
            continue;
        t->loss = loss_of(t, w);
        if ((found && t->loss >= best_out->loss) ||
            !pp_robust_covariance(&problem, t->theta, t->scale, sure.free_theta, sure.covariance))
            continue;
        *best_out = *t;
        *certainty_out = sure;
        found = true;
    }
    return found;
}

static double predict(const trial *t, const pp_fit_point *point)
{
    double row[PP_FORM_KNOTS_MAX], sum = 0;
    t->form->row(point, t->fixed, t->fixed_count, t->theta, row);
    for (size_t k = 0; k < t->terms; k++)
        sum += row[k] * t->theta[k];
    return sum;
}

/* Returns the standard error of a mean, estimated from the median absolute deviation so that
 * outliers have no influence. Reorders `values` and replaces them by their deviations. */
static double robust_standard_error(double *values, size_t count)
{
    const double median = pp_median(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - median);
    return pp_median(values, count) / 0.6745 / sqrt((double)count);
}

/* Summarizes the held-out errors w->held per size. The points are sorted by key. */
static void score_sizes(const pp_fit_points *points, const workspace *w, pp_fit *fit)
{
    size_t from = 0, sizes = 0;
    double sum = 0;
    for (size_t i = 1; i <= points->count; i++) {
        if (i < points->count && points->point[i].key == points->point[from].key)
            continue;
        w->scratch[sizes] = pp_median(w->held + from, i - from);
        sum += w->scratch[sizes++];
        from = i;
    }
    fit->cv_mape = sum / (double)sizes;
    fit->cv_se = robust_standard_error(w->scratch, sizes);
}

static pp_status not_fixed(const pp_form *form, const char *when, pp_err *err)
{
    return pp_err_set(err, PP_INPUT, form->name,
                      "the samples%s do not fix its parameters; measure more sizes", when);
}

/* Leaves out one size after the other, with all its repeats in all passes and series, and predicts
 * it from a fit to the rest. Each of these fits searches the structures again. */
static pp_status cross_validate(const pp_form *form, const pp_fit_points *points,
                                const workspace *w, pp_fit *fit, pp_err *err)
{
    const uint32_t folds = points->keys < FOLDS_MAX ? (uint32_t)points->keys : FOLDS_MAX;
    for (uint32_t fold = 0; fold < folds; fold++) {
        pp_fit_points kept = *points;
        trial t;
        certainty sure;
        kept.point = w->kept;
        kept.count = 0;
        for (size_t i = 0; i < points->count; i++) {
            if (points->point[i].key % folds != fold)
                kept.point[kept.count++] = points->point[i];
        }
        if (!fit_points(form, &kept, w, &t, &sure))
            return not_fixed(form, " without one of their sizes", err);
        for (size_t i = 0; i < points->count; i++) {
            const pp_fit_point *point = &points->point[i];
            if (point->key % folds == fold)
                w->held[i] = fabs(predict(&t, point) / point->seconds - 1);
        }
    }
    score_sizes(points, w, fit);
    return PP_OK;
}

static double value_of(double z, int power)
{
    return power < 0 ? 1 / z : power == 2 ? z * z : z;
}

static double z_of(double value, int power)
{
    return power < 0 ? 1 / value : power == 2 ? sqrt(value) : value;
}

static void report(const pp_form *form, size_t count, const double *theta, double *z_out)
{
    if (form->report)
        form->report(theta, z_out);
    else
        memcpy(z_out, theta, count * sizeof *theta);
}

/* Writes the derivatives of z by theta, [count * count], by central differences. */
static void differentiate(const pp_form *form, size_t count, const double *theta, double *gradient)
{
    double moved[PP_FORM_KNOTS_MAX], up[PP_FORM_KNOTS_MAX], down[PP_FORM_KNOTS_MAX];
    memset(gradient, 0, count * count * sizeof *gradient);
    for (size_t k = 0; k < count; k++) {
        gradient[k * count + k] = 1;
        if (!form->report)
            continue;
        const double step = theta[k] > 0 ? theta[k] * 1e-5 : 1e-15;
        memcpy(moved, theta, count * sizeof *theta);
        moved[k] = theta[k] + step;
        form->report(moved, up);
        moved[k] = theta[k] - step;
        form->report(moved, down);
        for (size_t j = 0; j < count; j++)
            gradient[j * count + k] = (up[j] - down[j]) / (2 * step);
    }
}

static double quadratic(size_t count, const double *x, const double *matrix)
{
    double sum = 0;
    for (size_t k = 0; k < count; k++) {
        for (size_t l = 0; l < count; l++)
            sum += x[k] * matrix[k * count + l] * x[l];
    }
    return fmax(sum, 0);
}

static const pp_form_parameter *parameter_of(const pp_form *form, size_t index)
{
    return &form->parameter[form->terms ? index : 0];
}

/* Returns how many standard errors to each side hold 95 % of Student's t; `freedom` below 1 counts
 * as 1. */
static double student(double freedom)
{
    gsl_error_handler_t *old = gsl_set_error_handler_off();
    const double quantile = gsl_cdf_tdist_Pinv(0.975, fmax(1, freedom));
    gsl_set_error_handler(old);
    return isfinite(quantile) ? quantile : 12.706; /* with one degree of freedom, the widest */
}

/* Returns how many standard errors a 95 % interval extends to each side. The scale is estimated by
 * a median, whose efficiency is 37 % (Huber 1981, section 5.1), so there are fewer degrees of
 * freedom. */
static double width_of(size_t samples, size_t parameters)
{
    return student(0.37 * ((double)samples - (double)parameters));
}

/* Sets the parameters, their standard errors and intervals. An interval is that of the fit without
 * bounds, cut at 0, so that a coefficient held at 0 by its bound still has an upper limit. */
static pp_status take_parameters(const trial *t, const certainty *sure, pp_fit *fit, pp_err *err)
{
    const size_t count = t->terms;
    const double wide = width_of(t->points->count, count);
    double z[PP_FORM_KNOTS_MAX], centre[PP_FORM_KNOTS_MAX];
    double gradient[PP_FORM_KNOTS_MAX * PP_FORM_KNOTS_MAX];
    fit->parameters = count;
    fit->fixed_count = t->fixed_count;
    memcpy(fit->fixed, t->fixed, sizeof fit->fixed);
    memcpy(fit->covariance, sure->covariance, count * count * sizeof *fit->covariance);
    report(t->form, count, t->theta, z);
    report(t->form, count, sure->free_theta, centre);
    differentiate(t->form, count, t->theta, gradient);
    for (size_t k = 0; k < count; k++) {
        const pp_form_parameter *parameter = parameter_of(t->form, k);
        const int power = parameter->power;
        const double se = sqrt(quadratic(count, gradient + k * count, sure->covariance));
        const double middle = isfinite(centre[k]) ? centre[k] : z[k];
        const double low = fmin(z[k], fmax(0, middle - wide * se));
        const double high = fmax(z[k], fmax(0, middle + wide * se));
        fit->value[k] = value_of(z[k], power);
        fit->se[k] = fabs(power * fit->value[k] / z[k]) * se;
        if (power == 1)
            fit->se[k] = se;
        else if (z[k] == 0)
            fit->se[k] = value_of(se, power);
        fit->low[k] = value_of(power < 0 ? high : low, power);
        fit->high[k] = value_of(power < 0 ? low : high, power);
        if (!isfinite(fit->value[k]) || !isfinite(fit->se[k]))
            return pp_err_set(err, PP_INPUT, t->form->name,
                              "%s cannot be determined from these samples; measure more sizes",
                              parameter->name);
    }
    pp_fit_recall(fit);
    return PP_OK;
}

void pp_fit_recall(pp_fit *fit)
{
    double z[PP_FORM_KNOTS_MAX];
    for (size_t k = 0; k < fit->parameters; k++)
        z[k] = z_of(fit->value[k], parameter_of(fit->form, k)->power);
    if (fit->form->recall)
        fit->form->recall(z, fit->theta);
    else
        memcpy(fit->theta, z, fit->parameters * sizeof *z);
}

static void take_errors(const trial *t, pp_fit *fit)
{
    double sum = 0, absolute = 0;
    fit->max_ape = -1;
    for (size_t i = 0; i < t->points->count; i++) {
        const pp_fit_point *point = &t->points->point[i];
        const double error = predict(t, point) / point->seconds - 1;
        fit->outliers += fabs(log1p(error)) > PP_ROBUST_OUTLIER * t->scale;
        sum += error;
        absolute += fabs(error);
        if (fabs(error) > fit->max_ape) {
            fit->max_ape = fabs(error);
            fit->worst = *point->sample;
        }
    }
    fit->bias = sum / (double)t->points->count;
    fit->mape = absolute / (double)t->points->count;
    fit->spread = t->scale;
}

static void take_domain(const pp_fit_points *points, pp_fit *fit)
{
    for (int v = 0; v < PP_VARIABLE_COUNT; v++) {
        fit->at_low[v] = fit->at_high[v] = NAN;
        for (size_t i = 0; i < points->count; i++) { /* fmin and fmax ignore NaN */
            fit->at_low[v] = fmin(fit->at_low[v], points->point[i].at[v]);
            fit->at_high[v] = fmax(fit->at_high[v], points->point[i].at[v]);
        }
    }
    fit->ranks_low = INT32_MAX;
    for (size_t i = 0; i < points->count; i++) {
        const int32_t ranks = (int32_t)points->point[i].ranks;
        fit->ranks_low = ranks < fit->ranks_low ? ranks : fit->ranks_low;
        fit->ranks_high = ranks > fit->ranks_high ? ranks : fit->ranks_high;
    }
}

/* Checks that the points have what the form needs. */
static pp_status check_suits(const pp_form *form, const pp_fit_points *points, pp_err *err)
{
    const char *why = form->unsuited ? form->unsuited(points) : NULL;
    if (why)
        return pp_err_set(err, PP_INPUT, form->name, "%s", why);
    for (unsigned v = 0; v < PP_VARIABLE_COUNT; v++) {
        if (form->needs & ~points->known & 1u << v)
            return pp_err_set(err, PP_INPUT, form->name, "needs %s",
                              pp_variable_key((pp_variable)v));
    }
    return PP_OK;
}

static pp_status check_count(const pp_form *form, const pp_fit_points *points, pp_err *err)
{
    const size_t parameters = (form->terms ? form->terms : 2) + form->scanned;
    if (points->keys < parameters + 2)
        return pp_err_set(err, PP_INPUT, form->name, "needs %zu different sizes, but there are %zu",
                          parameters + 2, points->keys);
    if (3 * parameters >= points->count)
        return pp_err_set(err, PP_INPUT, form->name,
                          "has %zu parameters, which need more than %zu samples", parameters,
                          3 * parameters);
    return PP_OK;
}

static pp_status fit_form(const pp_form *form, const pp_fit_points *points, const workspace *w,
                          pp_fit *fit, pp_err *err)
{
    trial t;
    certainty sure;
    *fit = (pp_fit){ .form = form, .samples = points->count, .sizes = points->keys };
    pp_status status = check_suits(form, points, err);
    if (status || (status = check_count(form, points, err)))
        return status;
    if (!fit_points(form, points, w, &t, &sure))
        return not_fixed(form, "", err);
    if ((status = take_parameters(&t, &sure, fit, err)))
        return status;
    take_errors(&t, fit);
    take_domain(points, fit);
    fit->assumed_channels = points->assumed && (form->needs & PP_FORM_NEEDS(CHANNELS));
    return cross_validate(form, points, w, fit, err);
}

static void free_point_array(pp_fit_points *points)
{
    free(points->point);
}

static pp_status prepare(const pp_series *const series[], size_t count,
                         const pp_fit_options *options, pp_fit_points *points, workspace *w,
                         pp_err *err)
{
    const double sm_count = options && options->sm_count > 0 ? options->sm_count : 0;
    const pp_status status = pp_fit_points_of(series, count, sm_count, points, err);
    return status ? status : new_workspace(points->count, w, err);
}

pp_status pp_fit_form(const pp_series *const series[], size_t count, const pp_form *form,
                      const pp_fit_options *options, pp_fit *fit_out, pp_err *err)
{
    pp_fit_points points PP_CLEANUP(free_point_array) = { 0 };
    workspace w PP_CLEANUP(free_workspace) = { 0 };
    pp_fit fit;
    pp_status status = prepare(series, count, options, &points, &w, err);
    if (status || (status = fit_form(form, &points, &w, &fit, err)))
        return status;
    *fit_out = fit;
    return PP_OK;
}

size_t pp_fit_complexity(const pp_fit *fit)
{
    return fit->parameters + fit->form->scanned;
}

/* Returns the largest held-out error that counts as equal to that of `best`. */
static double limit_of(const pp_fit *best)
{
    return best->cv_mape + fmax(best->cv_se, EQUAL);
}

/* Returns NULL if no form was fitted. */
static const pp_fit *choose(const pp_fit *fits, size_t count)
{
    const pp_fit *best = NULL, *chosen = NULL;
    for (const pp_fit *f = fits; f < fits + count; f++) {
        if (f->form && (!best || f->cv_mape < best->cv_mape))
            best = f;
    }
    for (const pp_fit *f = fits; f < fits + count; f++) {
        if (!f->form || f->cv_mape > limit_of(best))
            continue;
        if (!chosen || pp_fit_complexity(f) < pp_fit_complexity(chosen) ||
            (pp_fit_complexity(f) == pp_fit_complexity(chosen) && f->cv_mape < chosen->cv_mape))
            chosen = f;
    }
    return chosen;
}

static void explain(const pp_fit *fit, const pp_fit *chosen, pp_fit_rejected *rejected)
{
    rejected->cv_mape = fit->cv_mape;
    if (fit->cv_mape > limit_of(chosen))
        snprintf(rejected->reason, sizeof rejected->reason, "larger error on sizes left out");
    else
        snprintf(rejected->reason, sizeof rejected->reason,
                 "no better by one standard error, with %zu parameters", pp_fit_complexity(fit));
}

static void free_fits(pp_fit **fits)
{
    free(*fits);
}

pp_status pp_fit_series(const pp_series *const series[], size_t count,
                        const pp_fit_options *options, pp_fit_choice *choice_out, pp_err *err)
{
    pp_fit_points points PP_CLEANUP(free_point_array) = { 0 };
    workspace w PP_CLEANUP(free_workspace) = { 0 };
    pp_fit *fits PP_CLEANUP(free_fits) = NULL;
    pp_fit_choice choice = { .rejected_count = 0 };
    pp_err why[PP_FORM_MAX] = { 0 };
    const size_t forms = pp_form_count();
    pp_status status = prepare(series, count, options, &points, &w, err);
    if (status)
        return status;
    if (!(fits = pp_alloc_array(forms, sizeof *fits)))
        return pp_err_nomem(err);
    for (size_t i = 0; i < forms; i++) {
        status = fit_form(pp_form_at(i), &points, &w, &fits[i], &why[i]);
        if (status == PP_NOMEM)
            return pp_err_nomem(err);
        if (status)
            fits[i].form = NULL;
    }
    const pp_fit *chosen = choose(fits, forms);
    if (!chosen)
        return pp_err_set(err, PP_INPUT, series[0]->class_name,
                          "no form fits: %zu samples of %zu sizes; measure more, at least 4 sizes "
                          "and 7 samples",
                          points.count, points.keys);
    for (size_t i = 0; i < forms; i++) {
        pp_fit_rejected *rejected = &choice.rejected[choice.rejected_count];
        if (&fits[i] == chosen)
            continue;
        *rejected = (pp_fit_rejected){ .form = pp_form_at(i), .cv_mape = NAN };
        if (fits[i].form)
            explain(&fits[i], chosen, rejected);
        else
            snprintf(rejected->reason, sizeof rejected->reason, "%.95s", why[i].text);
        choice.rejected_count++;
    }
    choice.fit = *chosen;
    *choice_out = choice;
    return PP_OK;
}

/* Returns the key of a variable that is outside the domain, or NULL. */
static const char *outside_of(const pp_fit *fit, const pp_fit_point *point)
{
    const double slack = 1e-9;
    for (unsigned v = 0; v < PP_VARIABLE_COUNT; v++) {
        const double value = point->at[v];
        if (v == PP_VARIABLE_CHANNELS && !(fit->form->needs & PP_FORM_NEEDS(CHANNELS)))
            continue;
        if (value < fit->at_low[v] * (1 - slack) || value > fit->at_high[v] * (1 + slack))
            return pp_variable_key((pp_variable)v);
    }
    const bool counted = point->share > 0; /* the number of ranks matters only to rings */
    return counted && (point->ranks < fit->ranks_low || point->ranks > fit->ranks_high) ? "ranks"
                                                                                        : NULL;
}

static pp_status check_point(const pp_fit *fit, const pp_series *where, const pp_fit_point *point,
                             pp_err *err)
{
    pp_fit_point copy = *point;
    pp_fit_points one = { .point = &copy, .count = 1, .sm_count = 1, .link = where->link };
    for (unsigned v = 0; v < PP_VARIABLE_COUNT; v++) {
        if (isnan(point->at[v]))
            continue;
        one.known |= 1u << v;
        if (!(point->at[v] >= 0 && point->at[v] <= 1e30))
            return pp_err_set(err, PP_INPUT, where->class_name, "%s must be from 0 to 1e30, not %g",
                              pp_variable_key((pp_variable)v), point->at[v]);
    }
    one.p2p = !isnan(point->at[PP_VARIABLE_CHANNELS]);
    one.collective = point->share > 0;
    pp_status status = check_suits(fit->form, &one, err);
    if (!status && isnan(point->size))
        status = pp_err_set(err, PP_INPUT, where->class_name, "needs a size to predict for");
    return status;
}

/* Intervals reach from a part of the prediction to so many times it: samples that are noisier say
 * nothing, and a plan of them is not refused for a step of ages. */
enum { WIDEST = 1000 };

pp_status pp_fit_predict(const pp_fit *fit, const pp_series *where, const pp_sample *at,
                         pp_fit_value *value_out, pp_err *err)
{
    bool assumed = false;
    double row[PP_FORM_KNOTS_MAX], seconds = 0;
    const pp_fit_point point = pp_fit_point_of(where, at, &assumed);
    const pp_status status = check_point(fit, where, &point, err);
    if (status)
        return status;
    fit->form->row(&point, fit->fixed, fit->fixed_count, fit->theta, row);
    for (size_t k = 0; k < fit->parameters; k++)
        seconds += row[k] * fit->theta[k];
    if (!(seconds > 0 && isfinite(seconds)))
        return pp_err_set(err, PP_INPUT, where->class_name,
                          "the fit predicts %g s there, which is not a duration", seconds);
    for (size_t k = 0; k < fit->parameters; k++)
        row[k] /= seconds;
    /* The held-out error includes what the form misses; the mean absolute value of a normal
     * distribution is sqrt(2 / pi) times its standard deviation. */
    const double spread = fmax(fit->spread, fit->cv_mape * sqrt(acos(-1) / 2));
    const double variance = quadratic(fit->parameters, row, fit->covariance);
    const double wide = width_of(fit->samples, fit->parameters);
    const double single = exp(fmin(wide * sqrt(variance + spread * spread), log(WIDEST)));
    const double mean = exp(fmin(wide * sqrt(variance), log(WIDEST)));
    *value_out = (pp_fit_value){ .seconds = seconds,
                                 .low_s = seconds / single,
                                 .high_s = seconds * single,
                                 .mean_low_s = seconds / mean,
                                 .mean_high_s = seconds * mean,
                                 .outside = outside_of(fit, &point) };
    return PP_OK;
}
