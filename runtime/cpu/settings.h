/* The settings of the backends cpu and cuda as text:
 * "hidden=64,heads=4,mlp=256,vocab=0,tied=off,tokens=32,dtype=double,lr=0.01,recompute=off". */
#ifndef PPSIM_RUNTIME_CPU_SETTINGS_H
#define PPSIM_RUNTIME_CPU_SETTINGS_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pp_cpu_settings {
    int64_t hidden, heads, mlp;
    int64_t vocab;  /* 0: pseudo-random inputs and mean squared error */
    bool tied;      /* the head is the embedding, transposed */
    int64_t tokens; /* tokens of a microbatch, if no sequences are given */
    bool single;    /* float in place of double */
    bool bf16;      /* compute cuda: bf16 in place of float; sums are float */
    double lr;
    bool recompute; /* of a layer, only its input is kept from F to B */
} pp_cpu_settings;

/* Parses the settings of compute cpu. Settings that are not given have their defaults. Fails:
 * USAGE. */
PP_MUST_CHECK pp_status pp_cpu_settings_parse(const char *text, pp_cpu_settings *out, pp_err *err);
/* Parses the settings of compute cuda, where dtype is float or bf16. */
PP_MUST_CHECK pp_status pp_gpu_settings_parse(const char *text, pp_cpu_settings *out, pp_err *err);

#define PP_GPU_TOLERANCE_F32 1e-5 /* of verification against double */
#define PP_GPU_TOLERANCE_BF16 0.1
#define PP_GPU_HEAD_MAX 256 /* elements of an attention head: several blocks fit on an SM */

#endif
