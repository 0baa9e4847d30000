/* Probes: measurements that ppsim can make on this machine. Each is one file in calib/probe/ and
 * one line in calib/probes.def. docs/reference/calibration-probes.md lists their classes and
 * variables. */
#ifndef PPSIM_CALIB_PROBE_PROBE_H
#define PPSIM_CALIB_PROBE_PROBE_H

#include "calib/measure/probe_options.h"
#include "sim/base/field.h"

typedef struct pp_probe {
    const char *name;
    const char *summary;
    pp_field setting; /* the input that takes the result; lists show its name after the summary */
    uint32_t share;   /* of the time budget, relative to the shares of the others */
    bool joint;       /* processes that were started together run it together */
    bool asked; /* for GPUs: runs only when named; the states of GPUs are recorded around it */
    /* Called before any probe runs; may be NULL. Fails: USAGE. */
    pp_status (*check)(pp_err *err);
    /* Prepares the measurement. *subject_out is valid until close; it is NULL if another process
     * measures and this one has finished helping it. Fails: UNAVAILABLE, with the reason for which
     * the probe is skipped; USAGE (settings), NOMEM. */
    pp_status (*open)(const pp_probe_options *options, void **state_out,
                      const pp_subject **subject_out, pp_err *err);
    void (*close)(void *state); /* accepts NULL */
} pp_probe;

#endif
