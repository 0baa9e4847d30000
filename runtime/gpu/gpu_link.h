/* Traffic between GPUs, timed directly over NCCL: what calib/ calls of the module ppsim_cuda.so,
 * without any of CUDA's types. Payloads are on the GPUs. A process hosts all visible GPUs, a rank
 * each, or one rank of a job that torchrun, mpirun or srun started. Implemented in
 * runtime/cuda/timing/link.c. */
#ifndef PPSIM_RUNTIME_GPU_GPU_LINK_H
#define PPSIM_RUNTIME_GPU_GPU_LINK_H

#include "runtime/module/module.h"

typedef struct pp_gpu_link pp_gpu_link;

typedef enum pp_traffic_kind {
    PP_TRAFFIC_SEND,     /* first to second; first == second: to itself */
    PP_TRAFFIC_EXCHANGE, /* both ways, in one group */
    PP_TRAFFIC_SIZE, /* as SEND, then copied to the host, which reads it before the next message */
    PP_TRAFFIC_POST, /* as SEND, but the host's time to post the group is measured */
    PP_TRAFFIC_ALL_REDUCE, /* sum of floats */
    PP_TRAFFIC_ALL_GATHER, /* `bytes` is what every rank has in the end */
} pp_traffic_kind;

/* The numbers of channels of a communicator, each of which takes a multiprocessor; 0: NCCL's own
 * choice. */
typedef struct pp_gpu_channels {
    uint32_t most, least;  /* in total */
    uint32_t per_net_peer; /* to a rank of another machine */
} pp_gpu_channels;

typedef struct pp_traffic {
    pp_traffic_kind kind;
    uint32_t first, second; /* ranks */
    bool pair; /* in a communicator of these two; otherwise in that of all ranks, which all take
                  part in collectives */
    pp_gpu_channels channels; /* channels of its communicator */
    uint64_t bytes;
} pp_traffic;

typedef struct pp_gpu_link_facts {
    bool first; /* this process hosts rank 0 and measures */
    uint32_t ranks;
    const uint32_t *node; /* [ranks]: machines by number */
    int nccl;             /* its version, 22809 for 2.28.9 */
    bool net_channels;    /* channels.per_net_peer is known to NCCL (2.28) */
    char name[128];       /* of the first GPU here: "NVIDIA H100 80GB HBM3" */
    int32_t multiprocessors;
} pp_gpu_link_facts;

typedef struct pp_gpu_link_table {
    /* Opens the link. bytes_max: the largest traffic. Fails: UNAVAILABLE (another process has no
     * GPU), USAGE, IO, NOMEM, INFEASIBLE. */
    pp_status (*open)(const pp_module_services *services, uint64_t bytes_max,
                      pp_gpu_link **link_out, pp_err *err);
    void (*close)(pp_gpu_link *link); /* NULL is fine; makes `serve` of the others return */
    const pp_gpu_link_facts *(*facts)(const pp_gpu_link *link);
    /* In the process of rank 0: runs the traffic `runs` times, after one that is not timed and
     * synchronises the ranks. took_ns: by events of the streams, of the rank that took longest;
     * SIZE and POST: by the clock of the host. Fails: IO, INFEASIBLE (stopped), NOMEM. */
    pp_status (*run)(pp_gpu_link *link, const pp_traffic *traffic, uint32_t runs, pp_ns *took_ns,
                     pp_err *err);
    /* In the other processes: takes part until rank 0 closes the link. */
    pp_status (*serve)(pp_gpu_link *link, pp_err *err);
} pp_gpu_link_table;

#define PP_NCCL_CHUNK_SIZE_WHY \
    "is set, and with it NCCL may silently deliver wrong data (NCCL #2408); unset it"

/* Called before messages are measured. Fails: USAGE when an environment variable of NCCL overrides
 * the settings of communicators, or makes NCCL deliver wrong data. */
PP_MUST_CHECK pp_status pp_gpu_link_check_settings(pp_err *err);

#endif
