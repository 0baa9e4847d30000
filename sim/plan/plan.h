/* The plan file ("format":"ppsim.plan"): partition, microbatches, schedule, framework, prediction
 * and provenance. The planner writes it, simulate and run read it. It holds its costs, so that
 * reading it needs neither model nor hardware file. Keys: docs/formats.md. */
#ifndef PPSIM_SIM_PLAN_PLAN_H
#define PPSIM_SIM_PLAN_PLAN_H

#include "sim/analysis/report.h"
#include "sim/base/text.h"
#include "sim/framework/sizes/size_protocol.h"
#include "sim/job/sharing.h"
#include "sim/order/layout.h"
#include "sim/schedule/schedule.h"

/* Owner frees with pp_plan_free. "" and NULL are written as null. */
typedef struct pp_plan {
    char model[64];
    char hardware[64];
    pp_parallel parallel;
    int64_t micro_batch_size, global_batch_size, seq_length; /* 0: not known */
    char schedule[64];
    const pp_framework *framework; /* NULL: not known (recordings) */
    bool has_sizes;                /* false: not said, which is as PP_SIZES_PLAN */
    pp_size_protocol sizes;        /* how receivers learn the sizes of what comes */
    pp_comm_settings comm;
    pp_buffer_settings buffers;
    pp_host_costs host;     /* of every rank */
    pp_ns shape_message_ns; /* a message about a shape takes */
    int64_t tensors;        /* per stage boundary; 0: one */
    pp_sharing sharing;     /* all zero: none */
    pp_p2p p2p;
    char compute_settings[128]; /* that compute cpu was measured with; "": it was not */
    pp_recompute recompute;
    int sequence_parallel; /* 1 on, 0 off, negative: not known */
    int zero;              /* 1: optimizer state divided over dp; 0: not; negative: not known */
    bool step_sync;
    int64_t memory_limit_bytes;    /* 0: none */
    pp_stage *partition;           /* [parallel.pp * parallel.vpp], or NULL */
    pp_workload workload;          /* 1 replica, or dp of them */
    pp_recompute_table recomputed; /* of it, with PP_RECOMPUTE_MICROBATCHES; else all zero */
    uint32_t order_count;          /* 1, or one per replica */
    pp_order **order;              /* [order_count] */
    uint32_t costs_count;          /* 1, or one per replica */
    pp_costs **costs;              /* [costs_count] */
    bool has_memory_costs;
    pp_memory_costs memory_costs; /* --memory-costs of an abstract study */
    pp_notes assumptions;
    pp_report *prediction; /* of the slowest replica; NULL: none */
    char version[32];
    char *command; /* NULL: unknown */
    uint64_t seed;
    char profile_sha256[65];    /* "": made without a profile */
    pp_notes profile_classes;   /* of it, that were used, and their forms with parameters */
    pp_uncertainty uncertainty; /* of the predicted step */
    pp_ns predicted_in_file_ns,
        makespan_in_file_ns; /* of the prediction in the file; 0: it has none */
    int64_t peak_in_file_bytes;
} pp_plan;

PP_MUST_CHECK pp_status pp_plan_new(pp_plan **plan_out, pp_err *err);
void pp_plan_free(pp_plan **plan); /* for PP_CLEANUP; *plan NULL is fine */

/* What the plan says about shapes, hosts and tensors. */
pp_exchange_options pp_plan_exchange(const pp_plan *plan);

/* pp_plan.recompute in the plainest way: none, selective or full where layers are said one by one
 * and all `stages` do so with all of them (and hold no MTP module, of which nothing is said);
 * per stage where all microbatches are alike. */
pp_recompute pp_plan_recompute(const pp_plan *plan, uint32_t stages);
/* What a stage recomputes of the first microbatch, where layers are said one by one. */
pp_recomputed pp_plan_recomputed(const pp_plan *plan, uint32_t stage);

/* Gives all microbatches the costs of the longest, where the shapes are padded.
 * Fails: USAGE (they are padded to other lengths than there are, or differ in what they recompute).
 */
PP_MUST_CHECK pp_status pp_plan_pad(const pp_size_protocol *shapes, pp_plan *plan, pp_err *err);

/* Lowers an order as the plan says, shape protocol included. costs: of that order.
 * Fails: USAGE (the framework has not that protocol), INFEASIBLE (cannot finish, or
 * mismatched sizes), NOMEM. */
PP_MUST_CHECK pp_status pp_plan_lower(const pp_plan *plan, const pp_order *order,
                                      const pp_costs *costs, pp_program **program_out, pp_err *err);

/* How transfers of a lowered program meet, what they share and who holds their buffers. Simulating
 * a program of the plan includes it. Fails: USAGE (settings that the framework has not). */
PP_MUST_CHECK pp_status pp_plan_set_semantics(const pp_plan *plan, pp_program *program,
                                              pp_err *err);

/* Lowers and simulates every replica; report_out is that of the slowest one (lowest on ties), with
 * the memory of the one that needs most (report->memory_replica).
 * program_out, timeline_out, costs_out: of that replica, each may be NULL; costs stay the plan's.
 * Fails: USAGE (settings that the framework has not), INFEASIBLE (deadlock), INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_plan_simulate(const pp_plan *plan, pp_program **program_out,
                                         pp_timeline **timeline_out, const pp_costs **costs_out,
                                         pp_report **report_out, pp_err *err);

/* report: of the plan, simulated. true: the file's prediction is another, as the plan was edited
 * or another version predicted it. */
bool pp_plan_is_stale(const pp_plan *plan, const pp_report *report);

/* One program that was lowered elsewhere, with the plan's --comm, --lanes and step_sync.
 * framework: that lowered it; NULL: it communicates as its file says. Fails as above. */
PP_MUST_CHECK pp_status pp_plan_simulate_program(const pp_plan *plan, pp_program *program,
                                                 const pp_costs *costs,
                                                 const pp_framework *framework,
                                                 pp_timeline **timeline_out, pp_report **report_out,
                                                 pp_err *err);

#endif
