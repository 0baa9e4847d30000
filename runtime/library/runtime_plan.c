/* The plans of pp_runtime.h: made from a schedule's name and sizes, or read from a file, and
 * lowered to a program once. */
#include "runtime/library/runtime_plan.h"

#include "runtime/library/runtime.h"
#include "sim/base/alloc.h"
#include "sim/engine/engine.h"
#include "sim/plan/plan_read.h"
#include "sim/schedule/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TENSOR_BYTES_MAX ((size_t)1 << 44) /* so that sums of many stay within 64 bits */
#define OP_NS_MAX ((pp_ns)1000000000 * 1000000)
#define ANY_NS 1000 /* duration of ops for which none is given */

_Static_assert((int)PP_RUNTIME_FORWARD == (int)PP_OP_F &&
                   (int)PP_RUNTIME_BACKWARD_INPUT == (int)PP_OP_I &&
                   (int)PP_RUNTIME_BACKWARD_WEIGHT == (int)PP_OP_W &&
                   (int)PP_RUNTIME_BACKWARD == (int)PP_OP_B,
               "ops are cast");

static void free_plan(pp_runtime_plan **plan)
{
    if (!*plan)
        return;
    pp_execution_free(&(*plan)->x);
    pp_plan_free(&(*plan)->plan);
    free(*plan);
    *plan = NULL;
}

void pp_runtime_plan_free(pp_runtime_plan *plan)
{
    if (plan && !atomic_load(plan->pinned))
        free_plan(&plan);
}

static pp_status new_plan(pp_runtime_plan **plan_out, pp_err *err)
{
    pp_runtime_plan *made = pp_alloc_array(1, sizeof *made);
    if (!made)
        return pp_err_nomem(err);
    *made = (pp_runtime_plan){ .x = { .job = { .compute = &pp_compute_of_caller } } };
    atomic_init(&made->pin, false);
    made->pinned = &made->pin;
    *plan_out = made;
    return PP_OK;
}

/* Asks the caller's function for sizes, and checks them. */
typedef struct asking {
    pp_runtime_sizes_of sizes;
    void *context;
    bool timed; /* some duration is not 0 */
} asking;

static pp_status ask(asking *a, uint32_t stage, uint32_t microbatch, pp_runtime_sizes *out,
                     pp_err *err)
{
    *out = (pp_runtime_sizes){ 0 };
    a->sizes(a->context, stage, microbatch, out);
    const size_t bytes[] = { out->message_bytes, out->saved_bytes, out->stash_bytes,
                             out->scratch_bytes };
    const pp_ns times[] = { out->forward_ns, out->backward_input_ns, out->backward_weight_ns };
    for (size_t k = 0; k < sizeof bytes / sizeof bytes[0]; k++) {
        if (bytes[k] > TENSOR_BYTES_MAX)
            return pp_err_set(err, PP_INPUT, "sizes",
                              "a tensor of stage %" PRIu32 ", microbatch %" PRIu32
                              " has %zu B, but the limit is %zu",
                              stage, microbatch, bytes[k], TENSOR_BYTES_MAX);
    }
    for (size_t k = 0; k < sizeof times / sizeof times[0]; k++) {
        if (times[k] < 0 || times[k] > OP_NS_MAX)
            return pp_err_set(err, PP_INPUT, "sizes",
                              "an op of stage %" PRIu32 ", microbatch %" PRIu32 " takes %" PRId64
                              " ns, which must be 0 to %" PRId64,
                              stage, microbatch, times[k], OP_NS_MAX);
        a->timed = a->timed || times[k] > 0;
    }
    return PP_OK;
}

/* Fills in the sizes and durations that the caller gives. costs: with a class per microbatch;
 * durations that the caller does not give are unchanged. */
