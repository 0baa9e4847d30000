/* Recomputation per stage and microbatch. The time and bytes of each level (the ladder) are
 * computed once per replica, and each rank lowers its items against its own order
 * (recompute_lower.c). Schedules that depend on costs make another order for the new costs, so this
 * repeats a few times. Method: docs/explanation/planning-recomputation.md. */
#include "planner/refine/recompute_microbatch.h"

#include "planner/candidate/evaluate.h"
#include "planner/candidate/rules.h"
#include "planner/order/problem_costs.h"
#include "planner/refine/recompute_lower.h"
#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* The most orders that a schedule makes, each with the costs that follow from the one before. */
enum { ORDERS_MOST = 4 };

int64_t pp_recompute_levels(bool halves, const pp_stage *stage)
{
    return stage->layers * (halves ? 2 : 1);
}

pp_recomputed pp_recompute_at(bool halves, const pp_stage *stage, int64_t level)
{
    const int64_t beyond = level > stage->layers ? level - stage->layers : 0;
    return (pp_recomputed){ .full = (int32_t)(halves ? beyond : level),
                            .selective = (int32_t)(halves ? level - 2 * beyond : 0) };
}

/* The last layer in the precision of the run. */
static int64_t inner_layer(const pp_cost_context *context)
{
    const int64_t last = context->model->layers - 1;
    const int64_t edge = pp_recipe_of(context->switches.precision)->edge_layers;
    return last > 2 * edge ? last - edge : last;
}

pp_status pp_recompute_halves(const pp_cost_context *of, const pp_workload *workload,
                              bool *halves_out, pp_err *err)
{
    enum { NONE = PP_RECOMPUTE_NONE, CORE = PP_RECOMPUTE_SELECTIVE, ALL = PP_RECOMPUTE_FULL };
    pp_unit_cost cost[3];
    const pp_microbatch *data = workload->microbatch;
    pp_cost_context context = *of;
    for (int how = NONE; how <= ALL; how++) {
        context.switches.recompute = (pp_recompute)how;
        pp_status status = pp_cost_unit(&context, PP_UNIT_LAYER, inner_layer(&context),
                                        data->tokens, data->square_sum, &cost[how], err);
        if (status)
            return status;
    }
    const double core_bytes = cost[NONE].activation_bytes - cost[CORE].activation_bytes;
    const double rest_bytes = cost[CORE].activation_bytes - cost[ALL].activation_bytes;
    *halves_out = core_bytes > 0 && core_bytes * (cost[ALL].i_s - cost[CORE].i_s) >=
                                        rest_bytes * (cost[CORE].i_s - cost[NONE].i_s);
    return PP_OK;
}

bool pp_recompute_may_differ(const pp_plan_request *request, const pp_setup *setup)
{
    return !request->recompute_alike && !request->recompute_uniform &&
           !request->recompute_constant && pp_rules_allow_full_recompute(request) &&
           setup->context.placement != PP_PLACE_BIDIRECTIONAL &&
           !(request->switches.given.recompute &&
             request->switches.value.recompute == PP_RECOMPUTE_STAGES);
}

/* One replica, and the costs of each level in it. */
typedef struct replica {
    const pp_refining *r;
    uint32_t index, stages;
    uint32_t levels;            /* up to the highest of the setup */
    uint32_t *stage_rank;       /* [stages] */
    pp_stage *stage;            /* [stages]: room to change them */
    pp_costs *bare;             /* without recomputation */
    pp_recompute_level *ladder; /* [(class * stages + stage) * levels] */
    pp_order_problem *x;        /* the ordering problem of the bare costs */
    uint32_t *ops;              /* the order as ops of that problem */
    pp_recompute_item *item;    /* of one rank: [microbatches * stages] */
    uint32_t *item_of;          /* the item of a stage of a microbatch */
    int64_t *spare_bytes;       /* at the ops of one rank */
} replica;

static void replica_free(replica *a)
{
    free(a->stage_rank);
    free(a->stage);
    pp_costs_free(&a->bare);
    free(a->ladder);
    pp_order_problem_free(&a->x);
    free(a->ops);
    free(a->item);
    free(a->item_of);
    free(a->spare_bytes);
}

