/* Durations and bytes of every op of one step. The cost model produces them, costs files and
 * --costs hold them, and the engine and the memory replay read nothing else.
 *
 * Microbatches of equal cost share a class. Unless stated otherwise, tables are [classes * stages]
 * and indexed by pp_cost_index(costs, stage, microbatch). */
#ifndef PPSIM_SIM_COST_COSTS_H
#define PPSIM_SIM_COST_COSTS_H

#include "sim/base/status.h"
#include "sim/base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pp_costs {
    uint32_t ranks;
    uint32_t stages;
    uint32_t microbatches;
    uint32_t classes;
    uint32_t *class_of; /* [microbatches] */

    pp_ns *f_ns;      /* forward */
    pp_ns *i_ns;      /* backward for input */
    pp_ns *w_ns;      /* backward for weight */
    pp_ns *b_ns;      /* fused backward; i + w unless given */
    pp_ns *pair_ns;   /* an overlapped F and B together, by stage and microbatch of the F; 0: they
                         take F + B less what is hidden */
    pp_ns *hidden_ns; /* the part of F and of B that a pair hides: the smaller of that of its F and
                         that of its B; at most F and at most B */
    bool has_pairs;   /* pair_ns is given, else pairs run one after the other, or */
    bool has_hidden;  /* less hidden_ns, if the program's framework overlaps them */
    pp_ns *send_f_ns; /* latency of the activation from stage s to s + 1; last stage: 0 */
    pp_ns *send_b_ns; /* latency of the gradient from stage s to s - 1; first stage: 0 */

    /* Sharded parameters, [stages]; valid if `sharded`, for programs with the actions UNSHARD and
     * REDUCE_GRAD (sim/program/comm.h). The parameters of a stage are gathered beside the compute
     * of their rank; the first op that needs them waits, and for their copies then. Gradients are
     * reduced while the rank waits, unless it has no later op: then this is in grad_sync_ns. */
    bool sharded;
    pp_ns *unshard_ns;
    pp_ns *unshard_copy_ns;
    pp_ns *reduce_grad_ns;
    double unshard_slowdown; /* factor of compute beside a gather; 0 means 1 */
    double gather_slowdown;  /* factor of a gather beside compute; 0 means 1 */
    /* With regathers a forward frees them again, layer by layer, and the next F, I or B of the
     * stage gathers them in the op: one layer ahead of the compute, so that the gather of its first
     * layer is exposed, and unshard_copy_ns follows. I and B free nothing. Otherwise all zero. */
    bool regathers;
    pp_ns *regather_ns;       /* of all layers of the stage */
    pp_ns *regather_first_ns; /* of its first layer, exposed in F */
    pp_ns *regather_last_ns;  /* of its last layer, exposed in I and B */
    /* With shards_ops no program has these actions: every op gathers what its stage needs in
     * regather_ns, of which regather_first_ns or regather_last_ns are exposed, and frees it, and B
     * also reduces the gradients in reduce_grad_ns, of which reduce_last_ns are exposed at its end.
     * The first op of a stage gathers in unshard_ns, exposed, what stays. gathered_bytes and
     * whole_gradient_bytes are held by one op then, and not regathers is set. */
    bool shards_ops;
    pp_ns *reduce_last_ns;
    /* Bytes of a stage beside its shards: its gathered parameters, its gradients from the first
     * backward for weight until they are reduced, and after that. Valid if has_memory. */
    int64_t *gathered_bytes;
    int64_t *whole_gradient_bytes;
    int64_t *gradient_shard_bytes;
    /* With regathers: the part of gathered_bytes that a forward leaves, and that which it holds
     * while it gathers them again. */
    int64_t *kept_bytes;
    int64_t *passing_bytes;
    uint32_t gathered_stages; /* of a rank, at the same time, at most; 0: all */

    bool has_memory;
    /* For frameworks that split late (below), and not yet part of w_ns and stash_bytes. */
    pp_ns *again_ns;                /* what W recomputes */
    int64_t *weight_gradient_bytes; /* gradients that are held from I to W */
    int64_t *again_bytes;           /* the part of what W recomputes that it holds at the end */
    struct pp_costs *late; /* the same costs under such a framework; NULL: they are alike */

    /* Memory; valid if has_memory. */
    int64_t *activation_bytes; /* held from the start of F to the end of B (or of W) */
    int64_t *stash_bytes;      /* the part of activation_bytes held between the ends of I and W */
    int64_t *recompute_bytes;  /* recomputed activations: held in addition while B or I runs */
    int64_t *logits_bytes;     /* loss stage: held in addition from the start of F to the end of B
                                  or I */
    int64_t *temporary_bytes;  /* gradients inside an op: held in addition while B or I runs */
    int64_t *w_extra_bytes;    /* held in addition while W runs */
    int64_t *output_bytes;     /* loss stage: the part of the logits that a step may return */
    int64_t *message_bytes;    /* the tensor from stage s to s + 1, and likewise its gradient */
    int64_t *parameter_bytes;  /* [ranks], as are the next four; if sharded, of the shards */
    int64_t *gradient_bytes;   /* if sharded: 0, with shards_ops their shards */
    int64_t *optimizer_bytes;
    int64_t *workspace_bytes; /* buffers that libraries of the training program keep */
    int64_t *comm_library_bytes;
    int64_t *limit_bytes; /* [ranks]: the rank's own memory limit; 0: the common one holds */

    /* What follows a rank's last op, [ranks]. */
    pp_ns *grad_sync_ns; /* exposed part of the data-parallel gradient reduction */
    pp_ns *tied_ns;      /* tied-embedding all-reduce between first and last stage */
    pp_ns *optimizer_ns;
    pp_ns fixed_ns; /* per step */

    /* For throughput; 0 if not known. */
    double model_flops;      /* of the step over all GPUs: forward + backward, no recompute */
    double peak_flops_per_s; /* of all GPUs together, at the training dtype */
    double tokens;           /* of the step, all replicas */
} pp_costs;

