/* Converts a step into an ordering problem, and orders in both directions. An op of the problem
 * takes as long as the simulator's op with framework ideal, where a transfer is pure latency, so
 * the makespans of both agree to the nanosecond (tests/unit/planner/order/test_problem_costs.c).
 * O(ops). */
#include "planner/order/problem_costs.h"

#include "sim/base/alloc.h"
#include "sim/base/minmax.h"

#include <stdlib.h>
#include <string.h>

/* Fills in one stage of one microbatch. Returns false if a number becomes too large. */
static bool fill_cell(const pp_costs *costs, uint32_t s, uint32_t j, bool split, bool limited,
                      pp_order_problem *x)
{
    size_t row = pp_cost_index(costs, s, j);
    const pp_ns ticks[] = { costs->f_ns[row], split ? costs->i_ns[row] : costs->b_ns[row],
                            split ? costs->w_ns[row] : 0 };
    for (int kind = 0; kind < 3; kind++) {
        pp_task *task = &x->task[pp_order_problem_op(x, (pp_task_kind)kind, s, j)];
        bool remote =
            kind != PP_TASK_W && task->before < x->ops && x->task[task->before].rank != task->rank;
        uint32_t from = remote ? x->task[task->before].stage : s;
        task->ticks = ticks[kind];
        if (remote)
            task->lag =
                (from < s ? costs->send_f_ns : costs->send_b_ns)[pp_cost_index(costs, from, j)];
        if (task->ticks > PP_ORDER_PROBLEM_TICKS_MAX || task->lag > PP_ORDER_PROBLEM_TICKS_MAX)
            return false;
    }
    if (!limited)
        return true;
    int64_t taken, extra;
    int64_t kept = split ? costs->stash_bytes[row] : 0;
    if (__builtin_add_overflow(costs->activation_bytes[row], costs->logits_bytes[row], &taken) ||
        __builtin_add_overflow(costs->recompute_bytes[row], costs->temporary_bytes[row], &extra) ||
        taken > PP_ORDER_PROBLEM_BYTES_MAX || extra > PP_ORDER_PROBLEM_BYTES_MAX ||
        kept > PP_ORDER_PROBLEM_BYTES_MAX || costs->w_extra_bytes[row] > PP_ORDER_PROBLEM_BYTES_MAX)
        return false;
    pp_task_memory *memory = x->memory;
    memory[pp_order_problem_op(x, PP_TASK_F, s, j)] = (pp_task_memory){ taken, taken };
    memory[pp_order_problem_op(x, PP_TASK_B, s, j)] = (pp_task_memory){ extra, kept - taken };
    memory[pp_order_problem_op(x, PP_TASK_W, s, j)] =
        (pp_task_memory){ split ? costs->w_extra_bytes[row] : 0, -kept };
    return true;
}

/* What a rank holds at most beside its shards: all gradients whole, or those of one op, and the
 * parameters of as many of its stages as are gathered at a time, each as large as its largest. */
static int64_t unsharded_bytes(const pp_costs *costs, const uint32_t *stage_rank, uint32_t rank)
{
    int64_t gradients = 0, parameters = 0, largest = 0;
    uint32_t held = 0;
    for (uint32_t s = 0; costs->sharded && s < costs->stages; s++) {
        if (stage_rank[s] != rank)
            continue;
        held++;
        gradients = costs->shards_ops ? pp_max(gradients, costs->whole_gradient_bytes[s])
                                      : gradients + costs->whole_gradient_bytes[s];
        parameters += costs->gathered_bytes[s];
        largest = pp_max(largest, costs->gathered_bytes[s]);
    }
    const uint32_t most = costs->gathered_stages;
    return gradients + (most && held > most ? pp_min(parameters, most * largest) : parameters);
}

/* Fills in the memory that remains after parameters and everything else that a step does not
 * change. */
static void fill_rooms(const pp_costs *costs, const uint32_t *stage_rank, bool limited,
                       int64_t limit_bytes, pp_order_problem *x)
{
    for (uint32_t r = 0; r < x->ranks; r++) {
        const int64_t own = pp_costs_limit(costs, r, limit_bytes);
        x->room[r] = limited && own < PP_ORDER_PROBLEM_BYTES_MAX ? own : PP_ORDER_PROBLEM_BYTES_MAX;
        const int64_t fixed[] = {
            costs->parameter_bytes[r],    costs->gradient_bytes[r],
            costs->optimizer_bytes[r],    costs->workspace_bytes[r],
            costs->comm_library_bytes[r], unsharded_bytes(costs, stage_rank, r)
        };
        for (size_t k = 0; limited && k < sizeof fixed / sizeof *fixed; k++)
            x->room[r] = fixed[k] < x->room[r] ? x->room[r] - fixed[k] : 0;
    }
}

pp_status pp_order_problem_from_costs(const pp_costs *costs, const uint32_t *stage_rank, bool split,
                                      int64_t memory_limit_bytes, pp_order_problem **problem_out,
                                      pp_err *err)
{
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_status status = pp_order_problem_new("the step", costs->ranks, costs->stages,
                                            costs->microbatches, stage_rank, &x, err);
    if (!status)
        status = pp_order_problem_set_costs(costs, split, memory_limit_bytes, x, err);
    if (status)
        return status;
    *problem_out = x;
    x = NULL;
    return PP_OK;
}

