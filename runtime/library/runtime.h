/* What the files of the library share, and what tests call. */
#ifndef PPSIM_RUNTIME_LIBRARY_RUNTIME_H
#define PPSIM_RUNTIME_LIBRARY_RUNTIME_H

#include "runtime/core/compute.h"
#include "runtime/core/faults.h"
#include "runtime/library/pp_runtime.h"

/* The compute backend whose ops are the caller's functions. Their bytes are those of the plan. */
extern const pp_compute pp_compute_of_caller;

/* Copies err to *error, which may be NULL; returns the status. */
pp_runtime_status pp_library_fail(const pp_err *err, pp_runtime_error *error);

/* Does the same as pp_runtime_open, with injected faults, which outlive the runtime; NULL: none. */
PP_MUST_CHECK pp_runtime_status pp_library_open(const pp_runtime_options *options,
                                                const pp_faults *faults, pp_runtime **runtime_out,
                                                pp_runtime_error *error);

#endif