/* The memory limit of `rank`. limit_bytes: the common limit; 0: none. */
static inline int64_t pp_costs_limit(const pp_costs *costs, uint32_t rank, int64_t limit_bytes)
{
    return costs->limit_bytes[rank] ? costs->limit_bytes[rank] : limit_bytes;
}

static inline size_t pp_cost_index(const pp_costs *costs, uint32_t stage, uint32_t microbatch)
{
    return (size_t)costs->class_of[microbatch] * costs->stages + stage;
}

/* Costs that are all zero, with all tables allocated.
 * Fails: NOMEM; INPUT beyond the limits (stages and ranks 65535, microbatches 2^24). */
PP_MUST_CHECK pp_status pp_costs_new(uint32_t ranks, uint32_t stages, uint32_t microbatches,
                                     uint32_t classes, pp_costs **costs_out, pp_err *err);
/* A copy in which every microbatch is a class of its own. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_costs_spread(const pp_costs *costs, pp_costs **spread_out, pp_err *err);
void pp_costs_free(pp_costs **costs); /* for PP_CLEANUP; *costs NULL is fine */

/* Makes the ops of a cell (row: its index) those of a framework that splits late, as PyTorch does:
 * I frees nothing, so that W finds all activations and the gradients of all outputs; with full
 * recomputation W runs each layer again for every op with weights, and holds what it made until
 * all are done; on the first stage I does
 * nothing and W does both. Measured with PyTorch 2.13 and 2.15 (stage_backward_input and
 * stage_backward_weight of torch.distributed.pipelining). */
void pp_costs_split_late(pp_costs *costs, uint32_t stage, size_t row);
/* Makes costs->late. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_costs_add_late(pp_costs *costs, pp_err *err);

/* One duration per kind of op, the same for all stages and microbatches (for abstract studies). */
typedef struct pp_uniform_costs {
    pp_ns f_ns, i_ns, w_ns;
    pp_ns b_ns;    /* negative: i + w */
    pp_ns comm_ns; /* of every edge between different ranks, in both directions */
    pp_ns pair_ns; /* of an overlapped F and B together; 0: they run one after the other */
} pp_uniform_costs;

/* Parses "F=18.5ms,I=18.1ms,W=9.3ms,comm=0.6ms". B= may replace I= and W=, or be given together
 * with them as their sum; B= alone is halved into I and W (W gets the larger half). FB= is the
 * duration of an overlapped pair; it may be longer than F and B one after the other, but not
 * shorter than the longer of the two. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_uniform_costs_parse(const char *text, pp_uniform_costs *out,
                                               pp_err *err);
PP_MUST_CHECK pp_status pp_costs_uniform(const pp_uniform_costs *uniform, uint32_t ranks,
                                         uint32_t stages, uint32_t microbatches,
                                         pp_costs **costs_out, pp_err *err);

/* By how much each op changes the memory of its rank: in activations of one (stage, microbatch), as
 * in "F=1,I=-0.5,W=-0.5", or in bytes, as in "F=1GiB,I=-512MiB,W=-512MiB". The three sum to 0 and F
 * is positive. */
typedef struct pp_memory_costs {
    double f, i, w; /* in activations; f is 1 if bytes are given */
    int64_t f_bytes, i_bytes, w_bytes;
    bool in_bytes;
} pp_memory_costs;

PP_MUST_CHECK pp_status pp_memory_costs_parse(const char *text, pp_memory_costs *out, pp_err *err);
/* Sets has_memory, and activation_bytes and stash_bytes of every op. `memory` must be in_bytes. */
void pp_costs_set_memory(pp_costs *costs, const pp_memory_costs *memory);

#endif
