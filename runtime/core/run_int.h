#ifndef PPSIM_RUNTIME_CORE_RUN_INT_H
#define PPSIM_RUNTIME_CORE_RUN_INT_H

#include "runtime/core/agree.h"
#include "runtime/core/run.h"

typedef struct pp_worker_group pp_worker_group;

/* One rank and its thread. */
typedef struct pp_worker {
    pp_worker_group *group;
    uint32_t rank;
    pp_interpreter in;
    pp_progress progress;
    pthread_t thread;
    pp_status status;
    pp_err err;
    pp_ns failed_ns; /* when */
    bool disagrees;  /* with other ranks, about what to run */
    char *tied;      /* this rank's, then those of all ranks; NULL: nothing is tied */
    char *packed;    /* this rank's record, then those of all ranks; NULL: one process */
    pp_ns agreement_ns, clock_error_ns;
    pp_ns *ahead_ns;        /* [ranks] */
    pp_agreement agreement; /* these two are read by other ranks, after this one was stopped too */
    pp_ns clock_ns[2];      /* ahead, error */
} pp_worker;

/* All ranks of this process, for one run. */
struct pp_worker_group {
    const pp_run_job *job;
    const pp_run_options *options;
    uint32_t first, count; /* ranks hosted here */
    pp_worker *worker;     /* [count] */
    uint32_t running;      /* of them have a thread */
    pthread_mutex_t *turn; /* [turns]: of each GPU's ops; NULL: they need not take turns */
    uint32_t turns;
    pp_program_index cells;
    pp_record record;
    pp_run_result *result;
    size_t tied_bytes;
    pthread_mutex_t lock; /* of `finished` */
    pthread_cond_t changed;
    uint32_t finished;
    atomic_bool ended;
};

/* The body of a rank's thread: pp_worker. */
void *pp_worker_run(void *worker);

/* Returns when all ranks of this process have ended, or are given up. given_up_out: some thread
 * does not end; what it uses must stay. */
pp_status pp_worker_group_watch(pp_worker_group *group, bool *given_up_out, pp_err *err);

/* After a step, on rank 0's process: the record becomes an iteration. number: from 0. */
pp_status pp_worker_group_keep(pp_worker_group *group, uint32_t number, pp_err *err);

/* Counts the voided iterations, and chooses the median of the others; of all, where all are. */
void pp_run_choose_median(pp_run_result *result);

#endif
