/* The problem of ordering: given durations, lags, memory and a placement, in which order does each
 * rank run its ops? One op F, B (for the input) and W per stage and microbatch; format and rules:
 * docs/formats.md, "ppsim.instance". Times are ticks (an instance says which), memory is bytes or
 * any other unit; both are whole numbers. */
#ifndef PPSIM_PLANNER_ORDER_PROBLEM_H
#define PPSIM_PLANNER_ORDER_PROBLEM_H

#include "sim/base/json.h"
#include "sim/base/text.h"

#define PP_INSTANCE_OPS_MAX (1u << 24)
#define PP_INSTANCE_TICKS_MAX ((int64_t)1 << 36) /* an op, a lag: all together fit 64 bits */
#define PP_INSTANCE_BYTES_MAX ((int64_t)1 << 50)

typedef enum pp_task_kind { PP_TASK_F, PP_TASK_B, PP_TASK_W } pp_task_kind;

/* What decides when an op runs. A rank runs one op at a time. */
typedef struct pp_task {
    int64_t ticks;
    int64_t lag;     /* from the end of `before` until this op may start */
    uint32_t before; /* the op whose result it needs; `ops` when there is none */
    uint32_t after;  /* the next F or B of the chain, which needs this one; `ops`: none */
    uint32_t weight; /* of a B: its W; `ops`: none */
    uint32_t rank;
    uint32_t microbatch;
    uint16_t stage;
    uint16_t kind; /* pp_task_kind */
} pp_task;

/* What decides whether it fits. Memory is taken at starts and given back at ends, and both happen
 * on one rank, so whether an order fits does not depend on times. */
typedef struct pp_task_memory {
    int64_t need;  /* at its start, held before + need <= room */
    int64_t delta; /* change of what is held, once it has run */
} pp_task_memory;

/* Owner frees with pp_instance_free. Ops are numbered microbatch by microbatch, each: F of stage 0
 * up to the last, B of the last down to 0, W of the last down to 0. */
typedef struct pp_instance {
    char *name;
    uint32_t ranks, stages, microbatches;
    uint32_t ops;         /* 3 * stages * microbatches */
    uint32_t *stage_rank; /* [stages] */
    int64_t *room;        /* [ranks]: memory, net of weights */
    pp_task *task;        /* [ops + 1]: the last one is "no op": takes no time */
    pp_task_memory *memory;
} pp_instance;

static inline uint32_t pp_instance_op(const pp_instance *instance, pp_task_kind kind,
                                      uint32_t stage, uint32_t microbatch)
{
    uint32_t s = instance->stages;
    uint32_t in_chain = kind == PP_TASK_F ? stage : (uint32_t)kind * s + s - 1 - stage;
    return microbatch * 3 * s + in_chain;
}

/* Sizes and the wiring of the ops; times, memory and rooms are 0. stage_rank: [stages], copied.
 * Fails: INPUT (more than PP_INSTANCE_OPS_MAX ops), NOMEM. */
PP_MUST_CHECK pp_status pp_instance_new(const char *name, uint32_t ranks, uint32_t stages,
                                        uint32_t microbatches, const uint32_t *stage_rank,
                                        pp_instance **instance_out, pp_err *err);
void pp_instance_free(pp_instance **instance); /* for PP_CLEANUP; *instance NULL is fine */

/* at: the root of a document. Fails: INPUT with the place, NOMEM. */
PP_MUST_CHECK pp_status pp_instance_read(const pp_json_at *at, pp_instance **instance_out,
                                         pp_err *err);

/* Can the microbatches run one after the other, each W right behind its B? Where every rank has one
 * stage, no order fits without that.
 * Fails: INFEASIBLE, naming the microbatch and the rank; NOMEM. */
PP_MUST_CHECK pp_status pp_instance_check_room(const pp_instance *instance, pp_err *err);

#define PP_INSTANCE_TOKEN_BYTES 32

/* "F0.12": stage and microbatch. Returns buffer. */
const char *pp_instance_token(const pp_instance *instance, uint32_t op, char *buffer, size_t size);

/* The orders of all ranks, rank after rank, each of as many ops as it has: "F0.0 F0.1 B0.0 ...",
 * a line per rank. */
void pp_instance_print_orders(const pp_instance *instance, const uint32_t *ops, pp_text *text);

#endif
