/* The probes of calib/probes.def, by number and by name. */
#ifndef PPSIM_CALIB_PROBE_REGISTRY_H
#define PPSIM_CALIB_PROBE_REGISTRY_H

#include "calib/probe/probe.h"

size_t pp_probe_count(void);
const pp_probe *pp_probe_at(size_t index);
/* Returns bits by pp_probe_at of the named probes. `names` has NULL at its end; NULL: all but those
 * with `asked`. */
uint32_t pp_probe_bits(const char *const *names);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_probe_get(const char *name, const pp_probe **probe_out, pp_err *err);

#endif
