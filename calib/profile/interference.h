/* How much compute and transfers slow each other down, as measured, for the simulation. */
#ifndef PPSIM_CALIB_PROFILE_INTERFERENCE_H
#define PPSIM_CALIB_PROFILE_INTERFERENCE_H

#include "calib/samples/samples.h"
#include "sim/job/sharing.h"

/* Results of the probe `interference`: how many times as long one activity takes while another one
 * runs, at least 1; NaN: not measured. */
typedef struct pp_interference {
    double compute, comm;       /* compute during transfers, and transfers during compute */
    double compute_beside_copy; /* compute during a plain copy in memory */
} pp_interference;

/* Returns true for classes that are measured for these ratios only. */
bool pp_interference_class(const char *class_name);

/* Computes the ratios; those without measurements are NaN. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_interference_of(const pp_samples *samples,
                                           pp_interference *interference_out, pp_err *err);

/* Sets those slow-downs of `sharing` that were measured and are not set yet, to PP_SLOWDOWN_MAX at
 * most; a measured 1 leaves 0, which means none. Returns true if it set one. */
bool pp_interference_share(const pp_interference *interference, pp_sharing *sharing);

#endif
