/* The numbers of one step, predicted or measured, from a program, its timeline and its costs.
 * docs/reference/formats.md defines them. */
#ifndef PPSIM_SIM_ANALYSIS_REPORT_H
#define PPSIM_SIM_ANALYSIS_REPORT_H

#include "sim/analysis/memory.h"
#include "sim/analysis/robustness.h"
#include "sim/analysis/step_tail.h"
#include "sim/analysis/time_breakdown.h"
#include "sim/analysis/uncertainty.h"
#include "sim/analysis/waits.h"
#include "sim/framework/framework.h"

typedef struct pp_rank_report {
    pp_ns busy_ns;
    pp_ns idle_ns[PP_IDLE_COUNT]; /* busy and idle sum to the makespan */
    pp_ns first_start_ns, last_end_ns;
    uint32_t peak_live_activations; /* (stage, microbatch) pairs from F's start to B's or W's end */
    int64_t memory_limit_bytes;     /* the rank's own limit; 0: the report's limit holds */
    pp_memory_peak memory;          /* valid when the report has_memory */
    pp_op peak_op;                  /* the op of memory.instruction */
    int64_t peak_recv_bytes;        /* the largest size of the receive buffers at any time */
    int64_t peak_send_bytes;        /* the largest size of the send buffers at any time */
    /* The next three are set by pp_report_set_limit. */
    int64_t over_bytes; /* memory held at the first instant beyond the limit; 0: there is none */
    pp_ns over_at_ns;   /* that instant */
    pp_op over_op;      /* the op that runs then, found like peak_op */
} pp_rank_report;

#define PP_WORST_DEFAULT 5u /* number of longest waits that a report shows by default */

/* One thing that was assumed because it was not given. */
typedef struct pp_note {
    char key[96];
    char *value;
} pp_note;

typedef struct pp_notes {
    pp_note *note;
    size_t count, capacity;
} pp_notes;

PP_MUST_CHECK pp_status pp_notes_add(pp_notes *notes, pp_err *err, const char *key,
                                     const char *format, ...) PP_PRINTF(4, 5);
PP_MUST_CHECK pp_status pp_notes_copy(const pp_notes *from, pp_notes *to, pp_err *err);
/* Removes every note with this key. */
void pp_notes_drop(pp_notes *notes, const char *key);
void pp_notes_free(pp_notes *notes);

/* Owner frees with pp_report_free. */
typedef struct pp_report {
    char schedule[64];
    const pp_framework *framework; /* NULL: the program communicates as its file states */
    uint32_t ranks, stages, microbatches;
    pp_ns makespan_ns;      /* ends with the last compute op */
    pp_ns span_ns;          /* maximum over ranks of (last end - first start) */
    pp_ns step_boundary_ns; /* gradient sync, tied embedding, optimizer */
    pp_step_tail boundary;  /* its parts */
    pp_ns step_ns;          /* makespan + boundary */
    bool has_period;        /* no barrier ends the step; set by the caller */
    pp_ns period_ns;        /* of the repeated step, rounded up (sim/analysis/period.h) */
    double bubble_fraction; /* idle rank-time / (p x makespan) */
    double bubble_rate;     /* (span - busy) / span of the rank with the longest span */
    bool has_bound;
    pp_ns lower_bound_ns; /* of the makespan; set by the caller (planner/bound/bound.h) */
    char bound_name[64];  /* which bound it is */
    bool has_memory;
    bool sharded; /* gathers and reductions change the bytes of parameters and gradients */
    int64_t peak_memory_bytes;
    uint32_t peak_memory_rank;
    int64_t memory_limit_bytes; /* 0: none was given */
    uint32_t replica;           /* the plan's slowest replica, from which the times are */
    uint32_t memory_replica;    /* the plan's replica that needs most memory */
    double tokens_per_s;        /* 0: not known */
    double model_flops_utilization;
    uint32_t graphs;  /* compiled graphs of the rank with most of them; 0: none is compiled */
    pp_ns compile_ns; /* compilation before the first step; 0: not requested */
    uint64_t seed;
    pp_rank_report *per_rank; /* [ranks] */
    bool has_worst;           /* set by pp_report_add_worst */
    pp_blocked_list worst;
    bool has_why; /* set by the caller, as `why` is */
    pp_why why;
    pp_notes assumptions;
    pp_robustness robustness;   /* set by the caller */
    pp_uncertainty uncertainty; /* set by the caller, or copied from the plan */
} pp_report;

/* Returns by how many bytes the rank that exceeds its limit most does so; 0 or less when all fit.
 * rank_out receives that rank. limit_bytes: for ranks without their own limit; 0: no limit. */
int64_t pp_report_excess(const pp_report *report, int64_t limit_bytes, uint32_t *rank_out);

/* Merges the memory of two replicas with equal ranks and limits: report keeps the memory of the
 * replica that needs more, relative to its limits. */
void pp_report_take_memory(pp_report *report, const pp_report *other);

/* Sets memory_limit_bytes and, for each rank that exceeds its limit, the first instant at which it
 * does. limit_bytes: for ranks without their own limit; 0: no limit. program, timeline and costs:
 * those of pp_report_build.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_report_set_limit(pp_report *report, const pp_program *program,
                                            const pp_timeline *timeline, const pp_costs *costs,
                                            int64_t limit_bytes, pp_err *err);
/* The rank that is the first to exceed its limit, or NULL when all fit. rank_out: its number. */
const pp_rank_report *pp_report_first_over(const pp_report *report, uint32_t *rank_out);

/* Makes the report of one step. framework: the one that lowered the program; NULL: the program
 * communicates as its file states. step_sync: a global barrier ends the step. The caller adds
 * assumptions and all that is marked as set by it.
 * Fails: INPUT (sums leave 64 bits), NOMEM. */
PP_MUST_CHECK pp_status pp_report_build(const char *schedule, const pp_framework *framework,
                                        const pp_program *program, const pp_timeline *timeline,
                                        const pp_costs *costs, bool step_sync,
                                        pp_report **report_out, pp_err *err);
/* Like pp_report_build, but if all ranks have the same limit, memory is accounted for only on ranks
 * that may have the peak; that of the others is 0. */
PP_MUST_CHECK pp_status pp_report_build_peak(const char *schedule, const pp_framework *framework,
                                             const pp_program *program, const pp_timeline *timeline,
                                             const pp_costs *costs, bool step_sync,
                                             pp_report **report_out, pp_err *err);
/* The framework's name, or "as written" if there is none. */
const char *pp_report_framework_name(const pp_report *report);
/* Puts the `most` longest waits into the report and removes earlier ones. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_report_add_worst(pp_report *report, const pp_program *program,
                                            const pp_timeline *timeline, size_t most, pp_err *err);
/* Breaks down the time of the step. bare: three sets of costs, without the exchange of tp, without
 * that of tp and cp, and without that of tp, cp and ep. A NULL entry stands for the same costs as
 * the entry before it, or as `costs` if it is the first. If bare itself is NULL, it is not known
 * how much of an op is exchange. timeline: made by pp_simulate, with its waits. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_report_why(const pp_report *report, const pp_program *program,
                                      const pp_timeline *timeline, const pp_costs *costs,
                                      const pp_costs *const bare[PP_EXCHANGE_KINDS],
                                      pp_why *why_out, pp_err *err);
void pp_report_free(pp_report **report); /* for PP_CLEANUP; *report NULL is fine */

#endif
