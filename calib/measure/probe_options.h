/* Options that every probe gets. */
#ifndef PPSIM_CALIB_MEASURE_PROBE_OPTIONS_H
#define PPSIM_CALIB_MEASURE_PROBE_OPTIONS_H

#include "calib/measure/protocol.h"

#define PP_PROBE_SETTINGS "hidden=128,heads=4,mlp=512"

/* How many points a probe measures. */
typedef enum pp_probe_scale {
    PP_PROBE_FULL,
    PP_PROBE_QUICK,
    PP_PROBE_TINY, /* one or two of each class: for tests */
} pp_probe_scale;

typedef struct pp_probe_options {
    pp_probe_scale scale;
    const char *settings; /* of compute cpu or of a GPU's kernels; NULL: PP_PROBE_SETTINGS or
                             PP_GPU_PROBE_SETTINGS */
    int64_t layers;       /* of the stage that is measured; 0: one */
    uint32_t device;      /* index of the GPU among the visible ones */
    pp_ns budget_ns;      /* time for the whole probe; 0: not limited */
    const volatile sig_atomic_t *stop; /* as in pp_protocol */
} pp_probe_options;

#endif
