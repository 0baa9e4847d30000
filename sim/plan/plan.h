/* A plan: partition, microbatches, schedule, framework, settings, costs, prediction and provenance.
 * The planner makes plans; `simulate` and `run` execute them. A plan contains its costs, so that it
 * needs neither model nor hardware file. docs/reference/formats.md explains its file, which
 * plan_read.h and plan_write.h read and write. */
#ifndef PPSIM_SIM_PLAN_PLAN_H
#define PPSIM_SIM_PLAN_PLAN_H

#include "sim/analysis/report.h"
#include "sim/base/text.h"
#include "sim/cost/step_interval.h"
#include "sim/framework/sizes/size_protocol.h"
#include "sim/job/sharing.h"
#include "sim/job/stack.h"
#include "sim/order/layout.h"
#include "sim/schedule/schedule.h"

/* The stack that a plan was made for; all "": not known. */
typedef struct pp_plan_stack {
    char name[256];                  /* that of a file is its path */
    char stands_for[64], sha256[65]; /* as in pp_stack */
    pp_stack_changes changes;        /* by options and by the target */
} pp_plan_stack;

/* Owner frees with pp_plan_free. Files have null for "" and NULL. */
typedef struct pp_plan {
    char model[64];
    char hardware[64];
    pp_parallel parallel;
    int64_t micro_batch_size, global_batch_size, seq_length; /* 0: not known */
    char schedule[64];
    const pp_framework *framework; /* NULL: not known (recordings) */
    bool has_sizes;                /* false: `sizes` is not stated, which means PP_SIZES_PLAN */
    pp_size_protocol sizes;        /* how receivers learn the sizes of tensors */
    pp_comm_settings comm;
    pp_buffer_settings buffers;
    pp_host_costs host;          /* of every rank */
    pp_ns shape_message_ns;      /* duration of a size message */
    int64_t tensors;             /* per stage boundary; 0 means 1 */
    pp_pytorch_settings pytorch; /* for executors that have them */
    int64_t runs;                /* of the order per step, each with an equal part of the
                                    microbatches; 0 means 1 */
    pp_sharing sharing;          /* all zero: nothing is shared */
    pp_p2p p2p;
    char compute_settings[128]; /* settings of compute backend cpu when measured; "": it was not */
    pp_recompute recompute;
    int64_t recompute_layers;      /* of full recomputation: the layers of a chunk; 0: 1 */
    unsigned recompute_modules;    /* of selective recomputation: a set of pp_recompute_module */
    unsigned graphs;               /* what CUDA graphs capture: a set of pp_graph */
    int sequence_parallel;         /* 1: on, 0: off, negative: not known */
    int zero;                      /* ZeRO stage, 0, 1 or 3; negative: not known */
    int64_t dp_replicate;          /* with zero 3: copies of the sharded parameters; 0: 1 */
    int64_t reshard_after_forward; /* as in pp_switches */
    pp_precision precision;
    bool low_parameters; /* weights are kept in that precision, too */
    bool experts;        /* its model has experts; files say so in 8 and 4 bits,
                             and with graphs */
    pp_dtype grad_dtype; /* of the main gradients */
    pp_moments moments;
    pp_cp_comm cp_comm;             /* a ring if cp is 1 */
    pp_dispatcher dispatcher;       /* if ep is above 1 */
    bool moe_fp8_dispatch;          /* rows go to experts in 8 bits */
    bool moe_shared_expert_overlap; /* shared experts compute beside the exchange */
    double moe_capacity;            /* the most rows of an expert over the mean; 0: no limit */
    bool moe_pads;                  /* to as many rows, with a capacity */
    double moe_kept;        /* of the rows that routers choose, those not dropped; 0: not counted */
    double moe_imbalance;   /* rows of the busiest rank's experts over the mean, 1 or more */
    double *moe_imbalances; /* [imbalance_count]: of the first microbatches, after which they
                               begin again; their mean is moe_imbalance. NULL: all are alike */
    uint32_t imbalance_count;
    int64_t cp_inner; /* hierarchical: ranks of a group that exchanges all to all; else 0 */
    pp_plan_stack stack;
    bool step_sync;
    int64_t memory_limit_bytes;    /* 0: none */
    pp_stage *partition;           /* [parallel.pp * parallel.vpp], or NULL */
    pp_workload workload;          /* of one replica, or of all dp replicas */
    pp_recompute_table recomputed; /* for PP_RECOMPUTE_MICROBATCHES; otherwise all zero */
    uint32_t order_count;          /* 1, or one per replica */
    pp_order **order;              /* [order_count]: of one run */
    uint32_t costs_count;          /* 1, or one per replica */
    pp_costs **costs;              /* [costs_count] */
    bool has_memory_costs;
    pp_memory_costs memory_costs; /* --memory-costs of an abstract study */
    char elsewhere[160];          /* its step under other executors, in words; "": not known */
    pp_notes assumptions;
    pp_report *prediction; /* for the slowest replica; NULL: none */
    char version[32];
    char *command; /* NULL: unknown */
    uint64_t seed;
    char profile_sha256[65];    /* "": made without a profile */
    pp_notes profile_classes;   /* classes of the profile that were used, with fitted forms */
    pp_uncertainty uncertainty; /* of the predicted step, from measurements */
    pp_step_interval interval; /* of the predicted step, from published steps; nearest NULL: none */
    /* The prediction in the file that was read; 0: it has none. */
    pp_ns predicted_in_file_ns, makespan_in_file_ns;
    int64_t peak_in_file_bytes;
} pp_plan;

