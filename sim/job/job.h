/* What is asked beside model and hardware: how the model is split, what the training software
 * does, and what data one step gets. Plain values. */
#ifndef PPSIM_SIM_JOB_JOB_H
#define PPSIM_SIM_JOB_JOB_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_LENGTH_MAX ((int64_t)1 << 24)            /* of one sequence, and of a bin, in tokens */
#define PP_MICROBATCH_TOKENS_MAX ((int64_t)1 << 31) /* so that square sums stay below 2^55 */
#define PP_MICROBATCHES_MAX ((int64_t)1 << 24)      /* per step, all replicas */
#define PP_LENGTHS_MAX ((size_t)1 << 24)            /* sequences per step */

typedef struct pp_parallel {
    int64_t pp;  /* pipeline ranks p */
    int64_t tp;  /* tensor parallel */
    int64_t cp;  /* context parallel */
    int64_t dp;  /* data parallel replicas */
    int64_t ep;  /* expert parallel, inside dp x cp */
    int64_t vpp; /* chunks per pipeline rank v */
} pp_parallel;

int64_t pp_parallel_gpus(const pp_parallel *parallel); /* pp x tp x cp x dp */

/* Where stage s of S = p * v lives. */
typedef enum pp_placement {
    PP_PLACE_LOOP,          /* rank s mod p */
    PP_PLACE_V,             /* 0..p-1, p-1..0, ... */
    PP_PLACE_BIDIRECTIONAL, /* rank s, and for the second half of the microbatches p - 1 - s */
} pp_placement;

/* Bidirectional: that of the first half of the microbatches. */
uint32_t pp_placement_rank(pp_placement placement, uint32_t stage, uint32_t ranks);
/* Does `rank` hold the parameters of the stage? */
bool pp_placement_holds(pp_placement placement, uint32_t stage, uint32_t ranks, uint32_t rank);
const char *pp_placement_name(pp_placement placement);

typedef enum pp_recompute {
    PP_RECOMPUTE_NONE,
    PP_RECOMPUTE_SELECTIVE,    /* the attention core (Korthikanti 2022) */
    PP_RECOMPUTE_FULL,         /* only the layer's input is kept */
    PP_RECOMPUTE_AUTO,         /* the planner chooses; never reaches the cost model */
    PP_RECOMPUTE_STAGES,       /* each pp_stage says it of its layers */
    PP_RECOMPUTE_MICROBATCHES, /* a pp_recompute_table says it of every microbatch */
    PP_RECOMPUTE_UNKNOWN,      /* of a plan that does not say it; never reaches the cost model */
} pp_recompute;

/* Names of those before UNKNOWN, in their order, ends with NULL: none, selective, full, auto,
 * per-stage, per-microbatch. */
const char *const *pp_recompute_names(void);
/* Of UNKNOWN it is "". */
const char *pp_recompute_name(pp_recompute recompute);

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
/* The --lanes that follow. index: into the names. */

/* What a pipeline transfer is made of. Collectives are of its two ranks; both must be there. */
typedef enum pp_p2p {
    PP_P2P_SEND_RECV,
    PP_P2P_ALL_GATHER, /* each gets both tensors; the sender throws the other away */
    PP_P2P_ALL_REDUCE, /* the receiver adds zeros */
} pp_p2p;

/* "send-recv", "all-gather", "all-reduce", NULL. */
const char *const *pp_p2p_names(void);

