/* Looks up compute backends by name. A backend is one file of runtime/compute/ and one line of
 * runtime/computes.def. */
#ifndef PPSIM_RUNTIME_COMPUTE_REGISTRY_H
#define PPSIM_RUNTIME_COMPUTE_REGISTRY_H

#include "runtime/core/compute.h"

size_t pp_compute_count(void);
const pp_compute *pp_compute_at(size_t index);
/* Finds the backend of this name. Fails: USAGE when there is none, naming the nearest one. */
PP_MUST_CHECK pp_status pp_compute_get(const char *name, const pp_compute **compute_out,
                                       pp_err *err);

#endif
