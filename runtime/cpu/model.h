/* The model that the backends cpu and cuda compute, and the sizes of its tensors: everything that
 * does not depend on the element type. docs/explanation/runtime-cpu.md has the equations and sizes.
 */
#ifndef PPSIM_RUNTIME_CPU_MODEL_H
#define PPSIM_RUNTIME_CPU_MODEL_H

#include "runtime/core/compute.h"
#include "runtime/cpu/settings.h"
#include "sim/base/random.h"

typedef struct pp_cpu_stage {
    uint64_t first_layer;
    int64_t layers;
    bool first, last;
    bool embedding, head;
} pp_cpu_stage;

/* The sequences of one microbatch. lengths: tokens that are computed; counted: of these, the tokens
 * that the loss counts. */
typedef struct pp_cpu_batch {
    int64_t tokens, longest;
    size_t sequences;
    const int64_t *lengths, *counted;
    uint64_t first_sequence; /* index in the step of the first sequence, which the data depend on */
} pp_cpu_batch;

typedef struct pp_cpu_model {
    pp_cpu_settings settings;
    uint64_t seed;
    uint32_t stages, microbatches;
    uint32_t replicas; /* that share this model; blocks of parameters divide into as many parts */
    bool forward_only;
    bool gpu;          /* has settings and scratch of compute cuda */
    const char *where; /* the place that errors name, "compute cpu" */
    size_t real_bytes;
    size_t sum_bytes;      /* of statistics, losses and gradients of weights */
    double counted_tokens; /* in a step */
    pp_cpu_stage *stage;   /* [stages] */
    pp_cpu_batch *batch;   /* [microbatches]; points into the work, or to settings.tokens */
} pp_cpu_model;

/* Makes the model of a work, which must outlive it. gpu: for compute cuda. Fails: USAGE, INPUT,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_cpu_model_new(const pp_compute_work *work, bool gpu,
                                         pp_cpu_model **model_out, pp_err *err);
void pp_cpu_model_free(pp_cpu_model **model); /* for PP_CLEANUP; *model NULL is fine */

/* The tensors that one block keeps, in this order, with their width per token. QKV, H and the
 * logits are replaced by their gradients as soon as they are no longer needed. */
typedef enum pp_cpu_slot {
    PP_CPU_N1,  /* hidden: input of Wqkv */
    PP_CPU_QKV, /* 3 hidden: queries, keys, values; then their gradients */
    PP_CPU_A,   /* hidden: input of Wo */
    PP_CPU_DX1, /* hidden: output gradient of Wo; in F the scratch of the attention */
    PP_CPU_N2,  /* hidden: input of W1 */
    PP_CPU_H,   /* mlp: before GELU; then its gradient */
    PP_CPU_G,   /* mlp: input of W2 */
    PP_CPU_DY,  /* hidden: output gradient of W2 */
    PP_CPU_STASH_SLOTS,
    PP_CPU_R1 = PP_CPU_STASH_SLOTS, /* 1: inverse root mean square before the attention */
    PP_CPU_R2,                      /* 1: the same before the MLP */
    PP_CPU_LSE,                     /* heads: log of the softmax's denominator */
    PP_CPU_SLOTS,
} pp_cpu_slot;

/* Offsets and sizes in bytes of the tensors of one stage and microbatch. Every part begins at a
 * multiple of 64. */
typedef struct pp_cpu_layout {
    size_t message;                /* hidden per token */
    size_t slot[PP_CPU_SLOTS];     /* from the start of its block, in stash or in saved */
    size_t stash_step, saved_step; /* distance from one block to the next; 0: all blocks share one
                                      (evaluation, or recomputation) */
    size_t inputs; /* in stash, with recomputation: the input of each block, `message` apart */
    size_t bottom; /* in stash: gradient of the stage's input, if W needs it or it is not sent */
    size_t norm;   /* in stash: input of the head */
    size_t logits; /* in stash: vocab per token; then their gradient */
    size_t norm_inverse; /* in saved: one sum per token */
    size_t attention;    /* in scratch: after `hidden` elements per token */
    size_t again;        /* in scratch, with recomputation: hidden per token */
    size_t stash_bytes, saved_bytes, scratch_bytes;
} pp_cpu_layout;

/* Returns true if B computes the blocks of a stage again, from their inputs. */
bool pp_cpu_recomputes(const pp_cpu_model *model);
pp_cpu_layout pp_cpu_layout_of(const pp_cpu_model *model, const pp_cpu_stage *stage,
                               const pp_cpu_batch *batch);
/* Returns the number of queries per tile of the attention in a sequence of `length`: at most 64, as
 * many as there is memory for. */
int64_t pp_cpu_tile(const pp_cpu_model *model, const pp_cpu_batch *batch, int64_t length);
bool pp_cpu_same_sizes(const pp_cpu_batch *a, const pp_cpu_batch *b);

/* The purpose of a pseudo-random number. */
typedef enum pp_cpu_what {
    PP_CPU_WEIGHT_EMBEDDING, /* vocab x hidden; also of a tied head */
    PP_CPU_WEIGHT_QKV,       /* hidden x 3 hidden */
    PP_CPU_WEIGHT_O,         /* hidden x hidden */
    PP_CPU_WEIGHT_1,         /* hidden x mlp */
    PP_CPU_WEIGHT_2,         /* mlp x hidden */
    PP_CPU_WEIGHT_HEAD,      /* vocab x hidden */
    PP_CPU_TOKEN,
    PP_CPU_INPUT,
    PP_CPU_TARGET,
} pp_cpu_what;

/* One weight matrix of a stage. `offset` is in bytes. */
typedef struct pp_cpu_matrix {
    pp_cpu_what what;
    uint64_t layer;
    size_t rows, columns, offset;
    double scale; /* initial weights are uniform in [-scale, scale) */
} pp_cpu_matrix;

/* Return the number of matrices of a stage, and each of them, in this order: the embedding, then
 * QKV, O, 1 and 2 of each block, then the head. */
size_t pp_cpu_matrix_count(const pp_cpu_stage *stage);
pp_cpu_matrix pp_cpu_matrix_at(const pp_cpu_model *model, const pp_cpu_stage *stage, size_t index);
/* The parameters of a stage, gaps included: a multiple of 64 bytes for each replica. */
size_t pp_cpu_parameter_bytes(const pp_cpu_model *model, const pp_cpu_stage *stage);

/* Return pseudo-random numbers: a hash of all four arguments by splitmix64, and a number in [-1, 1)
 * made of it. */
static inline uint64_t pp_cpu_hash(uint64_t seed, pp_cpu_what what, uint64_t layer, uint64_t index)
{
    uint64_t state = seed;
    state = pp_random_next(&state) + (uint64_t)what;
    state = pp_random_next(&state) + layer;
    state = pp_random_next(&state) + index;
    return pp_random_next(&state);
}

static inline double pp_cpu_uniform(uint64_t seed, pp_cpu_what what, uint64_t layer, uint64_t index)
{
    return (double)(pp_cpu_hash(seed, what, layer, index) >> 11) * 0x1p-52 - 1;
}

/* sequence: index in the step */
static inline uint64_t pp_cpu_token(const pp_cpu_model *model, uint64_t sequence, int64_t position)
{
    return pp_cpu_hash(model->seed, PP_CPU_TOKEN, sequence, (uint64_t)position) %
           (uint64_t)model->settings.vocab;
}

#endif
