/* The state of transport nccl. A process hosts all ranks, a GPU and a thread each, or one rank of a
 * job that torchrun or mpirun started. Communicators do not block: every call returns, and a thread
 * that waits asks again and again, so that none is caught inside NCCL when a run must end. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_NCCL_STATE_H
#define PPSIM_RUNTIME_CUDA_NCCL_NCCL_STATE_H

#include "runtime/cuda/base/device.h"
#include "runtime/cuda/nccl/store.h"
#include "runtime/gpu/gpu_link.h"

#include <nccl.h>
#include <pthread.h>

/* A communicator and the stream in which its groups run, one after the other. */
typedef struct pp_nccl_queue {
    ncclComm_t comm;
    cudaStream_t stream;
    uint32_t peer; /* the other of its two ranks; PP_NO_SOURCE: it has all ranks */
    pp_gpu_channels channels;
} pp_nccl_queue;

/* The state of a transfer of a rank. */
typedef struct pp_nccl_transfer_state {
    pp_message message; /* header that is sent, or that is expected */
    void *payload;      /* the caller's */
    size_t bytes;       /* size of the payload */
    size_t staged_at;   /* offset in the rank's staging memory */
    uint32_t queue, completion;
    bool sends, staged, header, posted, done;
    pp_ns posted_ns, done_ns;
} pp_nccl_transfer_state;

/* An event in one of the queues of a group, after its last operation there. */
typedef struct pp_nccl_completion {
    cudaEvent_t event;
    uint32_t queue;
} pp_nccl_completion;

/* One rank that this process hosts, and its GPU. */
typedef struct pp_nccl_rank {
    uint32_t rank;
    int device;
    pp_nccl_queue *queue;
    size_t queues;

    /* The loaded program. */
    pp_nccl_transfer_state *transfer; /* [transfers], of this rank */
    size_t transfers;
    pp_nccl_completion *completion; /* [completions], group by group */
    size_t completions;
    char *staging;           /* on the GPU */
    char *pinned;            /* staging memory of the host, pinned */
    pp_message *header;      /* [transfers], on the GPU */
    pp_message *header_host; /* [transfers], pinned: headers that are sent, or that arrived */
    cudaEvent_t start;       /* of the step: its time is known on the clocks of GPU and host */
    pp_ns start_ns;          /* time of `start` on the host's clock */
    uint32_t steps;          /* steps begun since the load */
    uint32_t open_group;     /* group that is being posted, or PP_NO_SOURCE */
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
    size_t *payload_bytes;      /* [transfers], of the program to be loaded */
    uint32_t *slot;             /* [transfers]: into transfer of its rank, or PP_NO_SOURCE */
    uint32_t *first_completion; /* [groups]: into completion of its rank */
};

static inline pp_nccl_rank *pp_nccl_rank_of(const pp_world *world, uint32_t rank)
{
    return &world->rank[rank - world->first];
}

#endif
