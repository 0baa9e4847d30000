/* Where something was measured: what explains its numbers, and nothing that tells whose it is. */
#ifndef PPSIM_CALIB_SAMPLES_ENVIRONMENT_H
#define PPSIM_CALIB_SAMPLES_ENVIRONMENT_H

#include "sim/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Text is "" and a number 0 where it is not known. */
typedef struct pp_environment {
    char cpu[128];
    char governor[32]; /* of the first processor's frequency */
    char kernel[96];   /* system, release, machine */
    char version[32];  /* of ppsim */
    int32_t cores;     /* that this process may count on */
    int64_t last_cache_bytes;
    double load; /* processes that wanted to run, over the last minute; negative: not known */
} pp_environment;

void pp_environment_look(pp_environment *environment_out);
/* Fails: UNAVAILABLE when this process may not use two processors at once (mpirun binds processes
 * to one each). */
PP_MUST_CHECK pp_status pp_environment_need_two_cores(pp_err *err);

#endif
