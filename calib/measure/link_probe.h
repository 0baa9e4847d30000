/* The common part of probes of links: ping-pong between two ranks over a range of bytes. */
#ifndef PPSIM_CALIB_MEASURE_LINK_PROBE_H
#define PPSIM_CALIB_MEASURE_LINK_PROBE_H

#include "calib/measure/ping.h"
#include "calib/measure/probe_options.h"

/* Connects two ranks. In a process that hosts rank 1 only, it returns when rank 0 has finished.
 * *ping_out may be set even on failure; the caller frees it. Fails: as pp_probe.open. */
typedef pp_status (*pp_link_join)(size_t bytes_max, pp_ping **ping_out, pp_err *err);

/* Implements pp_probe.open and pp_probe.close. `class_name` and `source` are those of the series
 * and the subject; they are retained. */
PP_MUST_CHECK pp_status pp_link_probe_open(const pp_probe_options *options, const char *class_name,
                                           const char *source, pp_link_join join, void **state_out,
                                           const pp_subject **subject_out, pp_err *err);
void pp_link_probe_close(void *state);

#endif
