/* A worker: a rank of a run and its thread. */
#ifndef PPSIM_RUNTIME_CORE_WORKER_H
#define PPSIM_RUNTIME_CORE_WORKER_H

#include "runtime/core/agreement.h"
#include "runtime/core/run.h"
#include "runtime/core/sharding.h"

typedef struct pp_worker_group pp_worker_group;

/* One rank and its thread. */
typedef struct pp_worker {
    pp_worker_group *group;
    uint32_t rank;
    pp_interpreter in;
    pp_progress progress;
    pp_sharding sharding; /* used if the work has replicas */
    pthread_t thread;
    pp_status status;
    pp_err err;
    pp_ns failed_ns; /* when */
    bool disagrees;  /* the agreement failed */
    char *tied;   /* gradients of tied weights, this rank's, then those of all ranks; NULL: none */
    char *packed; /* packed record of this rank, then of all ranks; NULL: one process */
    pp_ns agreement_ns, clock_error_ns;
    pp_ns *ahead_ns; /* [ranks] */
    pp_agreement
        agreement;     /* other ranks read this and clock_ns, even after this rank was stopped */
    pp_ns clock_ns[2]; /* ahead, error */
} pp_worker;

/* All ranks of this process, for one run. */
struct pp_worker_group {
    const pp_run_job *job;
    const pp_run_options *options;
    uint32_t first, count; /* ranks hosted here */
    pp_worker *worker;     /* [count] */
    uint32_t running;      /* workers that have a thread */
    pthread_mutex_t *turn; /* [turns]: a lock per GPU; NULL: ops need not take turns */
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

/* The body of a rank's thread: makes sure that all ranks are about to run the same, then runs
 * step after step until the last, or until one fails. worker: a pp_worker, whose `status` and `err`
 * it writes before it ends. */
void *pp_worker_run(void *worker);

#endif
