/* An execution of a plan: first what will run, then the results. */
#ifndef PPSIM_RUNTIME_MEASURE_EXECUTION_H
#define PPSIM_RUNTIME_MEASURE_EXECUTION_H

#include "runtime/core/run.h"
#include "runtime/verify/verify.h"
#include "sim/plan/plan.h"

/* How a plan is executed. What it points to belongs to the caller. */
typedef struct pp_run_plan_options {
    const pp_transport *transport;
    const pp_compute *compute;
    const char *settings; /* of the compute backend */
    pp_link link;
    pp_communicators communicators; /* used by a transport that has queues */
    bool check_messages;            /* as in pp_world_options */
    bool serialize;                 /* as in pp_run_options */
    uint32_t replica;               /* replica of the plan that is run, if it is run alone */
    uint32_t replicas;              /* so many train one model together; 0: one runs alone */
    int zero;                       /* what they share, as in pp_compute_work */
    int64_t payload_bytes; /* largest part of a tensor that is carried; negative: whole tensors */
    bool measure_ops;      /* predict with measured durations of ops, not the plan's */
    bool verify;           /* compare values and every byte of memory */
    bool force;            /* run the plan even if it is predicted to hang */
    uint32_t warmup, iterations;
    pp_ns deadline_ns; /* 0: PP_DEADLINE_NS, or 20 predicted steps if that is longer */
    uint64_t seed;
    const pp_faults *faults;
    const volatile sig_atomic_t *stop;
    void (*progress)(void *context, uint32_t done, uint32_t total); /* as in pp_run_options */
    void *progress_context;
} pp_run_plan_options;

#define PP_DEADLINE_NS ((pp_ns)10 * 1000 * 1000 * 1000)

/* An execution: inputs, then results. Timelines and reports exist in the process of rank 0. The
 * owner frees it with pp_execution_free, which keeps everything if result.given_up. */
typedef struct pp_execution {
    const pp_order *order; /* the plan's */
    pp_costs *costs;       /* a class per microbatch; bytes of the backend, durations of the link */
    pp_program *program;
    bool owns_program;
    pp_workload workload, padded; /* views and copies of the plan's */
    pp_compute_work work;
    pp_world_options world; /* this and the next are used as long as the world is open */
    pp_run_options how;
    pp_device_memory memory; /* of the compute, if it has one */
    pp_run_job job;
    pp_run_result result;
    bool disagrees;  /* the agreement failed, which all processes notice */
    pp_ns serial_ns; /* if serialized: predicted time to run the ops of the busiest GPU in sequence;
                        otherwise 0 */
    uint32_t gpus;   /* with serialize: GPUs that the ranks here share */
    pp_timeline *predicted; /* NULL: forced */
    pp_report *prediction;
    pp_report *report;     /* measured: the median iteration */
    pp_timeline *replayed; /* the engine's timeline with the measured durations */
    pp_verdict verdict;
    pp_meeting *meeting;         /* of the replicas in this process; NULL: there is one */
    struct pp_execution **other; /* [others]: of the other replicas in this process */
    uint32_t others;
    const pp_run_job **replica; /* [others + 1]: the jobs of all */
} pp_execution;

/* Prepares an execution: its costs, data and program. Of the options it uses compute, settings,
 * link, replica, replicas, zero and seed. x: all zero except job.transport and job.compute; the
 * caller frees it even after a failure. If x->program is set, that program is executed unchanged.
 * Fails: USAGE, INPUT, INFEASIBLE (a stage on two ranks; sizes that differ), NOMEM. */
PP_MUST_CHECK pp_status pp_execution_prepare(const pp_plan *plan,
                                             const pp_run_plan_options *options, pp_execution *x,
                                             pp_err *err);
/* Returns the plan with the settings of framework ppsim, since host and links are real ones. If the
 * transport queues the transfers of a rank (NCCL), a program of that framework could hang; the plan
 * is then lowered by framework zero-bubble, whose groups cannot. The result shares all that `plan`
 * owns and is never freed. transport: NULL: one without queues. */
pp_plan pp_plan_as_executed(const pp_plan *plan, const pp_transport *transport,
                            pp_communicators communicators);

/* Returns whether a thread of any replica does not end, so that nothing may be freed. */
bool pp_execution_given_up(const pp_execution *execution);
void pp_execution_free(pp_execution *execution); /* for PP_CLEANUP; all zero is fine */

#endif