static pp_status fill_costs(asking *a, pp_costs *costs, pp_err *err)
{
    int64_t below = 0;
    pp_status status = PP_OK;
    costs->has_memory = true;
    for (uint32_t j = 0; j < costs->microbatches; j++) {
        for (uint32_t s = 0; s < costs->stages; s++) {
            pp_runtime_sizes own;
            size_t row = pp_cost_index(costs, s, j);
            if ((status = ask(a, s, j, &own, err)))
                return status;
            below = s ? costs->message_bytes[row - 1] : 0;
            bool last = s + 1 == costs->stages;
            costs->message_bytes[row] = last ? 0 : (int64_t)own.message_bytes;
            costs->stash_bytes[row] = (int64_t)own.stash_bytes;
            costs->activation_bytes[row] =
                below + (int64_t)own.saved_bytes + (int64_t)own.stash_bytes;
            costs->temporary_bytes[row] = (int64_t)own.scratch_bytes;
            costs->recompute_bytes[row] = costs->logits_bytes[row] = costs->output_bytes[row] = 0;
            if (!own.forward_ns && !own.backward_input_ns && !own.backward_weight_ns)
                continue;
            costs->f_ns[row] = own.forward_ns;
            costs->i_ns[row] = own.backward_input_ns;
            costs->w_ns[row] = own.backward_weight_ns;
            costs->b_ns[row] = own.backward_input_ns + own.backward_weight_ns;
        }
    }
    return PP_OK;
}

/* Lowers the plan and makes sure that it can finish. */
static pp_status settle(pp_runtime_plan *made, uint32_t replica, pp_err *err)
{
    const pp_run_plan_options how = { .compute = &pp_compute_of_caller,
                                      .settings = "",
                                      .link = { .kind = PP_LINK_FREE },
                                      .replica = replica };
    const pp_plan ours = pp_plan_as_executed(made->plan, NULL, PP_COMMUNICATORS_DEFAULT);
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_status status = pp_execution_prepare(&ours, &how, &made->x, err);
    if (status || (status = pp_plan_set_semantics(&ours, made->x.program, err)))
        return status;
    for (size_t i = 0; i < made->x.program->count; i++)
        made->has[made->x.program->op[i].kind] = true;
    return pp_simulate(made->x.program, made->x.costs, &timeline, err);
}

static pp_status make_order(const pp_runtime_plan_spec *spec, const asking *a,
                            const pp_schedule *schedule, pp_plan *plan, pp_err *err)
{
    const pp_schedule_params shape = { .ranks = spec->ranks,
                                       .chunks = (uint32_t)plan->parallel.vpp,
                                       .microbatches = spec->microbatches,
                                       .group_size = spec->group_size,
                                       .costs = a->timed ? plan->costs[0] : NULL };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_status status = pp_schedule_build(schedule, &shape, &order, err);
    if (status)
        return status;
    plan->order_count = 1;
    if (spec->forward_only)
        return pp_order_drop_backward(order, &plan->order[0], err);
    plan->order[0] = order;
    order = NULL; /* the plan owns it now */
    return PP_OK;
}

static pp_status make_plan(const pp_runtime_plan_spec *spec, pp_plan *plan, pp_err *err)
{
    const pp_schedule *schedule;
    asking a = { .sizes = spec->sizes, .context = spec->context };
    if (!spec->schedule || !spec->sizes)
        return pp_err_set(err, PP_USAGE, spec->schedule ? "sizes" : "schedule", "is missing");
    pp_status status = pp_schedule_get(spec->schedule, &schedule, err);
    if (status)
        return status;
    uint32_t chunks = spec->chunks ? spec->chunks : schedule->chunks;
    if (!chunks)
        return pp_err_set(err, PP_USAGE, "chunks",
                          "is missing; %s needs the number of stages per rank, for example 2",
                          schedule->name);
    const pp_schedule_params shape = { .ranks = spec->ranks,
                                       .chunks = chunks,
                                       .microbatches = spec->microbatches,
                                       .group_size = spec->group_size };
    plan->order = pp_alloc_array(1, sizeof *plan->order);
    plan->costs = pp_alloc_array(1, sizeof *plan->costs);
    if (!plan->order || !plan->costs)
        return pp_err_nomem(err);
    plan->parallel = (pp_parallel){ spec->ranks, 1, 1, 1, 1, chunks, 0 };
    snprintf(plan->schedule, sizeof plan->schedule, "%s", schedule->name);
    if ((status = pp_schedule_check(schedule, &shape, err)) ||
        (status = pp_costs_new(spec->ranks, spec->ranks * chunks, spec->microbatches,
                               spec->microbatches, &plan->costs[0], err)))
        return status;
    pp_costs *costs = plan->costs[0];
    plan->costs_count = 1;
    for (uint32_t j = 0; j < costs->microbatches; j++)
        costs->class_of[j] = j;
    for (size_t k = 0; k < (size_t)costs->classes * costs->stages; k++) {
        costs->f_ns[k] = costs->i_ns[k] = costs->w_ns[k] = ANY_NS;
        costs->b_ns[k] = 2 * (pp_ns)ANY_NS;
    }
    status = fill_costs(&a, costs, err);
    return status ? status : make_order(spec, &a, schedule, plan, err);
}