/* The costs with this level on all stages that have so many levels. */
static pp_status costs_at(const replica *a, int64_t level, pp_costs **costs_out, pp_err *err)
{
    const pp_setup *setup = a->r->setup;
    pp_cost_context context = setup->context;
    context.switches.recompute = PP_RECOMPUTE_STAGES;
    for (uint32_t s = 0; s < a->stages; s++) {
        const pp_stage *stage = &setup->stages[s];
        const int64_t all = pp_recompute_levels(a->r->halves, stage);
        const pp_recomputed of = pp_recompute_at(a->r->halves, stage, level < all ? level : all);
        a->stage[s] = *stage;
        a->stage[s].full = of.full;
        a->stage[s].selective = of.selective;
    }
    return pp_cost_model_tables(&context, a->stage, a->stages, a->r->workload, a->index, costs_out,
                                err);
}

static pp_status fill_ladder(replica *a, pp_err *err)
{
    const bool split = a->r->setup->split;
    for (uint32_t k = 0; k < a->levels; k++) {
        pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
        pp_status status = costs_at(a, k, &costs, err);
        if (status)
            return status;
        for (size_t i = 0; i < (size_t)costs->classes * costs->stages; i++)
            a->ladder[i * a->levels + k] = (pp_recompute_level){
                .ns = split ? costs->i_ns[i] : costs->b_ns[i],
                .held_bytes = costs->activation_bytes[i] + costs->logits_bytes[i],
                .extra_bytes = costs->recompute_bytes[i] + costs->temporary_bytes[i],
            };
    }
    return PP_OK;
}

static uint32_t known_level(const replica *a, uint32_t stage)
{
    const pp_stage *of = &a->r->setup->stages[stage];
    return (uint32_t)(a->r->halves ? 2 * of->full + of->selective : of->full);
}

static pp_status replica_new(replica *a, pp_err *err)
{
    const pp_setup *setup = a->r->setup;
    const uint32_t ranks = (uint32_t)setup->context.parallel.pp;
    a->stages = ranks * (uint32_t)setup->context.parallel.vpp;
    a->stage_rank = pp_alloc_array(a->stages, sizeof *a->stage_rank);
    a->stage = pp_alloc_array(a->stages, sizeof *a->stage);
    if (!a->stage_rank || !a->stage)
        return pp_err_nomem(err);
    for (uint32_t s = 0; s < a->stages; s++) {
        const uint32_t levels = known_level(a, s) + 1;
        a->stage_rank[s] = pp_placement_rank(setup->context.placement, s, ranks);
        a->levels = levels > a->levels ? levels : a->levels;
    }
    pp_status status = costs_at(a, 0, &a->bare, err);
    if (!status)
        status = pp_order_problem_from_costs(a->bare, a->stage_rank, setup->split,
                                             a->r->problem->memory_limit_bytes, &a->x, err);
    if (status)
        return status;
    const size_t cells = (size_t)a->bare->microbatches * a->stages;
    a->ladder = pp_alloc_array((size_t)a->bare->classes * a->stages * a->levels, sizeof *a->ladder);
    a->ops = pp_alloc_array((size_t)a->x->ops + 1, sizeof *a->ops);
    a->spare_bytes = pp_alloc_array((size_t)a->x->ops + 1, sizeof *a->spare_bytes);
    a->item = pp_alloc_array(cells, sizeof *a->item);
    a->item_of = pp_alloc_array(cells, sizeof *a->item_of);
    if (!a->ladder || !a->ops || !a->spare_bytes || !a->item || !a->item_of)
        return pp_err_nomem(err);
    return fill_ladder(a, err);
}

/* Reads the rank's part of the order from *next on: its items, and the bytes that are left without
 * them at every op. */
