/* The machine that something was measured on: facts that explain the numbers, and none that
 * identify the machine or its owner. */
#ifndef PPSIM_CALIB_SAMPLES_ENVIRONMENT_H
#define PPSIM_CALIB_SAMPLES_ENVIRONMENT_H

#include "sim/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Unknown text is "", an unknown number 0. */
typedef struct pp_environment {
    char cpu[128];
    char governor[32]; /* frequency governor of the first processor */
    char kernel[96];   /* system, release, machine */
    char version[32];  /* of ppsim */
    int32_t cores;     /* processors that this process may use */
    int64_t last_cache_bytes;
    double load; /* runnable processes, averaged over the last minute; negative: not known */
} pp_environment;

/* Describes the machine and process that call it. */
void pp_environment_look(pp_environment *environment_out);
/* Fails: UNAVAILABLE when this process may use one processor only, as under mpirun, which binds
 * each process to one. */
PP_MUST_CHECK pp_status pp_environment_need_two_cores(pp_err *err);

#endif
