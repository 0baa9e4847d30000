/* What can be measured on this machine, as calib/probes.def lists it. */
#ifndef PPSIM_CALIB_PROBE_REGISTRY_H
#define PPSIM_CALIB_PROBE_REGISTRY_H

#include "calib/probe/probe.h"

size_t pp_probe_count(void);
const pp_probe *pp_probe_at(size_t index);
/* Bits by pp_probe_at of those named; names ends with NULL; NULL: all that need not be asked for.
 */
uint32_t pp_probe_bits(const char *const *names);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_probe_get(const char *name, const pp_probe **probe_out, pp_err *err);

#endif
