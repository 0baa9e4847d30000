/* What every probe is asked for. */
#ifndef PPSIM_CALIB_MEASURE_PROBE_OPTIONS_H
#define PPSIM_CALIB_MEASURE_PROBE_OPTIONS_H

#include "calib/measure/protocol.h"

#define PP_PROBE_SETTINGS "hidden=128,heads=4,mlp=512"

/* How many points. */
typedef enum pp_probe_scale {
    PP_PROBE_FULL,
    PP_PROBE_QUICK,
    PP_PROBE_TINY, /* one or two of each class: for tests */
} pp_probe_scale;

typedef struct pp_probe_options {
    pp_probe_scale scale;
    const char *settings; /* of compute cpu; NULL: PP_PROBE_SETTINGS; of a GPU's kernels: NULL:
                             PP_GPU_PROBE_SETTINGS */
    int64_t layers;       /* of the stage that is measured; 0: one */
    uint32_t device;      /* the GPU, among those that are visible */
    pp_ns budget_ns;      /* of the probe; 0: not limited */
    const volatile sig_atomic_t *stop; /* as in pp_protocol */
} pp_probe_options;

#endif
