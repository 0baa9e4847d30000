/* Forms of cost functions; each is one file in calib/fit/form/ and one line in calib/forms.def.
 *
 * Once its structure is chosen (where a curve bends, how large a tile is), every form is a sum of
 * known terms of a point times coefficients: seconds = sum of row[k] * theta[k].
 * calib/fit/fit_series.h tries the structures and fits the coefficients. */
#ifndef PPSIM_CALIB_FIT_FORM_FORM_H
#define PPSIM_CALIB_FIT_FORM_FORM_H

#include "calib/samples/samples.h"

#define PP_FORM_TERMS_MAX 5  /* of a form that is not monotone; 2^terms active sets are tried */
#define PP_FORM_KNOTS_MAX 32 /* of a monotone form */
#define PP_FORM_MAX 16       /* entries of forms.def */

/* A sample with the facts of its series that forms need. */
typedef struct pp_fit_point {
    double at[PP_VARIABLE_COUNT]; /* NaN: not known; CHANNELS as measured, or by NCCL's rule */
    double size;                  /* links: bytes; kernels: 2mnk, else tokens, parameters, bytes */
    double share;                 /* part of the bytes that a ring moves: 2(n - 1)/n or (n - 1)/n */
    double seconds;               /* measured value; NaN for predictions */
    double ranks;                 /* 0: not known */
    uint32_t key;                 /* equal for all repeats of one size */
    const pp_sample *sample;      /* NULL in a prediction */
} pp_fit_point;

/* The points of one fit, sorted by size. */
typedef struct pp_fit_points {
    pp_fit_point *point;
    size_t count;
    size_t keys;     /* distinct sizes */
    unsigned known;  /* bits of the variables that every point has */
    double sm_count; /* 0: not known */
    bool link, p2p, collective;
    bool assumed; /* a communicator of one node was assumed to have 32 p2p channels, 32 per peer */
} pp_fit_points;

/* A parameter as users see it. z = value^(1 / power) is approximately normally distributed; power
 * is 1, -1 for rates, or 2 for squares. */
typedef struct pp_form_parameter {
    const char *name, *unit;
    int power;
} pp_form_parameter;

typedef struct pp_form {
    const char *name;
    const char *summary;
    unsigned needs; /* PP_FORM_NEEDS of the variables that every point must have */
    size_t terms;   /* non-negative coefficients; 0: one per knot, non-decreasing, positive */
    size_t scanned; /* numbers that the structure chooses; they count as parameters */
    pp_form_parameter parameter[PP_FORM_TERMS_MAX]; /* one per term; the first names all knots */
    /* Returns why the form does not suit these points, or NULL if it does. NULL: the form suits all
     * points. */
    const char *(*unsuited)(const pp_fit_points *points);
    /* Writes structure number `index` to fixed[PP_FORM_KNOTS_MAX] and returns how many numbers it
     * has; if one of them is NaN, the structure is skipped. Sets *more_out while there are further
     * structures. NULL if the form has a single structure without numbers. */
    size_t (*structure)(const pp_fit_points *points, size_t index, double *fixed, bool *more_out);
    /* Writes the terms of a point. If theta is NULL, a form with branches takes the one that
     * `fixed` chooses; otherwise it takes the one that is larger with theta. */
    void (*row)(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out);
    /* Converts coefficients to z of the parameters, and back. Both are NULL if z and the
     * coefficients are the same. */
    void (*report)(const double *theta, double *z_out);
    void (*recall)(const double *z, double *theta_out);
} pp_form;

#define PP_FORM_NEEDS(variable) (1u << PP_VARIABLE_##variable)

#endif
