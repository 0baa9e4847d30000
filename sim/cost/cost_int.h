/* Shared by the files of the cost model (sim/cost_*.c). */
#ifndef PPSIM_SIM_COST_COST_INT_H
#define PPSIM_SIM_COST_COST_INT_H

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

/* A microbatch as costs see it. */
typedef struct pp_batch {
    int64_t tokens, square_sum;
    double longest, tiles;           /* 0: sequences are taken as equally long */
    const pp_recomputed *recomputed; /* by its stages, borrowed; NULL: all microbatches are alike */
} pp_batch;

/* The longest sequence and the tiles: only where something was measured. microbatch: one of the
 * workload's. */
pp_batch pp_batch_of(const pp_cost_context *context, const pp_workload *workload,
                     const pp_microbatch *microbatch);

/* Numbers classes of equal microbatches by first use. class_of: [count]. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_cost_classify(const pp_cost_context *context,
                                         const pp_workload *workload,
                                         const pp_microbatch *microbatches, uint32_t count,
                                         uint32_t *class_of, uint32_t *classes_out, pp_err *err);

/* Widths of the attention of a layer on one GPU, in elements per token. */
typedef struct pp_attention_widths {
    double heads; /* on this GPU */
    double qk_dim, v_dim;
    double q, k, v, o; /* as the attention kernel reads and writes them */
} pp_attention_widths;

pp_attention_widths pp_attention_widths_of(const pp_gpu_batch *local);
double pp_padded_vocab(const pp_cost_context *context);

/* Adds a linear layer with `groups` independent weights n x k, m rows each. */
void pp_add_linear(const pp_gpu_batch *local, double m, double n, double k, double groups,
                   pp_work *work);
/* Bytes moved by elementwise kernels: forward, backward for input. */
void pp_add_elementwise(const pp_gpu_batch *local, double forward_bytes, double backward_bytes,
                        pp_work *work);
/* Around a column- and row-parallel pair: all-reduce, or all-gather and reduce-scatter. */
void pp_add_tensor_parallel(const pp_gpu_batch *local, double bytes, pp_work *work);
double pp_gather_seconds(const pp_gpu_batch *local, pp_collective kind, double bytes);

/* As measured: F, I, W and B of the kinds from `first_kind` on. B alone is taken as I and W of
 * equal length. False: not measured. */
bool pp_measured_work(const pp_gpu_batch *local, pp_measured_kind first_kind, pp_work *work_out);

/* Times, recomputation included. */
pp_work pp_layer_work(const pp_gpu_batch *local, bool moe);
pp_work pp_embedding_work(const pp_gpu_batch *local);
pp_work pp_loss_work(const pp_gpu_batch *local);
pp_work pp_mtp_work(const pp_gpu_batch *local);

/* Fills the byte counts and the parameters of `cost`. */
void pp_layer_memory(const pp_gpu_batch *local, bool moe, pp_unit_cost *cost);
void pp_embedding_memory(const pp_gpu_batch *local, pp_unit_cost *cost);
void pp_loss_memory(const pp_gpu_batch *local, pp_unit_cost *cost);
void pp_mtp_memory(const pp_gpu_batch *local, pp_unit_cost *cost);

/* Forward + backward over the model-parallel group, attention counted in full. */
double pp_layer_flops(const pp_gpu_batch *local, bool moe);
double pp_loss_flops(const pp_gpu_batch *local);
double pp_mtp_flops(const pp_gpu_batch *local);

/* One tensor of `bytes` from pipeline rank to pipeline rank, as the switches say. */
double pp_transfer_seconds(const pp_cost_context *context, uint32_t from, uint32_t to,
                           double bytes);
/* How many communicators a rank has for them. */
int pp_pipeline_communicators(const pp_cost_context *context, uint32_t rank, uint32_t stages);
bool pp_ranks_share_node(const pp_cost_context *context, uint32_t rank, uint32_t other);

/* Everything that belongs to a rank and not to an op. stages: [costs->stages]. Durations of `costs`
 * must be there. */
PP_MUST_CHECK pp_status pp_cost_step(const pp_cost_context *context, const pp_stage *stages,
                                     pp_costs *costs, pp_err *err);

#endif
