/* One microbatch on one GPU: its sizes, and the times of the kernels and collectives that units are
 * made of. */
#ifndef PPSIM_SIM_COST_GPU_BATCH_H
#define PPSIM_SIM_COST_GPU_BATCH_H

#include "sim/cost/cost_model.h"
#include "sim/cost/kernel.h"

/* Durations of one piece of work, in seconds. */
typedef struct pp_work {
    double f, i, w;
    double saved; /* b is i + w less this */
} pp_work;

/* One microbatch on one GPU. */
typedef struct pp_gpu_batch {
    const pp_cost_context *context;
    const pp_model *model;
    const pp_hardware *hw;
    double t;              /* tensor-parallel degree */
    double tokens;         /* T / cp */
    double raw_square_sum; /* Q */
    double square_sum;     /* what attention computes: Q, or less with a sliding window, over cp */
    double all_tokens;     /* T */
    double all_square_sum; /* as square_sum, all of cp */
    double element_bytes;
    double row_bytes;      /* A: tokens x hidden, full */
    double norm_bytes;     /* A' = A / t with sequence parallel, else A */
    double longest, tiles; /* of its sequences, as pp_measured_at has them */
    bool sequence_parallel;
    bool fp32;
    bool rope;
    pp_collective_group tensor_group;
} pp_gpu_batch;

pp_gpu_batch pp_gpu_batch_of(const pp_cost_context *context, int64_t tokens, int64_t square_sum);

/* Widths of the attention of a layer on one GPU, in elements per token. */
typedef struct pp_attention_widths {
    double heads; /* on this GPU */
    double qk_dim, v_dim;
    double q, k, v, o; /* as the attention kernel reads and writes them */
} pp_attention_widths;

pp_attention_widths pp_attention_widths_of(const pp_gpu_batch *local);
/* A product of `batch` matrices, m x n summed over k. */
double pp_gpu_gemm_seconds(const pp_gpu_batch *local, double m, double n, double k, double batch,
                           pp_gemm_pass pass);
/* Adds a linear layer with `groups` independent weights n x k, m rows each. */
void pp_add_linear(const pp_gpu_batch *local, double m, double n, double k, double groups,
                   pp_work *work);
/* Bytes moved by elementwise kernels: forward, backward for input. */
void pp_add_elementwise(const pp_gpu_batch *local, double forward_bytes, double backward_bytes,
                        pp_work *work);
/* Around a column- and row-parallel pair: all-reduce, or all-gather and reduce-scatter. */
void pp_add_tensor_parallel(const pp_gpu_batch *local, double bytes, pp_work *work);
double pp_gather_seconds(const pp_gpu_batch *local, pp_collective kind, double bytes);

#endif
