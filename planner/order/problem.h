/* The ordering problem: given durations, lags, memory and a placement, in which order does each
 * rank run its ops? There is one op F, B (the backward for the input) and W (the one for the
 * weights) per stage and microbatch. Its file format and rules: docs/reference/formats.md,
 * "ppsim.instance". Times are ticks (a file states how long one is), memory is bytes or any other
 * unit; both are whole numbers. */
#ifndef PPSIM_PLANNER_ORDER_PROBLEM_H
#define PPSIM_PLANNER_ORDER_PROBLEM_H

#include "sim/base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define PP_ORDER_PROBLEM_OPS_MAX (1u << 24)
#define PP_ORDER_PROBLEM_TICKS_MAX ((int64_t)1 << 36) /* an op, a lag: all together fit 64 bits */
#define PP_ORDER_PROBLEM_BYTES_MAX ((int64_t)1 << 50)

typedef enum pp_task_kind { PP_TASK_F, PP_TASK_B, PP_TASK_W } pp_task_kind;

/* What decides when an op runs. A rank runs one op at a time. */
typedef struct pp_task {
    int64_t ticks;
    int64_t lag;     /* from the end of `before` until this op may start */
    uint32_t before; /* the op whose result it needs; `ops` when there is none */
    uint32_t after;  /* the next F or B of the chain, which needs this op; `ops`: none */
    uint32_t weight; /* of a B: its W; `ops`: none */
    uint32_t rank;
    uint32_t microbatch;
    uint16_t stage;
    uint16_t kind; /* pp_task_kind */
} pp_task;

/* What decides whether an order fits. Memory is taken at starts and returned at ends, both on one
 * rank, so whether an order fits does not depend on times. */
typedef struct pp_task_memory {
    int64_t need;  /* at its start, memory held before + need <= room */
    int64_t delta; /* change of what is held, once it has run; those of a microbatch on a stage
                      add up to 0 */
} pp_task_memory;

/* Owner frees with pp_order_problem_free. Ops are numbered microbatch by microbatch: F of stage 0
 * up to the last, then B of the last down to 0, then W of the last down to 0. */
typedef struct pp_order_problem {
    char *name;
    uint32_t ranks, stages, microbatches;
    uint32_t ops;         /* 3 * stages * microbatches */
    uint32_t *stage_rank; /* [stages] */
    int64_t *room;        /* [ranks]: memory, net of weights */
    bool rooms_are_low;   /* an order may have more: nothing follows from what does not fit */
    pp_task *task;        /* [ops + 1]: the last one is "no op", which takes no time */
    pp_task_memory *memory;
} pp_order_problem;

static inline uint32_t pp_order_problem_op(const pp_order_problem *problem, pp_task_kind kind,
                                           uint32_t stage, uint32_t microbatch)
{
    uint32_t s = problem->stages;
    uint32_t in_chain = kind == PP_TASK_F ? stage : (uint32_t)kind * s + s - 1 - stage;
    return microbatch * 3 * s + in_chain;
}

/* Sets sizes and dependencies; times, memory and rooms are 0. stage_rank: [stages], copied.
 * Fails: INPUT (more than PP_ORDER_PROBLEM_OPS_MAX ops), NOMEM. */
PP_MUST_CHECK pp_status pp_order_problem_new(const char *name, uint32_t ranks, uint32_t stages,
                                             uint32_t microbatches, const uint32_t *stage_rank,
                                             pp_order_problem **problem_out, pp_err *err);
void pp_order_problem_free(pp_order_problem **problem); /* for PP_CLEANUP; *problem NULL is fine */

/* Ticks of all ops of a microbatch. */
int64_t pp_order_problem_work_of(const pp_order_problem *problem, uint32_t microbatch);

/* Runs the ops of microbatch i on `rank` while the rank holds nothing else. Returns the op that
 * does not fit, or problem->ops; in the first case no order of the whole problem fits. weights:
 * [stages], for its own use. ops: receives the rank's ops in that order; NULL: they are not wanted.
 */
uint32_t pp_order_problem_run_alone(const pp_order_problem *problem, uint32_t i, uint32_t rank,
                                    uint32_t *weights, uint32_t *ops);
/* Checks that the microbatches fit one after the other. No order fits unless they do, since a
 * microbatch that is not there holds nothing. Fails: INFEASIBLE, naming the microbatch and the
 * rank; NOMEM. */
PP_MUST_CHECK pp_status pp_order_problem_check_room(const pp_order_problem *problem, pp_err *err);

#define PP_ORDER_PROBLEM_TOKEN_BYTES 32

/* "F0.12": stage and microbatch. Returns buffer. */
const char *pp_order_problem_token(const pp_order_problem *problem, uint32_t op, char *buffer,
                                   size_t size);

/* Adds the orders of all ranks, a line per rank: "F0.0 F0.1 B0.0 ...". ops: [problem->ops], rank
 * after rank, all ops of each. */
void pp_order_problem_print_orders(const pp_order_problem *problem, const uint32_t *ops,
                                   pp_text *text);

#endif