pp_runtime_status pp_runtime_plan_new(const pp_runtime_plan_spec *spec, pp_runtime_plan **plan_out,
                                      pp_runtime_error *error)
{
    pp_err err = { 0 };
    pp_runtime_plan *made PP_CLEANUP(free_plan) = NULL;
    if (new_plan(&made, &err) || pp_plan_new(&made->plan, &err) ||
        make_plan(spec, made->plan, &err) || settle(made, 0, &err))
        return pp_library_fail(&err, error);
    *plan_out = made;
    made = NULL; /* the caller owns it now */
    return PP_RUNTIME_OK;
}

static pp_status load(const char *path, uint32_t replica, asking *a, pp_plan **plan_out,
                      pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_status status = pp_json_load(path, &json, err);
    if (status || (status = pp_plan_read(json, path, &plan, err)))
        return status;
    uint32_t count = plan->costs_count > plan->order_count ? plan->costs_count : plan->order_count;
    if (replica >= count)
        return pp_err_set(err, PP_USAGE, "replica",
                          "must be from 0 to %" PRIu32 ", because the plan has %" PRIu32, count - 1,
                          count);
    pp_costs **own = &plan->costs[plan->costs_count > 1 ? replica : 0];
    if (a->sizes) {
        pp_costs *spread = NULL;
        if ((status = pp_costs_spread(*own, &spread, err)))
            return status;
        pp_costs_free(own);
        *own = spread;
        if ((status = fill_costs(a, spread, err)))
            return status;
    } else if (!(*own)->has_memory) {
        return pp_err_set(
            err, PP_INPUT, path,
            "it has no sizes of tensors; give pp_runtime_plan_load a function that returns them");
    }
    *plan_out = plan;
    plan = NULL; /* the caller owns it now */
    return PP_OK;
}

pp_runtime_status pp_runtime_plan_load(const char *path, uint32_t replica,
                                       pp_runtime_sizes_of sizes, void *context,
                                       pp_runtime_plan **plan_out, pp_runtime_error *error)
{
    pp_err err = { 0 };
    asking a = { .sizes = sizes, .context = context };
    pp_runtime_plan *made PP_CLEANUP(free_plan) = NULL;
    if (new_plan(&made, &err) || load(path, replica, &a, &made->plan, &err) ||
        settle(made, replica, &err))
        return pp_library_fail(&err, error);
    *plan_out = made;
    made = NULL; /* the caller owns it now */
    return PP_RUNTIME_OK;
}

uint32_t pp_runtime_plan_ranks(const pp_runtime_plan *plan)
{
    return plan->x.program->ranks;
}

uint32_t pp_runtime_plan_stages(const pp_runtime_plan *plan)
{
    return plan->x.program->stages;
}

uint32_t pp_runtime_plan_microbatches(const pp_runtime_plan *plan)
{
    return plan->x.program->microbatches;
}

uint32_t pp_runtime_plan_rank_of(const pp_runtime_plan *plan, uint32_t stage)
{
    return plan->x.program->stage_rank[stage];
}

size_t pp_runtime_plan_op_count(const pp_runtime_plan *plan, uint32_t rank)
{
    const pp_program *program = plan->x.program;
    return program->rank_begin[rank + 1] - program->rank_begin[rank];
}

void pp_runtime_plan_op(const pp_runtime_plan *plan, uint32_t rank, size_t index,
                        pp_runtime_op_kind *kind_out, uint32_t *stage_out, uint32_t *microbatch_out)
{
    const pp_program *program = plan->x.program;
    pp_op op = program->op[program->rank_begin[rank] + index];
    *kind_out = (pp_runtime_op_kind)op.kind;
    *stage_out = op.stage;
    *microbatch_out = op.microbatch;
}