static uint32_t read_rank(replica *a, uint32_t rank, uint32_t *next, uint32_t *items_out)
{
    const pp_order_problem *x = a->x;
    const int64_t *reserve = a->r->reserve_bytes;
    int64_t room = x->room[rank] - (reserve ? reserve[rank] : 0);
    uint32_t ops = 0;
    uint32_t items = 0;
    for (; *next < x->ops && x->task[a->ops[*next]].rank == rank; ++*next, ops++) {
        const uint32_t op = a->ops[*next];
        const pp_task *task = &x->task[op];
        const uint32_t cell = task->microbatch * a->stages + task->stage;
        a->spare_bytes[ops] = room;
        if (task->kind == PP_TASK_F) {
            const size_t row = pp_cost_index(a->bare, task->stage, task->microbatch);
            a->item_of[cell] = items;
            a->item[items++] = (pp_recompute_item){
                .level = a->ladder + row * a->levels,
                .now = known_level(a, task->stage),
                .forward = ops,
                .cell = cell,
            };
        } else if (task->kind == PP_TASK_B) {
            a->item[a->item_of[cell]].backward = ops;
            room += x->memory[task->weight].delta; /* bytes that it keeps until its W */
        } else {
            room -= x->memory[op].delta;
        }
    }
    *items_out = items;
    return ops;
}

/* left: [ranks], the least over the replicas up to this one; may be NULL. */
static void lower_replica(replica *a, const pp_order *order, pp_recompute_table *table,
                          int64_t *left, bool *fits_out)
{
    uint32_t next = 0;
    pp_order_problem_from_order(a->x, order, a->ops);
    for (uint32_t rank = 0; rank < a->x->ranks && *fits_out; rank++) {
        uint32_t items;
        const uint32_t ops = read_rank(a, rank, &next, &items);
        *fits_out = pp_recompute_lower(a->spare_bytes, ops, a->item, items);
        for (uint32_t i = 0; i < items; i++) {
            const uint32_t s = a->item[i].cell % a->stages;
            pp_recompute_table_at(table, a->index, a->item[i].cell / a->stages)[s] =
                pp_recompute_at(a->r->halves, &a->r->setup->stages[s], a->item[i].now);
        }
        if (left && a->index == 0)
            left[rank] = INT64_MAX;
        for (uint32_t t = 0; t < ops && left; t++)
            left[rank] = a->spare_bytes[t] < left[rank] ? a->spare_bytes[t] : left[rank];
    }
}

/* Makes the order of the schedule for the costs of the table, or for those of the setup without a
 * table. */
static pp_status make_order(const pp_refining *r, const pp_recompute_table *table,
                            pp_order **order_out, pp_err *err)
{
    const pp_setup *setup = r->setup;
    pp_cost_context context = setup->context;
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_candidate like = r->like;
    if (table) {
        context.switches.recompute = PP_RECOMPUTE_MICROBATCHES;
        context.recomputed = table;
    }
    const uint32_t stages = (uint32_t)(context.parallel.pp * context.parallel.vpp);
    pp_status status =
        pp_cost_model_tables(&context, setup->stages, stages, r->workload, 0, &costs, err);
    return status ? status : pp_candidate_order(r->problem, &like, costs, order_out, err);
}

/* Lowers recomputation in the orders that the schedule makes from the first replica's costs;
 * order_out: the last of them. */
static pp_status lower_first(replica *a, pp_recompute_table *table, int64_t *left,
                             pp_order **order_out, bool *fits_out, pp_err *err)
{
    for (int k = 0; k < ORDERS_MOST && *fits_out; k++) {
        pp_order *made PP_CLEANUP(pp_order_free) = NULL;
        pp_status status = make_order(a->r, k ? table : NULL, &made, err);
        if (status || (k && pp_order_equal(made, *order_out)))
            return status;
        pp_order_free(order_out);
        *order_out = made;
        made = NULL;
        lower_replica(a, *order_out, table, left, fits_out);
    }
    return PP_OK;
}

pp_status pp_recompute_refine(const pp_refining *r, pp_recompute_table **table_out,
                              int64_t *left_bytes, pp_err *err)
{
    const pp_workload *workload = r->workload;
    const pp_parallel *parallel = &r->setup->context.parallel;
    pp_order *made PP_CLEANUP(pp_order_free) = NULL;
    pp_recompute_table *table PP_CLEANUP(pp_free_recomputed) = pp_alloc_array(1, sizeof *table);
    if (!table)
        return pp_err_nomem(err);
    pp_status status = pp_recompute_table_new(workload->replicas, workload->microbatches,
                                              (uint32_t)(parallel->pp * parallel->vpp), table, err);
    bool fits = true;
    for (uint32_t i = 0; i < workload->replicas && fits && !status; i++) {
        replica a PP_CLEANUP(replica_free) = { .r = r, .index = i };
        if ((status = replica_new(&a, err)))
            return status;
        if (!r->order && i == 0)
            status = lower_first(&a, table, left_bytes, &made, &fits, err);
        else
            lower_replica(&a, r->order ? r->order[r->orders > 1 ? i : 0] : made, table, left_bytes,
                          &fits);
    }
    if (status || !fits)
        return status;
    *table_out = table;
    table = NULL;
    return PP_OK;
}

