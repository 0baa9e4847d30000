/* A plan on its way through the runtime: what would run, then what became of it. */
#ifndef PPSIM_RUNTIME_MEASURE_EXECUTION_H
#define PPSIM_RUNTIME_MEASURE_EXECUTION_H

#include "runtime/core/run.h"
#include "runtime/verify/verify.h"
#include "sim/plan/plan.h"

/* How a plan is executed. What it points to belongs to the caller. */
typedef struct pp_run_plan_options {
    const pp_transport *transport;
    const pp_compute *compute;
    const char *settings; /* of the compute */
    pp_link link;
    pp_communicators communicators; /* of a transport that has queues */
    bool check_messages;            /* as in pp_world_options */
    bool serialize;                 /* as in pp_run_options */
    uint32_t replica;               /* of the plan */
    int64_t payload_bytes;          /* tensors are carried up to here; negative: whole */
    bool measure_ops;               /* predict with measured durations of ops, not the plan's */
    bool verify;                    /* compare values and every byte of memory */
    bool force;                     /* run even what is predicted to hang */
    uint32_t warmup, iterations;
    pp_ns deadline_ns; /* 0: PP_DEADLINE_NS, or 20 predicted steps where that is more */
    uint64_t seed;
    const pp_faults *faults;
    const volatile sig_atomic_t *stop;
    void (*progress)(void *context, uint32_t done, uint32_t total); /* as in pp_run_options */
    void *progress_context;
} pp_run_plan_options;

#define PP_DEADLINE_NS ((pp_ns)10 * 1000 * 1000 * 1000)

/* A plan's execution: inputs, then results. Timelines and reports exist in the process of rank 0.
 * Owner frees with pp_execution_free, which keeps everything where result.given_up. */
typedef struct pp_execution {
    const pp_order *order; /* the plan's */
    pp_costs *costs;       /* a class per microbatch; the compute's bytes, the link's durations */
    pp_program *program;
    bool owns_program;
    pp_workload workload, padded; /* views and copies of the plan's */
    pp_compute_work work;
    pp_world_options world; /* these two are looked at as long as the world is open */
    pp_run_options how;
    pp_device_memory memory; /* of the compute, if it has one */
    pp_run_job job;
    pp_run_result result;
    bool disagrees;  /* with other processes, which all find that out by themselves */
    pp_ns serial_ns; /* serialized: what the ops of the busiest GPU take one after the other, as
                        predicted; else 0 */
    uint32_t gpus;   /* that the ranks here share; serialized */
    pp_timeline *predicted; /* NULL: forced */
    pp_report *prediction;
    pp_report *report;     /* measured: the median iteration */
    pp_timeline *replayed; /* the engine, given what ops and transfers took */
    pp_verdict verdict;
} pp_execution;

/* From a plan to what would run: costs, data, program. Of the options it looks at compute,
 * settings, link, replica and seed. x: all zero but for job.transport and job.compute, freed by the
 * caller even after a failure; program set: executed as it stands. Fails: USAGE, INPUT, INFEASIBLE
 * (a stage on two ranks; sizes that differ), NOMEM. */
PP_MUST_CHECK pp_status pp_execution_prepare(const pp_plan *plan,
                                             const pp_run_plan_options *options, pp_execution *x,
                                             pp_err *err);
/* The plan with the settings of framework ppsim, since hosts and links are real ones. Where the
 * transfers of a rank queue up (NCCL), a program of that framework could hang, so that framework
 * zero-bubble lowers it, whose groups cannot. The result shares all that `plan` owns, and is never
 * freed. transport: NULL: none that has queues. */
pp_plan pp_plan_as_executed(const pp_plan *plan, const pp_transport *transport,
                            pp_communicators communicators);

void pp_execution_free(pp_execution *execution); /* for PP_CLEANUP; all zero is fine */

#endif
