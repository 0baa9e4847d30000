/* How much compute and transfers slow each other down, from samples to the engine. */
#ifndef PPSIM_CALIB_PROFILE_INTERFERENCE_H
#define PPSIM_CALIB_PROFILE_INTERFERENCE_H

#include "calib/samples/samples.h"
#include "sim/job/sharing.h"

/* What compute and transfers do to each other (probe interference): the factors of
 * --overlap-slowdown, medians over points and passes, at least 1; NaN: not measured. */
typedef struct pp_interference {
    double compute, comm;
    double compute_beside_copy; /* beside a plain copy in memory */
} pp_interference;

/* Is it a class of probe interference, of which only the ratios count? */
bool pp_interference_class(const char *class_name);

/* Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_interference_of(const pp_samples *samples,
                                           pp_interference *interference_out, pp_err *err);

/* Sets the factors of `sharing` that are measured and that it does not have yet, as
 * --overlap-slowdown would; a measured 1 leaves 0, at most PP_SLOWDOWN_MAX. Nothing else changes.
 * Returns whether a factor was set. */
bool pp_interference_share(const pp_interference *interference, pp_sharing *sharing);

#endif
