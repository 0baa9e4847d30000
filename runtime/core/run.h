/* A run: executes a program, step after step, on the ranks that this process hosts, and detects
 * when it makes no progress. */
#ifndef PPSIM_RUNTIME_CORE_RUN_H
#define PPSIM_RUNTIME_CORE_RUN_H

#include "runtime/core/compute.h"
#include "runtime/core/interpreter.h"
#include "runtime/core/transport.h"

/* What is executed. All of it belongs to the caller. */
typedef struct pp_run_job pp_run_job;
struct pp_run_job {
    const pp_transport *transport;
    pp_world *world; /* has program->ranks ranks */
    const pp_compute *compute;
    const pp_compute_work *work;
    void **worker;                  /* [ranks]: of the ranks hosted here, from compute->open */
    const pp_device_memory *memory; /* the memory of tensors; NULL: that of this process */
    const pp_program
        *program; /* lowered, with communication (for transport nccl as by executor zero-bubble) */
    const pp_costs *costs;            /* of the prediction, with the backend's own bytes */
    const pp_run_job *const *replica; /* [work->replicas]: the jobs of all replicas that train
                                         together, this one among them; NULL: it is alone */
};

typedef struct pp_run_options {
    uint32_t first_step;   /* number of the first training step of this run */
    uint32_t warmup;       /* steps before the first measured one */
    uint32_t iterations;   /* measured steps */
    int64_t limit_bytes;   /* of pp_arena_plan */
    bool check_memory;     /* count every byte and compare it with the simulator's account */
    bool poison;           /* of pp_interpreter */
    bool keep_values;      /* of replicas: whole parameters and gradients after the last step */
    bool check_messages;   /* see pp_world_options */
    bool serialize;        /* ops on one GPU take turns; needs compute->gpu */
    pp_ns deadline_ns;     /* an op or wait that takes longer is reported as a hang */
    pp_arena_block *block; /* [ranks]: memory of their tensors, kept from run to run; NULL: none */
    size_t stack_bytes;    /* of a rank's thread; 0: PP_STACK_BYTES */
    const pp_faults *faults;
    const volatile sig_atomic_t *stop; /* as in pp_world_options */
    /* Progress callback: `done` of `total` steps. Called several times per second in the process of
     * rank 0. NULL: none. */
    void (*progress)(void *context, uint32_t done, uint32_t total);
    void *progress_context;
} pp_run_options;

#define PP_INTERRUPTED "interrupted; nothing was written"
#define PP_STOPPED_ELSEWHERE "another process stopped the run; its message says why"
#define PP_STACK_BYTES ((size_t)1 << 20)

/* One measured step. */
typedef struct pp_iteration {
    pp_timeline *timeline;
    pp_ns step_ns; /* until the last rank has made its update */
    pp_ns busy_ns; /* of all ops */
    pp_ns cpu_ns;  /* processor time of all ops */
    int64_t preemptions;
    bool voided; /* disturbed by other processes, see pp_run */
} pp_iteration;

/* Owner frees with pp_run_result_free. */
typedef struct pp_run_result {
    pp_iteration *iteration;
    uint32_t count;  /* in the process that hosts rank 0; elsewhere 0 */
    uint32_t median; /* the iteration of the median step time among those not voided */
    uint32_t voided;
    pp_ns agreement_ns;     /* duration of the agreement, once per run */
    pp_ns clock_error_ns;   /* largest error between the ranks' clocks */
    size_t arena_bytes;     /* the largest of the ranks hosted here */
    size_t *rank_bytes;     /* [ranks]: the arena of each rank hosted here, else 0 */
    uint64_t memory_checks; /* instants at which counted and predicted bytes were compared */
    bool given_up;          /* a thread does not end: nothing of the job may be freed */
    bool lost; /* the process of another rank is gone; its launcher may then interrupt this one */
    char *flight; /* after a failure: the last moments of all ranks here, as JSON */
    struct pp_worker_group *group; /* after a failure: tensors that messages, or a thread that does
                             not end, may still use */
} pp_run_result;

/* Runs the warm-up and the measured steps. An iteration is void if its ranks were preempted more
 * often than once in eight ops and lost more than 2 % of the ops' time by it: it measured other
 * processes. If all iterations are void, none is left out. Fails: as transport and compute; INPUT
 * when ranks differ or a message is wrong; INFEASIBLE when the run hangs (the ranks and ops that
 * wait for each other are named), when a rank dies, when memory is not what was predicted, or when
 * the stop flag is set; NOMEM before the first step. After a failure result_out->flight is set if
 * it is known; the caller frees it, too. */
PP_MUST_CHECK pp_status pp_run(const pp_run_job *job, const pp_run_options *options,
                               pp_run_result *result_out, pp_err *err);
/* After a failed run, it may be called only once the world is closed. A zero-initialised result is
 * fine. */
void pp_run_result_free(pp_run_result *result);

#endif
