/* Transport nccl from within. A process hosts all ranks, a GPU and a thread each, or one rank of a
 * job that torchrun or mpirun started. Communicators do not block: every call returns, and whoever
 * waits asks again and again, so that nobody is caught inside NCCL when a run must end. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_INT_H
#define PPSIM_RUNTIME_CUDA_NCCL_INT_H

#include "runtime/cuda/device.h"
#include "runtime/cuda/store.h"
#include "runtime/measure/gpu_link.h"

#include <nccl.h>
#include <pthread.h>

/* Of what all ranks do together outside of steps. */
#define PP_NCCL_START_NS ((pp_ns)120 * 1000 * 1000 * 1000)

/* A communicator and the stream in which its groups run, one after the other. */
typedef struct pp_nccl_queue {
    ncclComm_t comm;
    cudaStream_t stream;
    uint32_t peer; /* of two ranks: the other; PP_NO_SOURCE: all ranks are in it */
    pp_gpu_channels channels;
} pp_nccl_queue;

/* A transfer of a rank. */
typedef struct pp_nccl_transfer_state {
    pp_message message; /* goes out, or is expected */
    void *payload;      /* the caller's */
    size_t bytes;       /* of it */
    size_t staged_at;   /* in the rank's staging, as many bytes as were reserved */
    uint32_t queue, end;
    bool sends, staged, header, posted, done;
    pp_ns posted_ns, done_ns;
} pp_nccl_transfer_state;

/* Where a group ends in one of its queues. */
typedef struct pp_nccl_end {
    cudaEvent_t event;
    uint32_t queue;
} pp_nccl_end;

/* One rank that this process hosts, and its GPU. */
typedef struct pp_nccl_rank {
    uint32_t rank;
    int device;
    pp_nccl_queue *queue;
    size_t queues;

    /* The loaded program. */
    pp_nccl_transfer_state *flight;
    size_t flights;
    pp_nccl_end *end; /* group by group */
    size_t ends;
    char *staging;           /* on the GPU */
    char *pinned;            /* the same on the host */
    pp_message *header;      /* [flights], on the GPU */
    pp_message *header_host; /* [flights], pinned: what goes out, or came */
    cudaEvent_t start;       /* of the step: joins the clocks of GPU and host */
    pp_ns start_ns;          /* when it was */
    uint32_t steps;          /* begun since the load */
    uint32_t open_group;     /* whose posts are under way, or PP_NO_SOURCE */
} pp_nccl_rank;

struct pp_world {
    pp_module_world head; /* first */
    const pp_module_services *services;
    pp_world_options options;
    uint32_t first, hosted, ranks;
    pp_nccl_rank *rank; /* [hosted] */
    pp_store *store;
    atomic_bool stopped;
    const pp_program *program;
    size_t *payload_bytes; /* [transfers], of the program to be loaded */
    uint32_t *slot;        /* [transfers]: into flight, or PP_NO_SOURCE */
    uint32_t *first_end;   /* [groups]: into end of its rank */
};

static inline pp_nccl_rank *pp_nccl_rank_of(const pp_world *world, uint32_t rank)
{
    return &world->rank[rank - world->first];
}

bool pp_nccl_stopped(const pp_world *world);
/* Leaves the run: its communicators are aborted, by the rank's own thread. Returns "stopped". */
pp_status pp_nccl_leave(pp_world *world, pp_nccl_rank *r, pp_err *err);
/* PP_OK for success and "in progress", else IO with NCCL's own words. comm: NULL: none yet. */
pp_status pp_nccl_check(const pp_world *world, uint32_t rank, ncclComm_t comm, ncclResult_t code,
                        const char *what, pp_err *err);
/* Until a communicator is through with what was asked of it. Fails: IO, INFEASIBLE (stopped). */
pp_status pp_nccl_settle(pp_world *world, pp_nccl_rank *r, ncclComm_t comm, const char *what,
                         pp_err *err);
/* Until `event` is over; looks after errors of `comm` meanwhile. limit_ns: 0: none, whoever watches
 * the run stops it. */
pp_status pp_nccl_await(pp_world *world, pp_nccl_rank *r, cudaEvent_t event, ncclComm_t comm,
                        pp_ns limit_ns, const char *what, pp_err *err);

/* nccl_queues.c: communicators and their streams. Those of pairs are made for the program. */
pp_status pp_nccl_queues_open(pp_world *world, pp_err *err);
pp_status pp_nccl_queues_for(pp_world *world, const pp_program *program, pp_err *err);
void pp_nccl_queues_close(pp_world *world);
/* One more communicator: of ranks a and b, or a PP_NO_SOURCE: of all. All processes call it.
 * channels: NULL: NCCL's own choice. */
pp_status pp_nccl_queue_add(pp_world *world, uint32_t a, uint32_t b,
                            const pp_gpu_channels *channels, pp_err *err);
/* Can pp_gpu_channels.per_net_peer be said? */
bool pp_nccl_has_net_channels(void);
/* Of the queue that leads to `peer`; in it the peer has another number. */
uint32_t pp_nccl_queue_to(const pp_nccl_rank *r, uint32_t peer);
int pp_nccl_peer_in(const pp_nccl_rank *r, uint32_t queue, uint32_t peer);
/* One element to and from every neighbour, both ways, so that all are connected before a step. */
pp_status pp_nccl_warm_up(pp_world *world, const pp_program *program, pp_err *err);

/* nccl_load.c */
pp_status pp_nccl_reserve(pp_world *world, const pp_program *program, const size_t *payload_bytes,
                          pp_err *err);
pp_status pp_nccl_load(pp_world *world, const pp_program *program, const size_t *buffered_bytes,
                       pp_err *err);
void pp_nccl_unload(pp_world *world);

/* nccl_messages.c */
pp_status pp_nccl_begin(pp_world *world, uint32_t rank, pp_err *err);
pp_status pp_nccl_post(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err);
pp_status pp_nccl_wait(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                       pp_err *err);
pp_status pp_nccl_poll(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                       bool *done_out, pp_ns *done_ns, pp_err *err);

extern const pp_transport pp_nccl_transport; /* nccl_world.c: all but available and open */
pp_status pp_nccl_open(const pp_module_services *services, const pp_world_options *options,
                       pp_world **world_out, pp_err *err);
/* A world of one rank on this GPU, whatever started the process. No communicator yet. */
pp_status pp_nccl_open_alone(const pp_module_services *services, int device, pp_world **world_out,
                             pp_err *err);

#endif
