/* Computes by name: one file in runtime/compute/ and one line in runtime/computes.def each. */
#ifndef PPSIM_RUNTIME_COMPUTE_REGISTRY_H
#define PPSIM_RUNTIME_COMPUTE_REGISTRY_H

#include "runtime/core/compute.h"

size_t pp_compute_count(void);
const pp_compute *pp_compute_at(size_t index);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_compute_get(const char *name, const pp_compute **compute_out,
                                       pp_err *err);

#endif