/* Habits of the training software; a --stack is a named set of them (costmodel.md's stacks). */
typedef struct pp_switches {
    pp_recompute recompute;
    bool sequence_parallel;
    bool flash_attention;   /* otherwise unfused: batched GEMMs, softmax, dropout */
    bool grad_sync_overlap; /* the data-parallel gradient reduction hides under the backward */
    bool p2p_overlap;       /* pipeline transfers run beside compute (interleaved schedules) */
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

/* What one stage holds, in order: embedding, layers, MTP modules, final norm + head + loss. */
typedef struct pp_stage {
    int64_t first_layer; /* 0-based */
    int64_t layers;
    int64_t mtp;
    bool embedding;
    bool loss;
    int64_t full;      /* with PP_RECOMPUTE_STAGES: so many of its first layers keep only their */
    int64_t selective; /* input, so many after them all but the attention core */
} pp_stage;

/* Lengths of the sequences packed into one microbatch: `count` of them from `first` on in
 * pp_workload.lengths. */
typedef struct pp_microbatch {
    int64_t tokens;      /* T: sum of lengths */
    int64_t square_sum;  /* Q: sum of squared lengths */
    size_t first, count; /* into lengths */
} pp_microbatch;

/* The data of one step. Owner frees with pp_workload_free. */
typedef struct pp_workload {
    uint32_t replicas;     /* data-parallel ranks with lists of their own: 1 when all are alike */
    uint32_t microbatches; /* m, per replica */
    pp_microbatch *microbatch; /* [replicas * microbatches], replica-major */
    int64_t *lengths;          /* [length_count] */
    size_t length_count;
    size_t first_fit_bins; /* what packing began with; 0: not packed, or read from a plan */
    size_t bins;           /* after splitting; of groups: their number; 0: read from a plan */
} pp_workload;

/* m microbatches of `micro_batch_size` sequences of `seq_length` tokens; they share their part of
 * lengths. Fails: NOMEM, INPUT beyond the limits above. */
PP_MUST_CHECK pp_status pp_workload_fixed(uint32_t microbatches, int64_t micro_batch_size,
                                          int64_t seq_length, pp_workload *workload_out,
                                          pp_err *err);

/* Packs `lengths` in the order given, first fit, into bins of `seq_length` tokens;
 * `micro_batch_size` bins make a microbatch, microbatches go to `replicas` in turn. Every replica
 * gets equally many; where the count does not divide, the fullest bins are split (between two
 * sequences, as evenly as that allows). Bins are ordered by their first sequence.
 * multiple_of: m is made a multiple of it where enough sequences exist (interleaved schedules).
 * Fails: INPUT when a sequence is longer than a bin; USAGE when there are too few sequences to give
 * every replica equally many microbatches, none empty; INPUT beyond the limits above; NOMEM. */
PP_MUST_CHECK pp_status pp_workload_pack(const int64_t *lengths, size_t count, int64_t seq_length,
                                         int64_t micro_batch_size, uint32_t replicas,
                                         uint32_t multiple_of, pp_workload *workload_out,
                                         pp_err *err);

/* The groups as they are, a microbatch each: to `replicas` in turn, microbatch k to k mod replicas.
 * group_end: [group_count], the sequences of group k end before it; the last one is `count`.
 * Fails: INPUT when a sequence is longer than seq_length; USAGE when replicas do not divide the
 * groups; INPUT beyond the limits above; NOMEM. */
PP_MUST_CHECK pp_status pp_workload_group(const int64_t *lengths, const size_t *group_end,
                                          size_t group_count, int64_t seq_length, uint32_t replicas,
                                          pp_workload *workload_out, pp_err *err);

/* What a file of lengths holds. Owner frees with pp_lengths_free. */
typedef struct pp_lengths {
    int64_t *length; /* [count] */
    size_t count;
    size_t
        *group_end; /* [group_count]: where each microbatch ends; NULL: the file groups nothing */
    size_t group_count;
} pp_lengths;

/* Reads lengths: one whole number per line (# starts a comment), or a JSON array of them, or a JSON
 * array of microbatches that are arrays of them. name: for messages. Fails: INPUT with line:column
 * or pointer (none at all, an empty microbatch, a length below 1 or beyond PP_LENGTH_MAX, more than
 * PP_LENGTHS_MAX), NOMEM. */
PP_MUST_CHECK pp_status pp_lengths_parse(const char *text, size_t bytes, const char *name,
                                         pp_lengths *lengths_out, pp_err *err);

void pp_lengths_free(pp_lengths *lengths); /* for PP_CLEANUP; all zero is fine */

void pp_workload_free(pp_workload *workload); /* for PP_CLEANUP; all zero is fine */

/* What a stage recomputes of one microbatch: so many of its first layers keep only their input, so
 * many after them all but the attention core. */
typedef struct pp_recomputed {
    int32_t full, selective;
} pp_recomputed;

/* Of every replica, microbatch and stage. Owner frees with pp_recompute_table_free. */
typedef struct pp_recompute_table {
    uint32_t replicas, microbatches, stages; /* the first two as the workload has them */
    pp_recomputed *of; /* [(replica * microbatches + microbatch) * stages + stage] */
} pp_recompute_table;

/* No layer of any. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_recompute_table_new(uint32_t replicas, uint32_t microbatches,
                                               uint32_t stages, pp_recompute_table *table_out,
                                               pp_err *err);
void pp_recompute_table_free(pp_recompute_table *table); /* for PP_CLEANUP; all zero is fine */

/* What the stages recompute of one microbatch: [table->stages]. */
pp_recomputed *pp_recompute_table_at(const pp_recompute_table *table, uint32_t replica,
                                     uint32_t microbatch);
/* Is there one column for all microbatches of all replicas? */
bool pp_recompute_table_alike(const pp_recompute_table *table);
/* Fails: USAGE when it has another shape than workload and stages; INPUT when a stage recomputes
 * more layers of a microbatch of `replica` than it has. table: NULL is one of no shape. */
PP_MUST_CHECK pp_status pp_recompute_table_check(const pp_recompute_table *table,
                                                 const pp_stage *stages, uint32_t stage_count,
                                                 const pp_workload *workload, uint32_t replica,
                                                 pp_err *err);

#endif
