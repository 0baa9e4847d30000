/* Which transfers a rank has, and how many receive buffers they need. */
#ifndef PPSIM_SIM_ANALYSIS_MEMORY_SLOTS_H
#define PPSIM_SIM_ANALYSIS_MEMORY_SLOTS_H

#include "sim/cost/costs.h"
#include "sim/program/comm.h"

/* Receive buffers of one rank as its program needs them: a post takes a slot; it is free again when
 * F has run (buffers.recv_copied) or the backward has, a gradient's when the backward has. */
typedef struct pp_recv_pool {
    uint64_t slots; /* of all pools of the rank; ON_POST counts as one pool */
    int64_t bytes;  /* a slot is as large as the largest tensor of its pool; 0 without costs */
} pp_recv_pool;

/* program: with communication. costs: may be NULL. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_recv_pool_of(const pp_program *program, const pp_costs *costs,
                                        uint32_t rank, pp_recv_pool *pool_out, pp_err *err);

/* Transfers of one rank by what they carry. */
typedef struct pp_rank_transfers {
    const pp_program *program;
    uint32_t rank;
    uint32_t *local;    /* [stages]: number of the stage on this rank */
    uint32_t *transfer; /* [PP_TRANSFER_KIND_COUNT][stages of the rank][microbatches], or
                           PP_NO_SOURCE */
    size_t cells;       /* per kind */
} pp_rank_transfers;

PP_MUST_CHECK pp_status pp_rank_transfers_new(const pp_program *program, uint32_t rank,
                                              pp_rank_transfers *index_out, pp_err *err);
void pp_rank_transfers_free(pp_rank_transfers *index);
/* Where (kind, stage, microbatch) stands in `transfer`. */
size_t pp_rank_transfers_at(const pp_rank_transfers *index, pp_transfer_kind kind, uint32_t stage,
                            uint32_t microbatch);
uint32_t pp_rank_transfers_get(const pp_rank_transfers *index, pp_transfer_kind kind,
                               uint32_t stage, uint32_t microbatch);

/* The tensor of a transfer. */
int64_t pp_transfer_bytes(const pp_costs *costs, const pp_transfer *transfer);

#endif