PP_MUST_CHECK pp_status pp_plan_new(pp_plan **plan_out, pp_err *err);
void pp_plan_free(pp_plan **plan); /* for PP_CLEANUP; *plan NULL is fine */

/* The plan's size protocol, tensors per boundary and host costs. */
pp_exchange_options pp_plan_exchange(const pp_plan *plan);

/* Records how the context-parallel ranks of `context` exchange. */
void pp_plan_set_cp_comm(pp_plan *plan, const pp_cost_context *context);
/* The same for the dispatch of tokens to experts. */
void pp_plan_set_dispatch(pp_plan *plan, const pp_cost_context *context);
/* Records the imbalance of each microbatch, if the context has the tokens of experts. Fails: NOMEM.
 */
PP_MUST_CHECK pp_status pp_plan_set_imbalances(pp_plan *plan, const pp_cost_context *context,
                                               pp_err *err);

/* pp_plan.recompute in its simplest form. Counts of layers become NONE, SELECTIVE or FULL if they
 * cover all layers of all `stages` alike and there is no MTP module (counts exclude those);
 * MICROBATCHES becomes STAGES if all microbatches are alike. */
pp_recompute pp_plan_recompute(const pp_plan *plan, uint32_t stages);
/* What a stage recomputes for the first microbatch, if the plan has counts of layers. */
pp_recomputed pp_plan_recomputed(const pp_plan *plan, uint32_t stage);

/* With padding, gives all microbatches the costs of the longest one.
 * Fails: USAGE when they would be padded to a length that no microbatch has, or differ in imbalance
 * or in what they recompute; NOMEM. */
PP_MUST_CHECK pp_status pp_plan_pad(const pp_size_protocol *shapes, pp_plan *plan, pp_err *err);

/* Whether an op of the plan's orders is an I or a W. */
bool pp_plan_splits_backward(const pp_plan *plan);
/* The costs of a replica under the plan's framework. */
const pp_costs *pp_plan_costs(const pp_plan *plan, uint32_t replica);

/* Prints what the plan trains, on how many GPUs and in which batches, for titles: "llama3-8b on 8
 * GPUs (pp 4, tp 2), batch 32 x 4096 tokens"; "" if the model has no name. */
void pp_plan_describe(const pp_plan *plan, char *text, size_t bytes);

/* Lowers an order by the plan's framework and size protocol. costs: those of the order.
 * Fails: USAGE (the framework does not support the protocol), INFEASIBLE (the order cannot finish,
 * or sizes are mismatched), NOMEM. */
PP_MUST_CHECK pp_status pp_plan_lower(const pp_plan *plan, const pp_order *order,
                                      const pp_costs *costs, pp_program **program_out, pp_err *err);

/* Sets the semantics, sharing and buffers of a lowered program's transfers from the plan.
 * pp_plan_simulate does this itself.
 * Fails: USAGE (settings that the framework does not support). */
PP_MUST_CHECK pp_status pp_plan_set_semantics(const pp_plan *plan, pp_program *program,
                                              pp_err *err);

/* Lowers and simulates every replica. report_out is the report of the slowest one (the first of
 * several), with the memory of the replica that needs most (report->memory_replica).
 * program_out, timeline_out and costs_out: those of the slowest replica; each may be NULL. The
 * costs remain the plan's.
 * Fails: USAGE (settings that the framework does not support), INFEASIBLE (deadlock), INPUT,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_plan_simulate(const pp_plan *plan, pp_program **program_out,
                                         pp_timeline **timeline_out, const pp_costs **costs_out,
                                         pp_report **report_out, pp_err *err);

/* Returns true if the prediction in the file differs from `report`, which pp_plan_simulate made,
 * because the plan was edited or another version of ppsim predicted it. */
bool pp_plan_is_stale(const pp_plan *plan, const pp_report *report);

/* Simulates one program that was lowered elsewhere, with the plan's settings of communication and
 * step_sync. framework: the one that lowered it; NULL: it communicates as its file states.
 * Fails: like pp_plan_simulate. */
PP_MUST_CHECK pp_status pp_plan_simulate_program(const pp_plan *plan, pp_program *program,
                                                 const pp_costs *costs,
                                                 const pp_framework *framework,
                                                 pp_timeline **timeline_out, pp_report **report_out,
                                                 pp_err *err);

#endif
