/* What each rank executes, instruction for instruction: an order that a framework (sim/framework/)
 * has lowered. The engine predicts it, the runtime executes it, and traces are made from it. */
#ifndef PPSIM_SIM_PROGRAM_PROGRAM_H
#define PPSIM_SIM_PROGRAM_PROGRAM_H

#include "sim/order/order.h"

#define PP_NO_SOURCE UINT32_MAX

/* One allocation, but for `comm`. Owner frees with pp_program_free. */
typedef struct pp_program {
    uint32_t ranks, stages, microbatches;
    uint32_t runs;          /* pipeline runs, of microbatches / runs each */
    uint32_t *stage_rank;   /* [stages]: as in pp_order */
    uint32_t mirrored_from; /* as in pp_order */
    bool forward_only;      /* it has no I, W, B: an evaluation, or an excerpt */
    bool has_pairs;         /* it has overlapped pairs */
    bool overlaps_pairs;    /* its framework runs their halves at the same time */
    size_t count;           /* instructions */
    size_t *rank_begin;     /* [ranks + 1]: the first instruction of each rank */
    pp_op *op;              /* [count] */
    uint32_t *source;       /* [count]: the instruction of another stage whose result it needs, or
                               PP_NO_SOURCE; results of its own stage are earlier on its rank */
    uint32_t *topological_order; /* [count]: all instructions, each after all that it needs */
    struct pp_comm *comm;        /* sim/program/comm.h; NULL: only dependencies and latencies */
} pp_program;

/* The rank that runs `stage` of `microbatch`, or `op`. */
static inline uint32_t pp_program_stage_rank(const pp_program *program, uint32_t stage,
                                             uint32_t microbatch)
{
    uint32_t rank = program->stage_rank[stage];
    return microbatch < program->mirrored_from ? rank : program->ranks - 1 - rank;
}

static inline uint32_t pp_program_rank(const pp_program *program, pp_op op)
{
    return pp_program_stage_rank(program, op.stage, op.microbatch);
}

#endif
