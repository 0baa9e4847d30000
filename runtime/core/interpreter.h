/* The interpreter: the only code that carries out a rank's part of a program, step by step. How
 * messages travel is left to the transport, and what ops compute to the compute backend. */
#ifndef PPSIM_RUNTIME_CORE_INTERPRETER_H
#define PPSIM_RUNTIME_CORE_INTERPRETER_H

#include "runtime/core/arena.h"
#include "runtime/core/compute.h"
#include "runtime/core/progress.h"
#include "runtime/core/record.h"
#include "runtime/core/transport.h"

#include <stdatomic.h>

struct pp_sharding;

/* The state of one rank. The caller sets the fields up to `poison`; the others are the
 * interpreter's. */
typedef struct pp_interpreter {
    const pp_program *program;
    const pp_costs *costs;
    const pp_program_index *cells;
    uint64_t program_hash;
    uint32_t rank;
    int64_t limit_bytes;            /* see pp_arena_plan */
    pp_arena_block *block;          /* see pp_arena_take */
    const pp_device_memory *memory; /* likewise */
    pp_arena arena;
    const pp_transport *transport;
    pp_world *world;
    const pp_compute *compute;
    const pp_compute_work *work;
    void *compute_worker;
    const pp_record *record;
    pp_progress *progress;
    const pp_faults *faults;
    const atomic_bool *ended;     /* set when the run is ended from outside */
    pthread_mutex_t *turn;        /* held during an op; NULL: none */
    struct pp_sharding *sharding; /* what replicas share; NULL: this is the only one */
    bool poison;                  /* unused memory holds NaN; only if limit_bytes is negative */

    uint32_t run_step;
    pp_ns last_ns;         /* the previous time stamp; stamps of a rank never repeat */
    uint32_t *sent, *came; /* [ranks]: messages to and from each rank in this step */
    uint32_t *open_send;   /* [transfers of the rank]: sends that are not done, in order */
    size_t open_count;
    bool single_lane;    /* a group is posted when the one before it is done (PP_LANES_SINGLE) */
    uint32_t last_group; /* posted in this step, or PP_NO_SOURCE */
    uint64_t *stuck;     /* [ranks]: pass of `reap` in which the oldest send to it was not done */
    uint64_t look_around;
    int64_t (*shape)[4]; /* [transfers]: payload of messages about shapes; NULL: none */
    int64_t bytes[PP_MEMORY_COUNT];
    uint32_t live;
    uint32_t ops_run;
} pp_interpreter;

/* Plans and allocates the memory of the rank. The caller has set the fields up to `poison`. Fails:
 * NOMEM, INPUT. */
PP_MUST_CHECK pp_status pp_interpreter_prepare(pp_interpreter *in, pp_err *err);
void pp_interpreter_free(pp_interpreter *in);

/* Carries out one training step and returns when the last send is done. All ranks have called
 * transport->begin. Fails: as transport and compute; INFEASIBLE "stopped" when the run was ended
 * from outside. */
PP_MUST_CHECK pp_status pp_interpret(pp_interpreter *in, uint32_t run_step, pp_err *err);

#endif
