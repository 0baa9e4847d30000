/* Which transfers a rank has, and how many receive buffers they need. */
#ifndef PPSIM_SIM_ANALYSIS_MEMORY_SLOTS_H
#define PPSIM_SIM_ANALYSIS_MEMORY_SLOTS_H

#include "sim/cost/costs.h"
#include "sim/program/comm.h"

/* The receive buffers that the program of one rank needs. Posting a receive takes a slot. The slot
 * of a gradient is free again when its backward has run; that of an activation likewise, or, with
 * buffers.recv_copied, when its forward has run. */
typedef struct pp_recv_pool {
    uint64_t slots; /* in all pools of the rank; ON_POST counts as one pool */
    int64_t bytes;  /* of all slots, each as large as the largest tensor of its pool; 0: no costs */
} pp_recv_pool;

/* Finds a tensor's transfer of one rank by what it carries. Owner frees with
 * pp_rank_transfers_free. */
typedef struct pp_rank_transfers {
    const pp_program *program;
    uint32_t rank;
    uint32_t *stage; /* [stages]: those of this rank, sorted */
    size_t stages;
    uint32_t *transfer; /* [PP_TENSOR_KINDS][stages][microbatches], or PP_NO_SOURCE */
    size_t cells;       /* entries of `transfer` per kind */
} pp_rank_transfers;

/* `program` is borrowed. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_rank_transfers_new(const pp_program *program, uint32_t rank,
                                              pp_rank_transfers *index_out, pp_err *err);
void pp_rank_transfers_free(pp_rank_transfers *index);
/* The place of a stage among those of the rank, or where it belongs if it is not there. */
static inline size_t pp_rank_transfers_stage(const pp_rank_transfers *index, uint32_t stage)
{
    size_t low = 0, high = index->stages;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (index->stage[middle] < stage)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns true if the rank computes the stage or transfers its tensors. */
static inline bool pp_rank_transfers_has(const pp_rank_transfers *index, uint32_t stage)
{
    const size_t at = pp_rank_transfers_stage(index, stage);
    return at < index->stages && index->stage[at] == stage;
}

/* The index of (kind, stage, microbatch) in `transfer`. */
static inline size_t pp_rank_transfers_at(const pp_rank_transfers *index, pp_transfer_kind kind,
                                          uint32_t stage, uint32_t microbatch)
{
    return kind * index->cells +
           pp_rank_transfers_stage(index, stage) * index->program->microbatches + microbatch;
}

/* The transfer of (kind, stage, microbatch), or PP_NO_SOURCE when the rank has none. */
static inline uint32_t pp_rank_transfers_get(const pp_rank_transfers *index, pp_transfer_kind kind,
                                             uint32_t stage, uint32_t microbatch)
{
    return index->transfer[pp_rank_transfers_at(index, kind, stage, microbatch)];
}

/* Sizes the receive buffers of `rank`. `program` must communicate. costs: may be NULL; the bytes
 * are 0 then.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_recv_pool_of(const pp_program *program, const pp_costs *costs,
                                        uint32_t rank, pp_recv_pool *pool_out, pp_err *err);

/* Like pp_recv_pool_of, for the rank of an index. */
PP_MUST_CHECK pp_status pp_recv_pool_in(const pp_rank_transfers *index, const pp_costs *costs,
                                        pp_recv_pool *pool_out, pp_err *err);

/* The size of the tensor that the transfer carries. */
static inline int64_t pp_transfer_bytes(const pp_costs *costs, const pp_transfer *t)
{
    const bool downward = t->kind == PP_RECV_F || t->kind == PP_SEND_B; /* the previous boundary */
    const uint32_t stage = downward && t->stage ? t->stage - 1u : t->stage;
    return costs->message_bytes[pp_cost_index(costs, stage, t->microbatch)];
}

#endif
