/* Forms of cost functions: one file in calib/fit/form/ and one line in calib/forms.def each.
 *
 * Given a structure (where a curve bends, how large a tile is), every form is a sum of known terms
 * of a point times coefficients: seconds = sum of row[k] * theta[k]. calib/fit/fit_series.h tries
 * the structures and fits the coefficients. */
#ifndef PPSIM_CALIB_FIT_FORM_FORM_H
#define PPSIM_CALIB_FIT_FORM_FORM_H

#include "calib/samples/samples.h"

#define PP_FORM_TERMS_MAX 5  /* of a form that is not monotone: 2^terms active sets are tried */
#define PP_FORM_KNOTS_MAX 32 /* of one that is */
#define PP_FORM_MAX 16       /* entries of forms.def */

/* A sample with what is known of its series. */
typedef struct pp_fit_point {
    double at[PP_VARIABLE_COUNT]; /* CHANNELS: as measured, or by NCCL's rule; NaN: not known */
    double size;                  /* of links: bytes; of kernels: 2mnk, tokens, parameters, bytes */
    double share;                 /* of the bytes that a ring moves: 2(n - 1)/n or (n - 1)/n */
    double seconds;               /* NaN in a prediction */
    double ranks;                 /* 0: not known */
    uint32_t key;                 /* equal for all repeats of one size */
    const pp_sample *sample;      /* NULL in a prediction */
} pp_fit_point;

/* Sorted by size. */
typedef struct pp_fit_points {
    pp_fit_point *point;
    size_t count;
    size_t keys;     /* distinct sizes */
    unsigned known;  /* bits of the variables that every point has */
    double sm_count; /* 0: not known */
    bool link, p2p, collective;
    bool assumed; /* that a communicator of one node has 32 p2p channels, 32 per peer */
} pp_fit_points;

/* z = value^(1 / power) is what is about normally distributed: 1, -1 for rates, 2 for squares. */
typedef struct pp_form_parameter {
    const char *name, *unit;
    int power;
} pp_form_parameter;

typedef struct pp_form {
    const char *name;
    const char *summary;
    unsigned needs; /* PP_FORM_NEEDS of variables */
    size_t terms;   /* coefficients, none negative; 0: one per knot, never falling */
    size_t scanned; /* numbers that the structure chooses: they count as parameters too */
    pp_form_parameter parameter[PP_FORM_TERMS_MAX]; /* one per term; the first names all knots */
    /* Why the form does not suit these points; NULL: it does. NULL itself: it always does. */
    const char *(*unsuited)(const pp_fit_points *points);
    /* Writes structure `index` to fixed: [PP_FORM_KNOTS_MAX] and returns how many numbers it has;
     * sets *more_out while there are further ones. NULL: there is one, without numbers. */
    size_t (*structure)(const pp_fit_points *points, size_t index, double *fixed, bool *more_out);
    /* theta NULL: the branch is the structure's choice; otherwise the larger one holds. */
    void (*row)(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out);
    /* From coefficients to z of the parameters and back. NULL: they are the same. */
    void (*report)(const double *theta, double *z_out);
    void (*recall)(const double *z, double *theta_out);
} pp_form;

#define PP_FORM_NEEDS(variable) (1u << PP_VARIABLE_##variable)

#endif
