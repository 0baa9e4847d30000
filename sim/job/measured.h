/* What was measured where a plan is to run. The cost model asks here first and models what it gets
 * no answer for; calib/profile/measured.h answers from a profile. */
#ifndef PPSIM_SIM_JOB_MEASURED_H
#define PPSIM_SIM_JOB_MEASURED_H

#include <stdbool.h>
#include <stdint.h>

typedef enum pp_measured_kind {
    PP_MEASURED_LAYER, /* one layer: PP_MEASURED_LAYER + PP_OP_F, PP_OP_I, PP_OP_W or PP_OP_B */
    PP_MEASURED_FIRST =
        PP_MEASURED_LAYER + 4,                /* what the first stage does beside its layers, and */
    PP_MEASURED_LAST = PP_MEASURED_FIRST + 4, /* the last: likewise; may be negative */
    PP_MEASURED_STAGES = PP_MEASURED_LAST + 4,
    PP_MEASURED_GEMM_FWD =
        PP_MEASURED_STAGES, /* m x n summed over k, as calib/probe/cpu_gemm.c has them */
    PP_MEASURED_GEMM_DGRAD,
    PP_MEASURED_GEMM_WGRAD,
    PP_MEASURED_ATTENTION_FWD,
    PP_MEASURED_ATTENTION_BWD,
    PP_MEASURED_MESSAGE, /* links from here on */
    PP_MEASURED_ALL_REDUCE,
    PP_MEASURED_ALL_GATHER,
    PP_MEASURED_REDUCE_SCATTER,
    PP_MEASURED_ALL_TO_ALL,
} pp_measured_kind;

/* What is asked for; what does not belong to its kind is 0. */
typedef struct pp_measured_at {
    pp_measured_kind kind;
    double tokens, square_sum, longest,
        tiles; /* stages and attention; as in calib/samples/samples.h */
    double m, n, k;
    double bytes;    /* of the message, or of the whole tensor of a collective */
    int64_t ranks;   /* of the communicator */
    bool spans;      /* more than one node */
    bool other_node; /* messages: to a rank of another node */
} pp_measured_at;

/* A value; whoever made it says how long `context` lives. */
typedef struct pp_measured {
    /* False: not measured. */
    bool (*ask)(void *context, const pp_measured_at *at, double *seconds_out);
    void *context;
    bool holds_gap; /* times of stages were taken by the host, whose gap between ops
                       (pp_hardware.host_gap_s) is in them; those of the device's kernels have none
                     */
} pp_measured;

#endif
