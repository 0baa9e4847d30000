/* What the training software does: its switches, data types and communicators. */
#ifndef PPSIM_SIM_JOB_SOFTWARE_H
#define PPSIM_SIM_JOB_SOFTWARE_H

#include "sim/base/status.h"
#include "sim/job/cuda_graphs.h"
#include "sim/job/parallel.h"
#include "sim/job/precision.h"
#include "sim/job/recompute.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum pp_dtype {
    PP_DTYPE_BF16,
    PP_DTYPE_FP16,
    PP_DTYPE_FP32,
    PP_DTYPE_FP64, /* of the runtime's compute backend cpu */
} pp_dtype;

int64_t pp_dtype_bytes(pp_dtype dtype);
/* "bf16", "fp16", "fp32", NULL; a name's index is its type. */
const char *const *pp_dtype_names(void);

/* The data type of Adam's two moments. */
typedef enum pp_moments {
    PP_MOMENTS_FP32,
    PP_MOMENTS_BF16,
    PP_MOMENTS_FP16,
    PP_MOMENTS_FP8,
    PP_MOMENTS_COUNT,
} pp_moments;

/* "fp32", "bf16", "fp16", "fp8", NULL. */
const char *const *pp_moments_names(void);
double pp_moment_bytes(pp_moments moments);

/* The communicator of pipeline transfers. Its size decides how many channels a message gets
 * (docs/explanation/cost-model.md), and all its transfers form one queue. */
typedef enum pp_communicators {
    PP_COMMUNICATORS_DEFAULT,  /* the pp ranks; a message inside a node gets all channels */
    PP_COMMUNICATORS_WORLD,    /* all GPUs of the job */
    PP_COMMUNICATORS_PP,       /* the ranks of one pipeline */
    PP_COMMUNICATORS_PER_EDGE, /* two ranks, a communicator for each pair of neighbours */
} pp_communicators;

/* "world", "pp", "per-edge", NULL; the index of a value's name is value - 1. */
const char *const *pp_communicators_names(void);

/* The operation that a pipeline transfer uses. Collectives involve both of its ranks at once. */
typedef enum pp_p2p {
    PP_P2P_SEND_RECV,
    PP_P2P_ALL_GATHER, /* each rank gets both tensors; the sender drops the other one */
    PP_P2P_ALL_REDUCE, /* the receiver adds zeros */
} pp_p2p;

/* "send-recv", "all-gather", "all-reduce", NULL. */
const char *const *pp_p2p_names(void);

/* How the context-parallel ranks exchange, each with its part of every sequence, what attention
 * needs of the others' parts. */
typedef enum pp_cp_comm {
    PP_CP_COMM_RING,         /* keys and values go around from rank to rank, while attention runs */
    PP_CP_COMM_ALL_TO_ALL,   /* each rank gets some of the heads of whole sequences, and back */
    PP_CP_COMM_ALL_GATHER,   /* each rank gathers all keys and values before attention */
    PP_CP_COMM_HIERARCHICAL, /* all-to-all among ranks of a node, a ring over these groups */
} pp_cp_comm;

/* "ring", "all-to-all", "all-gather", "hierarchical", NULL; a name's index is its kind. */
const char *const *pp_cp_comm_names(void);

/* How tokens reach their experts (sim/cost/dispatch.h). */
typedef enum pp_dispatcher {
    PP_DISPATCHER_ALLTOALL,  /* NCCL's all-to-all, a copy for each expert of a token */
    PP_DISPATCHER_ALLGATHER, /* every rank gets all tokens */
    PP_DISPATCHER_DEEPEP,    /* a copy for each node, which passes it on to its ranks */
    PP_DISPATCHER_DEEPEP_LL, /* its low-latency kernels: a copy for each expert, there in 8 bits */
    PP_DISPATCHER_HYBRIDEP,  /* as DeepEP, sorted by expert on the way */
} pp_dispatcher;

#define PP_IMBALANCE_MOST 1024.0
#define PP_CAPACITY_LEAST 0.01 /* of the capacity of an expert, over the mean of its rows */

/* "alltoall", "allgather", "deepep", "deepep-ll", "hybridep", NULL; a name's index is its kind. */
const char *const *pp_dispatcher_names(void);
/* True if it can send rows to experts in 8 bits. */
bool pp_dispatcher_has_fp8(pp_dispatcher kind);

#define PP_RESHARD_NEVER 0
#define PP_RESHARD_ALWAYS (-1)

/* Settings of the training software. A stack (sim/job/stack.h) is a named set of
 * them. */