pp_status pp_order_problem_set_costs(const pp_costs *costs, bool split, int64_t memory_limit_bytes,
                                     pp_order_problem *x, pp_err *err)
{
    bool limited = costs->has_memory && memory_limit_bytes > 0 &&
                   memory_limit_bytes <= PP_ORDER_PROBLEM_BYTES_MAX;
    x->rooms_are_low = costs->sharded && limited;
    fill_rooms(costs, x->stage_rank, limited, memory_limit_bytes, x);
    for (uint32_t j = 0; j < costs->microbatches; j++)
        for (uint32_t s = 0; s < costs->stages; s++)
            if (!fill_cell(costs, s, j, split, limited, x))
                return pp_err_set(err, PP_INPUT, x->name,
                                  "stage %u takes too long or too much memory for microbatch %u to "
                                  "be ordered",
                                  s, j);
    return PP_OK;
}

pp_status pp_order_problem_to_order(const pp_order_problem *x, const uint32_t *ops, bool split,
                                    pp_order **order_out, pp_err *err)
{
    static const pp_op_kind halves[] = { PP_OP_F, PP_OP_I, PP_OP_W };
    pp_order *order = NULL;
    size_t capacity = split ? x->ops : x->ops / 3 * 2;
    pp_status status =
        pp_order_new(x->ranks, x->stages, x->microbatches, PP_PLACE_LOOP, capacity, &order, err);
    if (status)
        return status;
    memcpy(order->stage_rank, x->stage_rank, x->stages * sizeof *order->stage_rank);
    for (uint32_t k = 0; k < x->ops; k++) {
        const pp_task *task = &x->task[ops[k]];
        if (split || task->kind == PP_TASK_F)
            pp_order_add(order, task->rank, halves[task->kind], task->stage, task->microbatch);
        else if (task->kind == PP_TASK_B)
            pp_order_add(order, task->rank, PP_OP_B, task->stage, task->microbatch);
    }
    pp_order_end(order);
    *order_out = order;
    return PP_OK;
}

void pp_order_problem_from_order(const pp_order_problem *x, const pp_order *order, uint32_t *ops)
{
    size_t count = 0;
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++) {
        pp_op op = order->ops[i];
        pp_task_kind kind = op.kind == PP_OP_F   ? PP_TASK_F
                            : op.kind == PP_OP_W ? PP_TASK_W
                                                 : PP_TASK_B;
        ops[count++] = pp_order_problem_op(x, kind, op.stage, op.microbatch);
        if (op.kind == PP_OP_B)
            ops[count++] = pp_order_problem_op(x, PP_TASK_W, op.stage, op.microbatch);
    }
}

/* A fused backward is its two halves back to back. If some backwards are split, every order is
 * therefore also an order of halves, whose gradients leave no later and which hold no more, as long
 * as the halves are not more expensive. */
static bool halves_are_not_dearer(const pp_costs *costs)
{
    for (size_t i = 0; i < (size_t)costs->classes * costs->stages; i++) {
        if (costs->i_ns[i] + costs->w_ns[i] > costs->b_ns[i] ||
            costs->stash_bytes[i] > costs->activation_bytes[i])
            return false;
    }
    return true;
}

/* Finds the classes of microbatches that occur and how often. of: [classes], one microbatch's class
 * each; copies: [classes]. Returns their number. */
static uint32_t count_classes(const pp_costs *costs, uint32_t *of, uint32_t *copies)
{
    uint32_t used = 0;
    for (uint32_t j = 0; j < costs->microbatches; j++)
        copies[costs->class_of[j]]++;
    for (uint32_t c = 0; c < costs->classes; c++) {
        if (!copies[c])
            continue;
        of[used] = c;
        copies[used++] = copies[c];
    }
    return used;
}

/* Whether all ops together take less than 2^62 ticks. */
static bool can_be_summed(const pp_order_problem *x, uint32_t microbatches)
{
    int64_t longest = 1, all;
    for (uint32_t op = 0; op < x->ops; op++)
        longest = pp_max(longest, x->task[op].ticks + x->task[op].lag);
    return !__builtin_mul_overflow(longest, 3 * (int64_t)x->stages * microbatches, &all) &&
           all < (int64_t)1 << 62;
}

pp_status pp_order_bounds_of_order(const pp_costs *costs, const pp_order *order,
                                   int64_t memory_limit_bytes, int64_t enough,
                                   pp_order_bounds *bounds_out, pp_err *err)
{
    size_t used[PP_OP_KIND_COUNT] = { 0 };
    size_t paired = 0;
    pp_err why = pp_err_like(err);
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++) {
        used[order->ops[i].kind]++;
        paired += (costs->has_pairs || costs->has_hidden) && order->ops[i].paired;
    }
    bool fused = used[PP_OP_B] > 0;
    bool split = used[PP_OP_I] > 0;
    *bounds_out = (pp_order_bounds){ 0 };
    if ((!fused && !split) || paired || order->mirrored_from < order->microbatches ||
        (fused && split && !halves_are_not_dearer(costs)))
        return PP_OK;
    uint32_t *of PP_CLEANUP(pp_free_array) = pp_alloc_array(costs->classes, sizeof *of);
    uint32_t *copies PP_CLEANUP(pp_free_array) = pp_alloc_array(costs->classes, sizeof *copies);
    if (!of || !copies)
        return pp_err_nomem(err);
    pp_costs one_each = *costs;
    one_each.microbatches = count_classes(costs, of, copies);
    one_each.class_of = of;
    pp_status status = pp_order_problem_from_costs(&one_each, order->stage_rank, split,
                                                   memory_limit_bytes, &x, &why);
    if (status == PP_NOMEM)
        return pp_err_nomem(err);
    return status || !can_be_summed(x, costs->microbatches)
               ? PP_OK
               : pp_order_bounds_find_counted(x, copies, enough, bounds_out, err);
}
