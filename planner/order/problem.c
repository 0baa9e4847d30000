/* The problem of ordering in memory: its allocation, the dependencies between its ops, a check that
 * it can be solved, and its orders as text. All is linear in the number of ops. */
#include "planner/order/problem.h"

#include "sim/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set_dependencies(pp_order_problem *x)
{
    uint32_t s = x->stages;
    for (uint32_t op = 0; op < x->ops; op++) {
        uint32_t at = op % (3 * s);
        pp_task *task = &x->task[op];
        task->before = at == 0 ? x->ops : op - (at < 2 * s ? 1 : s);
        task->after = at < 2 * s - 1 ? op + 1 : x->ops;
        task->weight = at >= s && at < 2 * s ? op + s : x->ops;
        task->microbatch = op / (3 * s);
        task->kind = (uint16_t)(at / s);
        task->stage = (uint16_t)(at < s ? at : s - 1 - at % s);
        task->rank = x->stage_rank[task->stage];
    }
    x->task[x->ops] = (pp_task){ .before = x->ops, .after = x->ops, .weight = x->ops };
}

pp_status pp_order_problem_new(const char *name, uint32_t ranks, uint32_t stages,
                               uint32_t microbatches, const uint32_t *stage_rank,
                               pp_order_problem **problem_out, pp_err *err)
{
    uint64_t cells = (uint64_t)stages * microbatches;
    if (cells > PP_ORDER_PROBLEM_OPS_MAX / 3)
        return pp_err_set(err, PP_INPUT, name, "%" PRIu64 " ops are more than the limit of %u",
                          3 * cells, PP_ORDER_PROBLEM_OPS_MAX);
    pp_order_problem *x = pp_alloc_array(1, sizeof *x);
    if (!x)
        return pp_err_nomem(err);
    x->ranks = ranks;
    x->stages = stages;
    x->microbatches = microbatches;
    x->ops = (uint32_t)(3 * cells);
    x->name = pp_copy_text(name);
    x->stage_rank = pp_alloc_array(stages, sizeof *x->stage_rank);
    x->room = pp_alloc_array(ranks, sizeof *x->room);
    x->task = pp_alloc_array((size_t)x->ops + 1, sizeof *x->task);
    x->memory = pp_alloc_array((size_t)x->ops + 1, sizeof *x->memory);
    if (!x->name || !x->stage_rank || !x->room || !x->task || !x->memory) {
        pp_order_problem_free(&x);
        return pp_err_nomem(err);
    }
    memcpy(x->stage_rank, stage_rank, stages * sizeof *stage_rank);
    set_dependencies(x);
    *problem_out = x;
    return PP_OK;
}

void pp_order_problem_free(pp_order_problem **problem)
{
    pp_order_problem *x = *problem;
    if (!x)
        return;
    free(x->name);
    free(x->stage_rank);
    free(x->room);
    free(x->task);
    free(x->memory);
    free(x);
    *problem = NULL;
}

/* Runs microbatch `i` alone on `rank`, each W right after its B. Returns the op that does not fit,
 * or x->ops. */
static uint32_t misfit(const pp_order_problem *x, uint32_t i, uint32_t rank)
{
    int64_t held = 0;
    uint32_t chain = i * 3 * x->stages;
    for (uint32_t op = chain; op < chain + 2 * x->stages; op++) {
        const uint32_t pair[] = { op, x->task[op].weight };
        for (int k = 0; k < 2 && x->task[op].rank == rank && pair[k] < x->ops; k++) {
            if (held + x->memory[pair[k]].need > x->room[rank])
                return pair[k];
            held += x->memory[pair[k]].delta;
        }
    }
    return x->ops;
}

pp_status pp_order_problem_check_room(const pp_order_problem *x, pp_err *err)
{
    for (uint32_t i = 0; i < x->microbatches; i++) {
        for (uint32_t r = 0; r < x->ranks; r++) {
            uint32_t op = misfit(x, i, r);
            if (op == x->ops)
                continue;
            return pp_err_set(err, PP_INFEASIBLE, x->name,
                              "%c of microbatch %" PRIu32 " (stage %" PRIu32
                              ") does not fit into the %" PRId64 " of rank %" PRIu32
                              " even alone; give it more memory or a smaller microbatch",
                              "FBW"[x->task[op].kind], i, x -> task[op].stage, x->room[r], r);
        }
    }
    return PP_OK;
}

const char *pp_order_problem_token(const pp_order_problem *x, uint32_t op, char *buffer,
                                   size_t size)
{
    const pp_task *task = &x->task[op];
    snprintf(buffer, size, "%c%u.%" PRIu32, "FBW"[task->kind], (unsigned)task -> stage,
             task -> microbatch);
    return buffer;
}

void pp_order_problem_print_orders(const pp_order_problem *x, const uint32_t *ops, pp_text *text)
{
    uint32_t k = 0;
    for (uint32_t r = 0; r < x->ranks; r++) {
        for (; k < x->ops && x->task[ops[k]].rank == r; k++) {
            char token[PP_ORDER_PROBLEM_TOKEN_BYTES];
            pp_text_add(text, "%s ", pp_order_problem_token(x, ops[k], token, sizeof token));
        }
        pp_text_add(text, "\n");
    }
}