typedef struct pp_switches {
    pp_recompute recompute;
    /* With FULL, the layers of a chunk: the input of its first is kept, and before its backward all
     * are recomputed; 0: 1. With STAGES, the layers that each stage recomputes, its first ones; 0:
     * the stages differ. Megatron-LM's methods "uniform" and "block" (recompute_num_layers). */
    int64_t recompute_layers;
    unsigned recompute_modules; /* what selective recomputation recomputes; 0: PP_MODULES_CORE */
    bool sequence_parallel;
    bool flash_attention;   /* false: unfused, as batched GEMMs, softmax and dropout */
    bool grad_sync_overlap; /* the data-parallel gradient reduction overlaps with the backward */
    bool p2p_overlap;       /* pipeline transfers overlap with compute (interleaved schedules) */
    bool tp_overlap;        /* part of the tensor-parallel communication overlaps in the backward */
    bool tp_overlap_all;    /* all of it overlaps, in the forward, too (userbuffers) */
    bool fused_wgrad;       /* weight gradients accumulate inside the GEMM */
    bool fused_loss;        /* cross-entropy passes over the logits in few kernels, and writes their
                               gradient over them */
    bool eager_loss;        /* PyTorch's cross_entropy of fp32 logits, not compiled; never fused */
    bool eager_layers;      /* PyTorch runs the ops of layers one by one, not compiled, so that a
                               gated MLP keeps the output of its activation function, too */
    bool deterministic;     /* the same bits in every run: the backward of attention is slower */
    bool cuda_graphs;       /* the stack's: the host launches all kernels of a layer as one */
    unsigned graphs;        /* what else graphs capture: a set of pp_graph */
    bool transformer_engine; /* linear layers are TransformerEngine's, which keeps buffers of its
                                own (sim/cost/workspace.h) */
    pp_dtype grad_dtype;     /* of the main gradients */
    pp_dtype dtype;          /* of activations and weights in compute */
    pp_precision precision;  /* of the GEMMs of layers */
    bool low_parameters;     /* weights are kept and gathered in that precision alone */
    pp_moments moments;
    int zero;             /* ZeRO stage. 1: the optimizer state is divided by dp x cp, 2: also
                             the gradients, 3: and the parameters */
    int64_t dp_replicate; /* with zero 3: copies of the parameters, each divided by dp x cp / this;
                             0: 1 */
    int64_t reshard_after_forward; /* with zero 3: gathered parameters are freed after a forward;
                                      PP_RESHARD_NEVER, PP_RESHARD_ALWAYS, or the GPUs among which
                                      they stay divided in the type of training */
    bool scatter_gather; /* without sequence parallelism, each tp rank sends 1/tp of a tensor,
                            and the receivers gather it */
    pp_communicators communicators;
    pp_p2p p2p;
    pp_cp_comm cp_comm;
    pp_dispatcher dispatcher; /* of models with experts */
    bool moe_fp8_dispatch;    /* rows go to experts in 8 bits, and come back in those of dtype */
    bool moe_shared_expert_overlap; /* shared experts compute while rows are on their way */
    double moe_imbalance;           /* rows of the busiest rank's experts over the mean; 0: 1 */
    double moe_capacity; /* the most rows of an expert over the mean, others are dropped; 0: none */
    bool moe_pads;       /* all experts have as many rows as fit their capacity */
    double moe_kept;     /* of the rows that routers choose, those not dropped; 0: all that fit if
                            the mean does */
    /* The share of the speed of kernels that remains in a whole step, with GEMMs in 16 bits and in
     * fewer; 0: the hardware's. */
    double sustained, sustained_low;
    double growth;        /* what compute takes longer with each doubling of the GPUs beyond 8 */
    double power_limit;   /* of the power that a GPU may draw; 0: all of it */
    double step_offset_s; /* what a step takes in addition to what the hardware file says */
} pp_switches;

/* "never", "always" or a number of GPUs, 2 or more. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_reshard_parse(const char *text, int64_t *reshard_out, pp_err *err);
/* Returns buffer. */
const char *pp_reshard_print(int64_t reshard, char *buffer, size_t size);

/* Bytes of a weight of a layer as its GEMMs read it: in 8 and 4 bits quantized, as it is and
 * transposed, and unless it is kept in that precision alone also in 16 bits. */
double pp_weight_bytes(const pp_switches *switches);
/* Bytes of optimizer state of a parameter that a GPU owns: the master weight and two moments. If
 * the moments are not in fp32, Megatron-Core's optimizer keeps of the master weight only what the
 * bf16 weight lacks. */
double pp_optimizer_bytes(const pp_switches *switches);

#endif
