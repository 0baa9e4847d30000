/* The state of transport mpi. One process has one rank: its thread posts and waits, the thread that
 * opened the world is the watchdog, and a progress thread calls MPI while the rank computes. They
 * take turns (lock), so that MPI_THREAD_SERIALIZED is enough. */
#ifndef PPSIM_RUNTIME_MPI_WORLD_H
#define PPSIM_RUNTIME_MPI_WORLD_H

#include "runtime/module/module.h"

#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

/* A transfer of this rank: two messages each, header and payload. */
typedef struct pp_transfer_state {
    pp_message message; /* header that is sent, or that is expected */
    pp_message came;
    MPI_Request request[2];
    void *payload;
    size_t bytes;      /* size of the payload */
    size_t came_bytes; /* size of the payload that arrived */
    int error;         /* error code of MPI, of either message */
    char *copy;        /* copy of a buffered send until it is done */
    uint32_t before;   /* transfer that was posted before it on its edge, or PP_NO_SOURCE */
    pp_ns done_ns;
    bool sends;
    bool held;    /* MPI has pending requests of it */
    bool through; /* MPI is done with it; it is done when the one before it is */
    atomic_bool done;
} pp_transfer_state;

/* Memory of requests that are still pending when a call ends early. It is kept until the world is
 * closed. */
typedef struct pp_kept pp_kept;
struct pp_kept {
    pp_kept *next;
};

enum { PP_NOBODY = -1 };

struct pp_world {
    pp_module_world head; /* first */
    const pp_module_services *services;
    const volatile sig_atomic_t *stop; /* of the options */
    int rank, ranks;
    int replica, replicas;
    bool roomy; /* this machine has at least as many cores as ranks */

    struct pollfd *neighbour; /* [neighbours]: the other processes of this machine */
    uint32_t *neighbour_rank, neighbours;

    pthread_mutex_t lock; /* held during every call of MPI, and protects all that follows */
    MPI_Comm data, collective, alarm; /* of this replica's ranks */
    MPI_Comm peers;                   /* of this rank in all replicas */
    atomic_bool stopped;
    MPI_Request stop_request;     /* receive of a stop from another process */
    int32_t stop_word, stop_sent; /* of a stop: the rank that is gone, or PP_NOBODY */
    int32_t gone;                 /* the rank whose process ended without a word, or PP_NOBODY */
    bool told;                    /* a stop arrived, or was sent: processes may end from now on */
    bool heard;                   /* it arrived */
    pp_kept *kept;

    /* The loaded program. */
    size_t transfers;
    uint32_t
        *slot; /* [transfers]: index into `transfer`, or PP_NO_SOURCE for those of other ranks */
    pp_transfer_state *transfer; /* [own_transfers] */
    char *copies;
    uint32_t *open; /* transfers that are pending or not done, in the order of their posts */
    uint32_t *last; /* [2 * ranks]: the last one posted from and to each rank in this step */
    size_t own_transfers, open_count;

    void *gather; /* buffer of all_gather */
    size_t gather_bytes;
    pp_ns clock[2]; /* sent, received */

    pthread_t progress;
    pthread_cond_t progress_wanted;
    bool news; /* something was posted or done since the progress thread went to sleep */
    bool progress_runs, progress_parked, progress_ends;
    bool waiting; /* the rank's thread polls between its own sleeps */
};

#endif
