/* What the training software does: its switches, data types and communicators. */
#ifndef PPSIM_SIM_JOB_SOFTWARE_H
#define PPSIM_SIM_JOB_SOFTWARE_H

#include "sim/base/status.h"
#include "sim/job/recompute.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum pp_dtype {
    PP_DTYPE_BF16,
    PP_DTYPE_FP16,
    PP_DTYPE_FP32,
    PP_DTYPE_FP64, /* of compute cpu */
} pp_dtype;

int64_t pp_dtype_bytes(pp_dtype dtype);

/* Who shares a communicator with a pipeline transfer: its size decides how many channels a message
 * gets (docs/cost-model.md), and all its transfers are one queue. */
typedef enum pp_communicators {
    PP_COMMUNICATORS_DEFAULT,  /* pp ranks; inside a node a message gets all channels */
    PP_COMMUNICATORS_WORLD,    /* all GPUs of the job */
    PP_COMMUNICATORS_PP,       /* the ranks of one pipeline */
    PP_COMMUNICATORS_PER_EDGE, /* two ranks: one communicator per neighbour */
} pp_communicators;

/* "world", "pp", "per-edge", NULL: value - 1 is the index. */
const char *const *pp_communicators_names(void);

/* What a pipeline transfer is made of. Collectives are of its two ranks; both must be there. */
typedef enum pp_p2p {
    PP_P2P_SEND_RECV,
    PP_P2P_ALL_GATHER, /* each gets both tensors; the sender throws the other away */
    PP_P2P_ALL_REDUCE, /* the receiver adds zeros */
} pp_p2p;

/* "send-recv", "all-gather", "all-reduce", NULL. */
const char *const *pp_p2p_names(void);

/* Habits of the training software; a --stack is a named set of them (--stack in ppsim(1)). */
typedef struct pp_switches {
    pp_recompute recompute;
    bool sequence_parallel;
    bool flash_attention;   /* otherwise unfused: batched GEMMs, softmax, dropout */
    bool grad_sync_overlap; /* the data-parallel gradient reduction hides under the backward */
    bool p2p_overlap;       /* pipeline transfers overlap with compute (interleaved schedules) */
    bool tp_overlap;        /* part of the tensor-parallel communication hides in the backward */
    bool fused_wgrad;       /* weight gradients accumulate inside the GEMM */
    pp_dtype grad_dtype;    /* of the main gradients */
    pp_dtype dtype;         /* of activations and weights in compute */
    int zero;               /* 0, or 1: optimizer state divided over dp */
    bool scatter_gather;    /* without sequence parallel, each tp rank sends 1/tp of a tensor and
                               the receivers gather it */
    pp_communicators communicators;
    pp_p2p p2p;
} pp_switches;

/* Names of the stacks, ends with NULL: megatron-2021, megatron-2022, current. */
const char *const *pp_stack_names(void);
/* recompute is set to AUTO, sequence_parallel to tp > 1 where the stack knows it.
 * Fails: USAGE when `name` is unknown (the text lists the names). */
PP_MUST_CHECK pp_status pp_stack_find(const char *name, int64_t tp, pp_switches *switches_out,
                                      pp_err *err);

#endif
