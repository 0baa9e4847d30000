/* Which process of a job this is, as its launcher says. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_STORE_PLACE_H
#define PPSIM_RUNTIME_CUDA_NCCL_STORE_PLACE_H

#include "runtime/module/module.h"

/* Which process this is, from the variables of torchrun, Open MPI, other MPIs, or srun. */
typedef struct pp_store_place {
    bool launched; /* with others; else it is alone, and hosts all ranks */
    uint32_t rank, ranks;
    uint32_t local; /* its number on this machine: of its GPU */
    char host[256]; /* of rank 0 */
    uint16_t port;
    char job[128];       /* its name as the launcher has it, or "" */
    uint32_t patience_s; /* until all must be there */
} pp_store_place;

/* Fails: USAGE (variables that say no numbers, or too little). */
PP_MUST_CHECK pp_status pp_store_find_place(const pp_module_services *services,
                                            pp_store_place *place_out, pp_err *err);

#endif
