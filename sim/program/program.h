/* What each rank executes, instruction for instruction, communication included: an order lowered
 * by a framework (sim/framework/). The currency between sim, runtime and traces. */
#ifndef PPSIM_SIM_PROGRAM_PROGRAM_H
#define PPSIM_SIM_PROGRAM_PROGRAM_H

#include "sim/order/order.h"

#define PP_NO_SOURCE UINT32_MAX

/* Owner frees with pp_program_free. One allocation. */
typedef struct pp_program {
    uint32_t ranks, stages, microbatches;
    uint32_t *stage_rank;   /* [stages]; of microbatches below mirrored_from */
    uint32_t mirrored_from; /* from this microbatch on ranks are mirrored */
    bool forward_only;      /* no I, W, B: an evaluation, or an excerpt */
    size_t count;           /* instructions */
    size_t *rank_begin;     /* [ranks + 1] */
    pp_op *op;              /* [count] */
    uint32_t *source;       /* [count]: the instruction whose result it needs from another stage, or
                               PP_NO_SOURCE; what it needs from its own rank is in rank order */
    uint32_t
        *topological_order; /* [count]: all instructions, each after everything that it needs */
    struct pp_comm *comm;   /* sim/program/comm.h; NULL: dependencies and latency only */
} pp_program;

/* The rank that runs `stage` of `microbatch`; the rank that runs `op`. */
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

/* The compute ops of an order and what each needs, sorted topologically, without communication,
 * which frameworks add. Fails: INFEASIBLE when the order cannot finish (err names the ranks that
 * wait for each other and their ops), NOMEM. */
PP_MUST_CHECK pp_status pp_program_from_order(const pp_order *order, pp_program **program_out,
                                              pp_err *err);

void pp_program_free(pp_program **program); /* for PP_CLEANUP; *program NULL is fine */

#endif
