/* The problem of ordering in memory: its allocation, the dependencies between its ops, a check that
 * it can be solved, and its orders as text. All is linear in the number of ops. */
#include "planner/order/problem.h"

#include "sim/base/alloc.h"
#include "sim/base/heap.h"

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

int64_t pp_order_problem_work_of(const pp_order_problem *x, uint32_t microbatch)
{
    int64_t ticks = 0;
    for (uint32_t k = 0; k < 3 * x->stages; k++)
        ticks += x->task[microbatch * 3 * x->stages + k].ticks;
    return ticks;
}

/* A W that needs less leaves the heap first. */
static bool needs_less(const void *context, uint32_t a, uint32_t b)
{
    const pp_order_problem *x = context;
    return x->memory[a].need != x->memory[b].need ? x->memory[a].need < x->memory[b].need : a < b;
}

/* Each W runs as soon as it fits. That is best, since no other op needs it and it only gives back:
 * in any order that fits, a W that fits earlier may run earlier. */
uint32_t pp_order_problem_run_alone(const pp_order_problem *x, uint32_t i, uint32_t rank,
                                    uint32_t *weights, uint32_t *ops)
{
    pp_heap wait = { .id = weights, .context = x };
    int64_t held = 0;
    const uint32_t chain = i * 3 * x->stages;
    for (uint32_t op = chain; op < chain + 2 * x->stages; op++) {
        if (x->task[op].rank != rank)
            continue;
        if (held + x->memory[op].need > x->room[rank])
            return op;
        held += x->memory[op].delta;
        if (ops)
            *ops++ = op;
        if (x->task[op].weight < x->ops)
            pp_heap_push(&wait, needs_less, x->task[op].weight);
        while (wait.count && held + x->memory[wait.id[0]].need <= x->room[rank]) {
            const uint32_t weight = pp_heap_pop(&wait, needs_less);
            held += x->memory[weight].delta;
            if (ops)
                *ops++ = weight;
        }
    }
    return wait.count ? wait.id[0] : x->ops;
}

pp_status pp_order_problem_check_room(const pp_order_problem *x, pp_err *err)
{
    uint32_t *weights = pp_alloc_array(x->stages, sizeof *weights);
    uint32_t op = x->ops;
    if (!weights)
        return pp_err_nomem(err);
    for (uint32_t i = 0; i < x->microbatches && op == x->ops; i++) {
        for (uint32_t r = 0; r < x->ranks && op == x->ops; r++)
            op = pp_order_problem_run_alone(x, i, r, weights, NULL);
    }
    free(weights);
    if (op == x->ops)
        return PP_OK;
    const pp_task *task = &x->task[op];
    return pp_err_set(err, PP_INFEASIBLE, x->name,
                      "%c of microbatch %" PRIu32 " (stage %u) does not fit into the %" PRId64
                      " of rank %" PRIu32
                      " even alone; give it more memory or a smaller microbatch",
                      "FBW"[task->kind], task -> microbatch, (unsigned)task -> stage,
                      x -> room[task->rank], task -> rank);
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
