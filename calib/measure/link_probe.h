/* What probes of links share: messages between two ranks, over bytes. */
#ifndef PPSIM_CALIB_MEASURE_LINK_PROBE_H
#define PPSIM_CALIB_MEASURE_LINK_PROBE_H

#include "calib/measure/ping.h"
#include "calib/measure/probe_options.h"

/* Brings two ranks together; the process of rank 1 alone returns when rank 0 has measured.
 * ping_out: may be set on failure, too. Fails: as pp_probe.open. */
typedef pp_status (*pp_link_join)(size_t bytes_max, pp_ping **ping_out, pp_err *err);

/* pp_probe.open and pp_probe.close of such a probe. class_name, source: of its series and subject,
 * kept. */
PP_MUST_CHECK pp_status pp_link_probe_open(const pp_probe_options *options, const char *class_name,
                                           const char *source, pp_link_join join, void **state_out,
                                           const pp_subject **subject_out, pp_err *err);
void pp_link_probe_close(void *state);

#endif
