/* What each rank executes, instruction for instruction, communication included: an order lowered
 * by an framework. The currency between sim, runtime and traces. */
#ifndef PPSIM_SIM_PROGRAM_PROGRAM_H
#define PPSIM_SIM_PROGRAM_PROGRAM_H

#include "sim/order/order.h"
#include "sim/program/buffers.h"

#define PP_NO_SOURCE UINT32_MAX

/* Owner frees with pp_program_free. One allocation. */
typedef struct pp_program {
    uint32_t ranks, stages, microbatches;
    uint32_t *stage_rank;   /* [stages]; of microbatches below `turned` */
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

/* What one compiled graph holds, where a runtime compiles ahead (sim/framework/lowering/graphs.h).
 */
typedef enum pp_graphs {
    PP_GRAPHS_NONE,
    PP_GRAPHS_PER_TASK,  /* one compute op, or one transfer */
    PP_GRAPHS_PER_CYCLE, /* one forward, the backwards right after it, and their transfers */
} pp_graphs;

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

struct pp_costs;

/* The communication habits of one training framework; sim/framework/x.c + sim/frameworks.def. */
typedef struct pp_framework {
    const char *name;
    const char *summary;
    pp_p2p p2p; /* what its transfers are made of */
    pp_graphs graphs;
    /* order: checked (pp_order_check).
     * Fails: INFEASIBLE when it cannot finish (err names the ranks that wait for each other and
     * their ops), NOMEM. */
    pp_status (*lower)(const pp_order *order, pp_program **program_out, pp_err *err);
    /* The same where durations decide; NULL: they do not. costs: not kept. */
    pp_status (*lower_timed)(const pp_order *order, const struct pp_costs *costs,
                             pp_program **program_out, pp_err *err);
    const struct pp_size_protocol_support
        *size_protocols; /* sim/framework/sizes/size_protocol.h; NULL: dependencies only */
    pp_buffers buffers;  /* its own, of programs that communicate */
    bool post_validates; /* without a barrier: sim/analysis/step_tail.h */
} pp_framework;

/* &pp_framework_torch and the others of sim/executors.def. */
#define PP_EXECUTOR(id) extern const pp_framework pp_framework_##id;
#include "sim/executors.def"
#undef PP_EXECUTOR

size_t pp_framework_count(void);
const pp_framework *pp_framework_at(size_t index);
/* NULL when unknown. */
const pp_framework *pp_framework_find(const char *name);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_framework_get(const char *name, const pp_framework **framework_out,
                                         pp_err *err);

/* framework->lower, with the framework's buffers. costs: NULL when not known. Fails: as that. */
PP_MUST_CHECK pp_status pp_framework_lower(const pp_framework *framework, const pp_order *order,
                                           const struct pp_costs *costs, pp_program **program_out,
                                           pp_err *err);

/* The compute ops of an order and what each needs; walked, without communication. Executors add
 * theirs. Fails: INFEASIBLE as above, NOMEM. */
PP_MUST_CHECK pp_status pp_program_from_order(const pp_order *order, pp_program **program_out,
                                              pp_err *err);

/* Fills program->walk. Fails: INFEASIBLE as above, NOMEM. */
PP_MUST_CHECK pp_status pp_program_sort_topologically(pp_program *program, pp_err *err);

void pp_program_free(pp_program **program); /* for PP_CLEANUP; *program NULL is fine */

#endif