pp_status pp_recompute_add_setup(pp_search *search, const pp_setup *like,
                                 pp_recompute_table **table, pp_err *err)
{
    const uint32_t count = (*table)->stages;
    pp_setup setup = *like;
    setup.stages = pp_alloc_array(count, sizeof *setup.stages);
    if (!setup.stages)
        return pp_err_nomem(err);
    memcpy(setup.stages, like->stages, count * sizeof *setup.stages);
    for (uint32_t s = 0; s < count; s++)
        setup.stages[s].full = setup.stages[s].selective = 0;
    setup.context.switches.recompute = PP_RECOMPUTE_MICROBATCHES;
    setup.context.recomputed = setup.recomputed = *table;
    setup.bound = (pp_bound){ 0 };
    setup.least_step_ns = 0;
    *table = NULL;
    return pp_search_add_setup(search, setup, err);
}

/* Simulates the candidate's orders in the setup added last. The candidate stays as it is if that
 * gains nothing. */
static pp_status simulate_refined(pp_search *search, size_t index, pp_err *err)
{
    const pp_planned *planned = pp_pool_planned(&search->pool, index);
    const pp_setup *setup = &search->pool.setup[search->pool.setup_count - 1];
    const pp_err refusal = search->progress.refusal;
    pp_cost_set set PP_CLEANUP(pp_cost_set_free) = { 0 };
    pp_candidate c = search->pool.candidate[index];
    const double score = pp_candidate_score(&c, c.step_ns) * (1 - 1.0 / PP_MEASURABLE_PART);
    if (!setup->legal)
        return PP_OK;
    c.setup = (uint32_t)search->pool.setup_count - 1;
    c.recompute = PP_RECOMPUTE_MICROBATCHES;
    c.least_step_ns = setup->least_step_ns;
    pp_status status = pp_pool_costs(&search->pool, setup, &set, err);
    if (!status)
        status =
            pp_candidate_simulate_orders(search, &c, &set, planned->order, planned->count, err);
    search->progress.refusal = refusal;
    if (status || c.status != PP_CANDIDATE_OK || pp_candidate_score(&c, c.step_ns) >= score)
        return status;
    c.reason = (pp_reason){ .kind = PP_REASON_STEP_GAP,
                            .gap = (double)c.step_ns / (double)c.least_step_ns - 1 };
    search->pool.candidate[index] = c;
    return PP_OK;
}

pp_status pp_recompute_refine_planned(pp_search *search, size_t index, pp_err *err)
{
    const pp_planned *planned = pp_pool_planned(&search->pool, index);
    const pp_candidate *c = &search->pool.candidate[index];
    const pp_setup setup = search->pool.setup[c->setup];
    pp_recompute_table *table PP_CLEANUP(pp_free_recomputed) = NULL;
    pp_refining how = { .problem = search->problem,
                        .workload = &search->pool.data[setup.data].workload,
                        .setup = &setup,
                        .like = *c,
                        .order = planned->order,
                        .orders = planned->count };
    pp_err why = pp_err_like(err);
    if (c->recompute != PP_RECOMPUTE_STAGES ||
        !pp_recompute_may_differ(search->problem->request, &setup))
        return PP_OK;
    pp_status status = pp_recompute_halves(&setup.context, how.workload, &how.halves, &why);
    if (!status)
        status = pp_recompute_refine(&how, &table, NULL, &why);
    if (!status && table && !(status = pp_recompute_add_setup(search, &setup, &table, &why)))
        status = simulate_refined(search, index, &why);
    if (status != PP_NOMEM)
        return PP_OK;
    *err = why;
    return status;
}
