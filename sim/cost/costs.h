/* Durations and bytes of every op of one step: what the cost model produces, what a costs file or
 * --costs holds, and all that the engine and the memory account read.
 *
 * Microbatches of equal cost share a class, so tables are [classes * stages], class-major:
 * entry pp_cost_index(costs, stage, microbatch). */
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

    pp_ns *f_ns;    /* forward */
    pp_ns *i_ns;    /* backward for input */
    pp_ns *w_ns;    /* backward for weight */
    pp_ns *b_ns;    /* fused backward; i + w unless given */
    pp_ns *pair_ns; /* an overlapped F and B together, where has_pairs: of the forward's stage
                       and microbatch. Without it F and B run one after the other */
    bool has_pairs;
    pp_ns *send_f_ns; /* latency of the activation from stage s to s + 1; last stage: 0 */
    pp_ns *send_b_ns; /* latency of the gradient from stage s to s - 1; first stage: 0 */

    /* Memory; meaningful only when has_memory. */
    bool has_memory;
    int64_t *activation_bytes; /* held from the start of F to the end of B (or of W) */
    int64_t *stash_bytes;      /* the part of it still held between the end of I and of W */
    int64_t *recompute_bytes;  /* extra while B or I runs: the recomputed activations */
    int64_t *logits_bytes;     /* loss stage: extra from the start of F to the end of B or I */
    int64_t *temporary_bytes;  /* extra while B or I runs: the gradients alive inside it */
    int64_t *output_bytes;     /* loss stage: the part of the logits that a step may return */
    int64_t *message_bytes;    /* tensor from stage s to s + 1, and its gradient back */
    int64_t *parameter_bytes;  /* [ranks], as are the next three */
    int64_t *gradient_bytes;
    int64_t *optimizer_bytes;
    int64_t *comm_library_bytes;
    int64_t *limit_bytes; /* [ranks]: the memory limit of a rank that has its own; 0: that of all */

    /* Step boundary, [ranks]: what follows a rank's last op. */
    pp_ns *grad_sync_ns; /* exposed part of the data-parallel gradient reduction */
    pp_ns *tied_ns;      /* tied-embedding all-reduce between first and last stage */
    pp_ns *optimizer_ns;
    pp_ns fixed_ns; /* per step */

    /* For throughput; 0 where not known. */
    double model_flops;      /* of the step over all GPUs: forward + backward, no recompute */
    double peak_flops_per_s; /* of all GPUs together, at the training dtype */
    double tokens;           /* of the step, all replicas */
} pp_costs;

/* limit_bytes: of all ranks; 0: none. */
static inline int64_t pp_costs_limit(const pp_costs *costs, uint32_t rank, int64_t limit_bytes)
{
    return costs->limit_bytes[rank] ? costs->limit_bytes[rank] : limit_bytes;
}

static inline size_t pp_cost_index(const pp_costs *costs, uint32_t stage, uint32_t microbatch)
{
    return (size_t)costs->class_of[microbatch] * costs->stages + stage;
}

/* All tables allocated, zeroed. Fails: NOMEM; INPUT beyond the limits (stages and ranks 65535,
 * microbatches 2^24). */
PP_MUST_CHECK pp_status pp_costs_new(uint32_t ranks, uint32_t stages, uint32_t microbatches,
                                     uint32_t classes, pp_costs **costs_out, pp_err *err);
/* A copy in which every microbatch is a class of its own. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_costs_spread(const pp_costs *costs, pp_costs **spread_out, pp_err *err);
void pp_costs_free(pp_costs **costs); /* for PP_CLEANUP; *costs NULL is fine */

/* One duration per kind, the same on every stage and microbatch (abstract studies). */
typedef struct pp_uniform_costs {
    pp_ns f_ns, i_ns, w_ns;
    pp_ns b_ns;    /* negative: i + w */
    pp_ns comm_ns; /* every edge between different ranks, both ways */
    pp_ns pair_ns; /* an overlapped F and B together; 0: one after the other */
} pp_uniform_costs;

/* "F=18.5ms,I=18.1ms,W=9.3ms,comm=0.6ms", also B= in place of I and W, or beside them as their
 * sum. B alone is halved into I and W (W gets the larger half). FB= is an overlapped pair; it may
 * take longer than F and B one after the other, but not less than the longer of them.
 * Fails: USAGE. */
PP_MUST_CHECK pp_status pp_uniform_costs_parse(const char *text, pp_uniform_costs *out,
                                               pp_err *err);
PP_MUST_CHECK pp_status pp_costs_uniform(const pp_uniform_costs *uniform, uint32_t ranks,
                                         uint32_t stages, uint32_t microbatches,
                                         pp_costs **costs_out, pp_err *err);

/* "F=1,I=-0.5,W=-0.5": signed changes of memory per op in activations of one (stage, microbatch),
 * or, all with units ("F=1GiB,I=-512MiB,W=-512MiB"), in bytes. They must sum to 0, F > 0. */
typedef struct pp_memory_costs {
    double f, i, w; /* in activations (f is 1 when bytes are given) */
    int64_t f_bytes, i_bytes, w_bytes;
    bool in_bytes;
} pp_memory_costs;

PP_MUST_CHECK pp_status pp_memory_costs_parse(const char *text, pp_memory_costs *out, pp_err *err);
/* Sets activation_bytes and stash_bytes everywhere and has_memory; needs in_bytes. */
void pp_costs_set_memory(pp_costs *costs, const pp_memory_costs *memory);

#endif
