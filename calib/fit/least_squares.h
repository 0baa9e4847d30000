/* Least squares of a few unknowns under constraints, from normal equations: minimizes
 * x'ax - 2b'x, where a = J'WJ and b = J'Wy for rows J, weights W and targets y. */
#ifndef PPSIM_CALIB_FIT_LEAST_SQUARES_H
#define PPSIM_CALIB_FIT_LEAST_SQUARES_H

#include <stdbool.h>
#include <stddef.h>

#define PP_SOLVE_MAX 32            /* unknowns */
#define PP_SOLVE_NONNEGATIVE_MAX 5 /* unknowns of pp_solve_nonnegative */

/* Matrices are [n * n], row by row; of a symmetric `a` only the lower triangle is read. If a
 * function returns false, its output is undefined. The solvers are not thread-safe: while they run,
 * they switch off GSL's error handler, which the whole program shares. */

/* Solves ax = b. Returns false when `a` is singular to working precision or not finite. */
bool pp_solve(size_t n, const double *a, const double *b, double *x_out);

/* Inverts `a`. Returns false as pp_solve does. */
bool pp_solve_inverse(size_t n, const double *a, double *inverse_out);

/* Finds the x >= 0, not all 0, that minimizes x'ax - 2b'x. Returns false when there is none. */
bool pp_solve_nonnegative(size_t n, const double *a, const double *b, double *x_out);

/* Isotonic regression: replaces `values` by the non-decreasing sequence with the least weighted
 * squared distance to them. The weights must be positive. */
void pp_solve_monotone(size_t n, const double *weights, double *values);

/* Returns true if no element of x is infinite or NaN. */
bool pp_all_finite(size_t n, const double *x);

#endif
