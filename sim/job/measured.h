/* What was measured on the machine on which a plan will run. The cost model asks here first, and
 * models whatever was not measured; calib/profile/measured.h answers from a profile. */
#ifndef PPSIM_SIM_JOB_MEASURED_H
#define PPSIM_SIM_JOB_MEASURED_H

#include "sim/job/precision.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum pp_measured_kind {
    /* Each of the first three is the base of four kinds: PP_MEASURED_LAYER + PP_OP_B is the fused
     * backward of a layer. */
    PP_MEASURED_LAYER,                         /* one layer */
    PP_MEASURED_FIRST = PP_MEASURED_LAYER + 4, /* what the first stage adds to its layers */
    PP_MEASURED_LAST = PP_MEASURED_FIRST + 4,  /* what the last stage adds; may be negative */
    PP_MEASURED_STAGES = PP_MEASURED_LAST + 4, /* the number of kinds above */
    /* Products of m x n elements, each a sum over k, as in calib/probe/cpu_gemm.c. */
    PP_MEASURED_GEMM_FWD = PP_MEASURED_STAGES,
    PP_MEASURED_GEMM_DGRAD,
    PP_MEASURED_GEMM_WGRAD,
    PP_MEASURED_ATTENTION_FWD,
    PP_MEASURED_ATTENTION_BWD,
    PP_MEASURED_QUANTIZE, /* to a format with a scale that is there; this and all that follow have
                             bytes */
    PP_MEASURED_QUANTIZE_CURRENT, /* with the scale of the tensor's own largest element */
    PP_MEASURED_MESSAGE,          /* this and all that follow measure links */
    PP_MEASURED_ALL_REDUCE,
    PP_MEASURED_ALL_GATHER,
    PP_MEASURED_REDUCE_SCATTER,
    PP_MEASURED_ALL_TO_ALL,
} pp_measured_kind;

/* The quantity that is asked for. Members that its kind does not use are 0. */
typedef struct pp_measured_at {
    pp_measured_kind kind;
    double tokens, square_sum, longest,
        tiles; /* of stages and attention: calib/samples/samples.h */
    double m, n, k;
    pp_gemm_format format; /* of the operands of products, and to which tensors are quantized */
    double experts;        /* products of so many experts, which share m, or k with GEMM_WGRAD; 0:
                              one product */
    double bytes;    /* of the message, of the whole tensor of a collective, or that a quantization
                        reads and writes */
    int64_t ranks;   /* of the communicator */
    bool spans;      /* more than one node */
    bool other_node; /* messages: to a rank of another node */
} pp_measured_at;

/* A source of measurements. Its maker documents how long `context` lives. */
typedef struct pp_measured {
    /* Returns false, and leaves *seconds_out unchanged, if the quantity was not measured. */
    bool (*ask)(void *context, const pp_measured_at *at, double *seconds_out);
    void *context;
    /* True when times of stages were taken by the host and hence contain its gap between ops
     * (pp_hardware.host_gap_s); sums of kernel times on the device do not contain it. */
    bool holds_gap;
} pp_measured;

#endif
