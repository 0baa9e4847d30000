/* Determines which process of a job this is. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_STORE_PLACE_H
#define PPSIM_RUNTIME_CUDA_NCCL_STORE_PLACE_H

#include "runtime/module/module.h"

/* The place of this process in its job, from the variables of torchrun, Open MPI, other MPIs, or
 * srun. */
typedef struct pp_store_place {
    bool launched; /* a launcher started it; otherwise it is alone and hosts all ranks */
    uint32_t rank, ranks;
    uint32_t local; /* its index on this machine, which is that of its GPU */
    char host[256]; /* host of rank 0 */
    uint16_t port;
    char job[128];       /* the launcher's name of the job, or "" */
    uint32_t patience_s; /* time limit until all processes are connected */
    bool several;        /* the launcher says that the job is on several machines */
    bool has_secret;
    unsigned char key[32]; /* of the job's name and secret (store_proof.h) */
} pp_store_place;

/* Reads the place. Fails: USAGE (variables are missing or are not numbers). */
PP_MUST_CHECK pp_status pp_store_find_place(const pp_module_services *services,
                                            pp_store_place *place_out, pp_err *err);

#endif
