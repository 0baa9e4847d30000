/* The MPI module from within. One process, one rank: its thread posts and waits, the thread that
 * opened the world watches, and a thread of ours makes progress while the rank computes. They take
 * turns (lock), so that MPI_THREAD_SERIALIZED is enough. */
#ifndef PPSIM_RUNTIME_MPI_WORLD_INT_H
#define PPSIM_RUNTIME_MPI_WORLD_INT_H

#include "runtime/core/farm.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

/* A transfer of this rank: two messages each, header and payload. */
typedef struct pp_transfer_state {
    pp_message message; /* goes out, or is expected */
    pp_message came;
    MPI_Request request[2];
    void *payload;
    size_t bytes;      /* of the payload */
    size_t came_bytes; /* that came */
    int error;         /* MPI's, of either message */
    char *copy;        /* where a buffered send lies until it has left */
    uint32_t before;   /* the flight posted before it on its edge, or PP_NO_SOURCE */
    pp_ns done_ns;
    bool sends;
    bool held;    /* MPI has requests of it */
    bool through; /* it may be done, where the one before is */
    atomic_bool done;
} pp_transfer_state;

/* What is still under way when a call ends early must keep its memory until the end. */
typedef struct pp_kept pp_kept;
struct pp_kept {
    pp_kept *next;
};

struct pp_world {
    pp_module_world head; /* first */
    const pp_module_services *services;
    const volatile sig_atomic_t *stop; /* of the options */
    int rank, ranks;
    bool roomy; /* no more ranks on this machine than cores */

    pthread_mutex_t lock; /* around every call of MPI, and all that follows */
    MPI_Comm data, together, alarm;
    atomic_bool stopped;
    MPI_Request stop_request; /* receives that another process stops */
    char stop_byte;
    pp_kept *kept;

    /* The loaded program. */
    size_t transfers;
    uint32_t *slot; /* [transfers]: into flight, PP_NO_SOURCE for those of other ranks */
    pp_transfer_state *flight;
    char *copies;
    uint32_t *open; /* flights that are held or not done, in the order of their posts */
    uint32_t *last; /* [2 * ranks]: the last flight posted from and to each rank in this step */
    size_t flights, open_count;

    void *gather; /* of the rank's thread */
    size_t gather_bytes;
    pp_ns clock[2]; /* sent, received */

    pthread_t progress;
    pthread_cond_t progress_wanted;
    bool news; /* since the progress thread went to sleep */
    bool progress_runs, progress_parked, progress_ends;
    bool waiting; /* the rank's thread looks itself, from nap to nap */
};

/* How a loop that asks again and again passes its time: {0} at the start of a wait. */
typedef struct pp_patience {
    uint32_t rounds, naps;
} pp_patience;

void pp_mpi_pause(const pp_world *world, pp_patience *min_bounded);
/* Does somebody want the end? flagged: as far as is known; stopped: asks MPI too, unless somebody
 * else does so now. The lock is not held. */
bool pp_mpi_flagged(const pp_world *world);
bool pp_mpi_stopped(pp_world *world);
pp_status pp_mpi_failed(const pp_world *world, int code, const char *what, pp_err *err);
pp_status pp_mpi_nomem(const pp_world *world, pp_err *err);
/* Tests whether a stop has come. The lock is held. */
void pp_mpi_look(pp_world *world);
/* Until all of request[count] are done. Fails: INFEASIBLE (stopped), IO. */
pp_status pp_mpi_finish(pp_world *world, MPI_Request *request, int count, const char *what,
                        pp_err *err);

extern const pp_farm_table pp_mpi_farm; /* farm.c */

/* messages.c */
pp_status pp_mpi_load(pp_world *world, const pp_program *program, const size_t *buffered_bytes,
                      pp_err *err);
pp_status pp_mpi_begin(pp_world *world, uint32_t rank, pp_err *err);
pp_status pp_mpi_post(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err);
pp_status pp_mpi_wait(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                      pp_err *err);
pp_status pp_mpi_poll(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                      bool *done_out, pp_ns *done_ns, pp_err *err);
pp_status pp_mpi_progress_start(pp_world *world, pp_err *err);
void pp_mpi_progress_end(pp_world *world);
void pp_mpi_cancel_flights(pp_world *world);
void pp_mpi_unload(pp_world *world);

/* together.c */
pp_status pp_mpi_all_gather(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                            void *all_out, pp_err *err);
pp_status pp_mpi_clock_ahead(pp_world *world, uint32_t rank, pp_ns *ahead_ns, pp_ns *error_ns,
                             pp_err *err);
void pp_mpi_abort(pp_world *world);
bool pp_mpi_alarmed(pp_world *world);
pp_status pp_mpi_collect(pp_world *world, const void *mine, size_t bytes, pp_ns patience_ns,
                         void *all_out, bool *came_out, pp_err *err);
void pp_mpi_stop_listen(pp_world *world);

#endif
