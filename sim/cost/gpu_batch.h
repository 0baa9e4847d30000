/* One microbatch on one GPU: its sizes, and the times of the kernels and collectives of which units
 * consist. */
#ifndef PPSIM_SIM_COST_GPU_BATCH_H
#define PPSIM_SIM_COST_GPU_BATCH_H

#include "sim/cost/cost_model.h"
#include "sim/cost/kernel.h"

/* Durations of some work, in seconds, by the op in which it is done. */
typedef struct pp_work {
    double f, i, w;
    double saved; /* a fused backward takes i + w - saved */
} pp_work;

/* One microbatch on one GPU. */
typedef struct pp_gpu_batch {
    const pp_cost_context *context;
    const pp_model *model;
    const pp_hardware *hw;
    pp_layer_type layer;   /* of units that are layers or have one */
    double t;              /* tensor-parallel degree */
    double expert_t;       /* the ranks that divide an expert */
    double imbalance;      /* rows of experts on this GPU over the mean that routers choose */
    double sent;           /* rows that a GPU sends over those that its router chooses */
    double tokens;         /* on this GPU: T / cp */
    double raw_square_sum; /* Q, the sum of squared lengths */
    double square_sum;     /* what attention computes on this GPU: all_square_sum / cp */
    double all_tokens;     /* T, of the microbatch */
    double all_square_sum; /* Q, or less if a token attends to some of the earlier ones only */
    double element_bytes;
    double row_bytes;        /* A: bytes of a tensor of tokens x hidden */
    double norm_bytes;       /* A' = A / t with sequence parallelism, else A */
    double longest, tiles;   /* of its sequences, as in pp_measured_at */
    const pp_recipe *recipe; /* of this unit's linear layers */
    bool sequence_parallel;
    bool fp32;
    bool rope;
    pp_collective_group tensor_group;
} pp_gpu_batch;

/* The same for a layer of a type of the model; type: an index for pp_model_type. */
pp_gpu_batch pp_gpu_batch_of_type(const pp_cost_context *context, int type, int64_t tokens,
                                  int64_t square_sum);
/* The same for the last layer, which is that of the MTP modules, too, and for other units. */
pp_gpu_batch pp_gpu_batch_of(const pp_cost_context *context, int64_t tokens, int64_t square_sum);
/* Returns true if the layer has experts. */
bool pp_gpu_batch_is_moe(const pp_gpu_batch *local);
/* Sets imbalance and sent for routers that give the busiest GPU's experts `imbalance` times the
 * mean of rows, of which those beyond the capacity are dropped. */
void pp_gpu_batch_set_imbalance(pp_gpu_batch *local, double imbalance);

/* The modules of a layer that selective recomputation recomputes: one within another counts once.
 */
unsigned pp_modules_of(const pp_gpu_batch *local);

/* The norms before the halves of a layer, whose outputs are inputs of linear layers. */
double pp_layer_first_norms(const pp_gpu_batch *local);

/* True if the context's costs are without this exchange. */
bool pp_exchange_is_omitted(const pp_gpu_batch *local, pp_exchange_kind kind);

/* Widths of the attention of a layer on one GPU, in elements per token. */
typedef struct pp_attention_widths {
    double heads; /* on this GPU */
    double qk_dim, v_dim;
    double q, k, v, o; /* that the attention kernel reads and writes */
} pp_attention_widths;

pp_attention_widths pp_attention_widths_of(const pp_gpu_batch *local);
/* The time of `batch` products of m x n elements, each summed over k, in 16 or 32 bits. */
double pp_gpu_gemm_seconds(const pp_gpu_batch *local, double m, double n, double k, double batch,
                           pp_gemm_pass pass);
/* Adds a linear layer with `groups` independent weights of n x k, each applied to m rows by a GEMM
 * of its own, in the precision of the unit; its input and the gradient of its output are quantized.
 * TransformerEngine calls cuBLAS once per expert (its multi_stream_cublas_gemm). */
void pp_add_linear(const pp_gpu_batch *local, double m, double n, double k, double groups,
                   pp_work *work);
/* Adds elementwise kernels that move these bytes in the forward and in the backward for input. */
void pp_add_elementwise(const pp_gpu_batch *local, double forward_bytes, double backward_bytes,
                        pp_work *work);
/* Adds the tensor-parallel collectives around a column-parallel and a row-parallel linear layer:
 * all-reduce, or all-gather and reduce-scatter with sequence parallelism. */
void pp_add_tensor_parallel(const pp_gpu_batch *local, double bytes, pp_work *work);
/* The time of a collective of the tensor-parallel group; 0 without tensor parallelism. bytes: of
 * the whole tensor. */
double pp_gather_seconds(const pp_gpu_batch *local, pp_collective kind, double bytes);

/* The share of the speed of kernels that remains in a whole step: the stack's, if it has one for
 * this GPU, else the hardware's. */
double pp_sustained_of(const pp_cost_context *context);

#endif
