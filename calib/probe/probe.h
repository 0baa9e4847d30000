/* One measurement that ppsim can make on this machine: one file in calib/probe/ and one line in
 * calib/probes.def each. docs/calibration-probes.md lists their classes and variables. */
#ifndef PPSIM_CALIB_PROBE_PROBE_H
#define PPSIM_CALIB_PROBE_PROBE_H

#include "calib/measure/probe_options.h"
#include "sim/base/field.h"

typedef struct pp_probe {
    const char *name;
    const char *summary;
    pp_field setting; /* the input that takes the result; lists put its name behind the summary */
    uint32_t share;   /* of the time, against the shares of the others */
    bool joint;       /* processes that were started together measure together */
    bool asked; /* of GPUs: runs only when it is asked for; their clocks are noted around it */
    /* Asked before any probe runs; NULL: nothing to ask. Fails: USAGE. */
    pp_status (*check)(pp_err *err);
    /* subject_out: lives as long as the state; NULL where this process has helped another one that
     * measures, and is done.
     * Fails: UNAVAILABLE, with the reason: the probe is skipped; USAGE (settings), NOMEM. */
    pp_status (*open)(const pp_probe_options *options, void **state_out,
                      const pp_subject **subject_out, pp_err *err);
    void (*close)(void *state); /* NULL is fine */
} pp_probe;

#endif
