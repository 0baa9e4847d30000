/* Enumerates the search space. For each legal tensor-parallel degree, micro-batch size and
 * recomputation it makes every setup (chunks, placement, partition) with its bound, and in each
 * setup one candidate per schedule. The cost is one bound per setup, typically some hundred; time
 * may end the bounding. */
#include "planner/search/space.h"

#include "planner/bound/partition.h"
#include "planner/bound/unit_weights.h"
#include "planner/candidate/budget.h"
#include "planner/candidate/rules.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/cost/modules.h"
#include "sim/schedule/registry.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define VALUES_MAX 8

/* The most ops of a candidate without a budget: a plan of hundreds of candidates then takes a few
 * minutes, and 4 GB. */
#define OPS_MOST (1 << 24)

/* The costs of a class of microbatches take as long as so many simulated ops: for a bound, a
 * simulation, and a result. */
#define CLASS_OPS 30

/* The part of the time left at its beginning after which no more setups are bounded. */
#define BOUNDING_PART 0.4

/* The values that one quantity may take; free ones are tried in this order. */
typedef struct values {
    int64_t value[VALUES_MAX];
    size_t count;
} values;

static void add_value(values *list, int64_t value)
{
    if (list->count < VALUES_MAX)
        list->value[list->count++] = value;
}

static int64_t or_one(int64_t value)
{
    return value ? value : 1;
}

static values tensor_degrees(const pp_plan_problem *problem)
{
    values list = { .count = 0 };
    pp_parallel p = problem->parallel;
    pp_rule_broken broken;
    if (problem->parallel.tp)
        add_value(&list, problem->parallel.tp);
    else
        for (p.tp = 1; p.tp <= problem->request->hardware->gpus_per_node; p.tp *= 2) {
            if (p.tp == 1 || !pp_rules_refuse(problem->request, &p, &broken))
                add_value(&list, p.tp);
        }
    return list;
}

static values micro_batch_sizes(const pp_plan_problem *problem)
{
    values list = { .count = 0 };
    int64_t each = problem->global_batch_size / problem->parallel.dp;
    if (problem->request->micro_batch_size || problem->request->group_count)
        add_value(&list, or_one(problem->request->micro_batch_size));
    else
        for (int64_t size = 1;
             size <= 16 && (size == 1 || problem->request->lengths || each % size == 0); size *= 2)
            add_value(&list, size);
    return list;
}

static values recomputes(const pp_plan_problem *problem)
{
    values list = { .count = 0 };
    const pp_switch_request *request = &problem->request->switches;
    if (request->given.recompute &&
        (request->value.recompute < PP_RECOMPUTE_AUTO || request->value.recompute_layers)) {
        add_value(&list, request->value.recompute);
        return list;
    }
    add_value(&list, PP_RECOMPUTE_NONE); /* recompute.c also begins with it */
    if (request->value.recompute > PP_RECOMPUTE_AUTO)
        return list;
    if (request->stack->has.selective_recompute)
        add_value(&list, PP_RECOMPUTE_SELECTIVE);
    if (pp_rules_allow_full_recompute(problem->request))
        add_value(&list, PP_RECOMPUTE_FULL);
    return list;
}

/* Lists 1, then numbers that divide the layers of a rank, then other small ones, as long as there
 * are enough layers for all stages. */
static values chunk_counts(const pp_plan_problem *problem)
{
    values list = { .count = 0 };
    int64_t pp = problem->parallel.pp;
    int64_t layers = problem->request->model->layers;
    if (problem->parallel.vpp) {
        add_value(&list, problem->parallel.vpp);
        return list;
    }
    add_value(&list, 1);
    const pp_schedule *schedule = problem->request->schedule;
    if (pp == 1 && (!schedule || pp_schedule_chunks(schedule, 1) == 1))
        return list;
    for (int64_t v = 2; v <= 12 && v * pp <= layers; v++) {
        if (layers % (v * pp) == 0 || v <= 4)
            add_value(&list, v);
    }
    for (int64_t v = 5; v <= 8 && v * pp <= layers; v++) {
        if (layers % (v * pp) != 0)
            add_value(&list, v);
    }
    return list;
}

/* Every run of the schedule has as many microbatches. */
static pp_status check_divides(const pp_plan_problem *problem, uint32_t microbatches, pp_err *err)
{
    const uint32_t runs = pp_problem_runs(problem);
    if (microbatches % runs == 0)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RUNS),
                      "%" PRIu32 " does not divide the %" PRIu32
                      " microbatches of a replica, of which each run has as many; give a number "
                      "that does, or another %s",
                      runs, microbatches, pp_err_name(err, PP_FIELD_GLOBAL_BATCH_SIZE));
}

/* Without a budget, nothing would end what takes hours. */
static pp_status check_ops(const pp_plan_problem *problem, const pp_parallel *parallel,
                           const pp_workload *workload, pp_err *err)
{
    const pp_plan_request *request = problem->request;
    const double ops = pp_ops_of(parallel, workload->microbatches, workload->replicas);
    char replicas[32] = "";
    if (ops <= OPS_MOST || pp_budget_is_limited(request))
        return PP_OK;
    if (workload->replicas > 1)
        snprintf(replicas, sizeof replicas, " x %" PRIu32 " replicas", workload->replicas);
    return pp_err_set(
        err, PP_USAGE,
        pp_err_name(err, request->lengths ? PP_FIELD_LENGTHS : PP_FIELD_GLOBAL_BATCH_SIZE),
        "%" PRIu32 " microbatches x %" PRId64
        " stages%s x 3 are %.0f ops, more than the %d up to which a plan without %s "
        "looks at a candidate; give one, fewer sequences, or a larger %s",
        workload->microbatches, parallel->pp * parallel->vpp, replicas, ops, OPS_MOST,
        pp_err_name(err, PP_FIELD_BUDGET), pp_err_name(err, PP_FIELD_MICRO_BATCH_SIZE));
}

/* Finds the workload of a micro-batch size, or makes it once. */
static pp_status find_data(pp_search *search, int64_t size, uint32_t multiple_of, size_t *index_out,
                           pp_err *err)
{
    const pp_plan_request *request = search->problem->request;
    multiple_of = request->lengths && !request->group_count
                      ? multiple_of * pp_problem_runs(search->problem)
                      : 1;
    for (size_t i = 0; i < search->pool.data_count; i++) {
        if (search->pool.data[i].micro_batch_size == size &&
            search->pool.data[i].multiple_of == multiple_of) {
            *index_out = i;
            return PP_OK;
        }
    }
    void *grown = search->pool.data;
    pp_status status = pp_grow(&grown, &search->pool.data_capacity, search->pool.data_count + 1,
                               sizeof *search->pool.data, err);
    if (status)
        return status;
    search->pool.data = grown;
    pp_data *data = &search->pool.data[search->pool.data_count];
    *data = (pp_data){ .micro_batch_size = size, .multiple_of = multiple_of };
    if (request->group_count)
        status = pp_workload_group(request->lengths, request->group_end, request->group_count,
                                   search->problem->seq_length,
                                   (uint32_t)search->problem->parallel.dp, &data->workload, err);
    else if (request->lengths)
        status = pp_workload_pack(
            request->lengths, request->length_count, search->problem->seq_length, size,
            (uint32_t)search->problem->parallel.dp, multiple_of, &data->workload, err);
    else
        status = pp_workload_fixed(
            (uint32_t)(search->problem->global_batch_size / search->problem->parallel.dp / size),
            size, search->problem->seq_length, &data->workload, err);
    if (!status && request->exchange.shapes.kind >= PP_SIZES_PADDED) {
        data->real = data->workload;
        data->workload = (pp_workload){ 0 };
        status = pp_workload_pad(&request->exchange.shapes, &data->real, &data->workload,
                                 &data->shapes, err);
        if (status)
            pp_workload_free(&data->real);
    }
    if (status)
        return status;
    *index_out = search->pool.data_count++;
    return PP_OK;
}

/* One point of the outer loops. */
typedef struct point {
    pp_cost_context context; /* vpp and placement are set inside */
    int64_t micro_batch_size;
    const pp_unit_weights *weights;
} point;

static pp_status stages_of(pp_search *search, const point *at, pp_partition_kind kind,
                           pp_stage **stages_out, pp_err *err)
{
    const pp_plan_problem *problem = search->problem;
    const pp_parallel *parallel = &at->context.parallel;
    const pp_model *model = problem->request->model;
    uint32_t ranks = (uint32_t)parallel->pp;
    uint32_t chunks = (uint32_t)parallel->vpp;
    if (kind == PP_PARTITION_UNIFORM)
        return pp_partition_uniform(model->layers, model->mtp_layers, ranks, chunks, stages_out,
                                    err);
    if (kind != PP_PARTITION_LAYOUT) {
        const double *speed = problem->rank_speed;
        pp_partition_params split = { .ranks = ranks,
                                      .chunks = chunks,
                                      .placement = at->context.placement,
                                      .allow_empty_end_stages = kind == PP_PARTITION_BARE,
                                      .rank_speed = speed && kind == PP_PARTITION_FITTED
                                                        ? speed + ranks
                                                        : speed };
        pp_search_count(&search->progress,
                        pp_budget_partition_effort((double)model->layers, (double)ranks * chunks));
        return pp_partition_balance(at->weights, &split, stages_out, err);
    }
    uint32_t count;
    return pp_layout_parse(problem->request->layout, model->layers, model->mtp_layers, stages_out,
                           &count, err);
}

/* With lengths, a bound sums over all microbatches, so that a budget of iterations limits bounds,
 * too. Bounding has a part of the time, so that the best of what was bounded can be simulated; or
 * all of it, as long as nothing may fit. */
static bool out_of_time(pp_search *search)
{
    const pp_plan_request *request = search->problem->request;
    const double end = search->progress.usable ? search->progress.bounding_end : 1;
    if (!search->progress.unseen && request->stop)
        search->progress.unseen = request->stop(request->context) ||
                                  (request->spent && request->spent(request->context) >= end);
    search->progress.unseen |= !pp_budget_bounds(request, search->progress.bounding);
    return search->progress.unseen;
}

/* True if PP_PARTITION_AUTO does not try this kind for so many stages. */
static bool is_left_out(const pp_plan_request *request, pp_partition_kind kind, size_t stages)
{
    return (kind == PP_PARTITION_UNIFORM && request->model->layers % (int64_t)stages != 0) ||
           (kind == PP_PARTITION_BARE && !pp_request_bare_ends(request));
}

/* Adds the setups of one point, one per partition. */
static pp_status add_setups(pp_search *search, const point *at, size_t data, bool split,
                            pp_err *err)
{
    pp_partition_kind requested = search->problem->request->partition;
    static const pp_partition_kind kinds[] = { PP_PARTITION_UNIFORM, PP_PARTITION_BALANCED,
                                               PP_PARTITION_BARE, PP_PARTITION_FITTED };
    bool automatic = requested == PP_PARTITION_AUTO;
    size_t first = search->pool.setup_count;
    size_t count = (size_t)(at->context.parallel.pp * at->context.parallel.vpp);
    for (size_t i = 0; i < (automatic ? 3u + search->problem->fitted : 1u); i++) {
        pp_err why = pp_err_like(err);
        pp_setup setup = { .context = at->context,
                           .micro_batch_size = at->micro_batch_size,
                           .partition = automatic ? kinds[i] : requested,
                           .data = data,
                           .split = split,
                           .twin.wanted = search->problem->request->lengths != NULL };
        if (automatic && is_left_out(search->problem->request, kinds[i], count))
            continue;
        pp_status status = PP_OK;
        if (stages_of(search, at, setup.partition, &setup.stages, &why)) {
            if ((status = pp_refuse(&search->progress, &why, err)))
                return status;
            continue;
        }
        pp_recompute_block(&at->context.switches, setup.stages, count);
        size_t like = first;
        while (like < search->pool.setup_count &&
               !pp_same_stages(search->pool.setup[like].stages, setup.stages, count))
            like++;
        if (like < search->pool.setup_count) {
            free(setup.stages);
            continue;
        }
        if (i && out_of_time(search)) {
            free(setup.stages);
            break;
        }
        if ((status = pp_search_add_setup(search, setup, err)))
            return status;
    }
    return PP_OK;
}

/* Adds the setups of one point: those that differ from setups that are there, from `first` on, only
 * in whether orders split the backward, are made of these. */
static pp_status add_point_setups(pp_search *search, const point *at, size_t first, size_t data,
                                  bool split, pp_err *err)
{
    const size_t end = search->pool.setup_count;
    pp_status status = PP_OK;
    for (size_t i = first; i < end && !status; i++) {
        const pp_setup *setup = &search->pool.setup[i];
        if (!setup->unseen && setup->data == data && setup->split != split &&
            setup->context.placement == at->context.placement)
            status = pp_search_add_twin(search, i, err);
    }
    return status || search->pool.setup_count > end ? status
                                                    : add_setups(search, at, data, split, err);
}

/* True if the schedule takes v chunks per rank, and groups if the request has a group size. */
static bool takes_chunks(const pp_plan_problem *problem, const pp_schedule *schedule, int64_t v)
{
    const uint32_t only = pp_schedule_chunks(schedule, (uint32_t)problem->parallel.pp);
    bool takes = only ? v == (int64_t)only : v >= 2;
    return takes && (!problem->request->group_size || schedule->grouped);
}

static bool serves(const pp_setup *setup, const pp_schedule *schedule, size_t data)
{
    const pp_recompute how = setup->context.switches.recompute;
    if (schedule->overlaps_experts &&
        (how > PP_RECOMPUTE_SELECTIVE || setup->context.switches.moe_shared_expert_overlap))
        return false; /* Megatron-Core refuses to recompute whole layers, and to overlap both */
    if (schedule->splits_backward && pp_setup_stops(setup))
        return false;
    return !setup->unseen && setup->data == data && setup->split == schedule->splits_backward &&
           setup->context.placement == schedule->placement;
}

/* True if the request admits the schedule. Megatron's layout places stage i on rank i mod p. On one
 * rank, which never waits, none is faster than 1F1B, or needs less memory, but where an exchange
 * hides. */
static bool wanted(const pp_plan_problem *problem, const pp_schedule *schedule)
{
    const pp_plan_request *request = problem->request;
    if (schedule->simulate_only)
        return false;
    if (schedule->overlaps_experts && schedule != request->schedule &&
        (!problem->framework->overlaps_pairs || request->model->experts <= 0 ||
         problem->parallel.ep <= 1))
        return false;
    if (request->schedule)
        return schedule == request->schedule;
    if (request->parallel.pp == 1 && request->parallel.vpp <= 1 && !request->group_size &&
        !request->only && request->partition != PP_PARTITION_LAYOUT &&
        schedule != &pp_schedule_one_f_one_b && !schedule->overlaps_experts)
        return false;
    if (request->partition == PP_PARTITION_LAYOUT && schedule->placement != PP_PLACE_LOOP)
        return false;
    if ((request->no_split || request->switches.value.reshard_after_forward != PP_RESHARD_NEVER) &&
        schedule->splits_backward)
        return false;
    for (size_t i = 0; request->only && request->only[i]; i++) {
        if (request->only[i] == schedule)
            return true;
    }
    return !request->only;
}

/* True if the budget suffices to simulate a candidate with these chunks. Otherwise it need not be
 * bounded, either: with many sequences a bound takes a good part of a simulation. */
static bool affords(const pp_search *search, const point *at, size_t data)
{
    const pp_workload *w = &search->pool.data[data].workload;
    const pp_parallel *p = &at->context.parallel;
    const pp_plan_request *request = search->problem->request;
    const double classes =
        request->lengths || request->expert_tokens ? (double)w->microbatches * w->replicas : 0;
    return pp_budget_affords(request,
                             pp_ops_of(p, w->microbatches, w->replicas) + CLASS_OPS * classes);
}

/* Adds a placeholder for a schedule whose setups were not bounded since the budget does not suffice
 * for them, so that results list it. */
static pp_status add_unseen(pp_search *search, const point *at, const pp_schedule *schedule,
                            pp_err *err)
{
    const pp_setup setup = { .context = at->context,
                             .micro_batch_size = at->micro_batch_size,
                             .partition = search->problem->request->partition,
                             .split = schedule->splits_backward,
                             .bound = { .fits = true },
                             .legal = true,
                             .unseen = true };
    pp_status status = pp_pool_append_setup(&search->pool, setup, err);
    return status ? status
                  : pp_pool_add_candidate(&search->pool, search->problem, schedule,
                                          search->pool.setup_count - 1, err);
}

/* Adds all schedules at one point with v chunks; schedules share setups if they can. least: no
 * fewer are tried. */
static pp_status add_chunks(pp_search *search, point at, int64_t v, bool least, pp_err *err)
{
    size_t first = search->pool.setup_count;
    at.context.parallel.vpp = v;
    for (size_t k = 0; k < pp_schedule_count(); k++) {
        const pp_schedule *schedule = pp_schedule_at(k);
        if (!wanted(search->problem, schedule) || !takes_chunks(search->problem, schedule, v))
            continue;
        pp_err why = pp_err_like(err);
        size_t data;
        at.context.placement = schedule->placement;
        pp_status status = PP_OK;
        if (out_of_time(search)) {
            if ((status = add_unseen(search, &at, schedule, err)))
                return status;
            continue;
        }
        if (find_data(search, at.micro_batch_size,
                      schedule->grouped ? (uint32_t)at.context.parallel.pp : 1, &data, &why)) {
            if ((status = pp_refuse(&search->progress, &why, err)))
                return status;
            continue;
        }
        if (check_ops(search->problem, &at.context.parallel, &search->pool.data[data].workload,
                      &why)) {
            if (least) { /* without this micro-batch size, the answer would be a poor one */
                *err = why;
                return why.status;
            }
            if ((status = pp_refuse(&search->progress, &why, err)))
                return status;
            continue;
        }
        if (!affords(search, &at, data)) {
            search->progress.stopped = true;
            if ((status = add_unseen(search, &at, schedule, err)))
                return status;
            continue;
        }
        size_t i = first;
        while (i < search->pool.setup_count && !serves(&search->pool.setup[i], schedule, data))
            i++;
        if (i == search->pool.setup_count &&
            (status = add_point_setups(search, &at, first, data, schedule->splits_backward, err)))
            return status;
        for (; i < search->pool.setup_count; i++) {
            if (serves(&search->pool.setup[i], schedule, data) &&
                (status = pp_pool_add_candidate(&search->pool, search->problem, schedule, i, err)))
                return status;
        }
    }
    return PP_OK;
}

/* Megatron cuts a sequence into 2 cp parts, and with sequence parallelism each cp rank's share into
 * tp; it asserts both. */
static pp_status check_seq_length(const pp_plan_problem *problem, const pp_cost_context *context,
                                  pp_err *err)
{
    const int64_t cp = context->parallel.cp;
    const int64_t tp = context->switches.sequence_parallel ? context->parallel.tp : 1;
    const struct {
        int64_t multiple;
        pp_field field;
        const char *what;
    } rules[] = {
        { cp > 1 ? 2 * cp : 1, PP_FIELD_CP, "2 x cp" },
        { cp * tp, PP_FIELD_TP, cp > 1 ? "cp x tp" : "tp" },
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        char below[32] = "";
        const int64_t multiple = rules[i].multiple;
        const int64_t length = problem->seq_length;
        const bool sharded = rules[i].field == PP_FIELD_TP;
        if (length % multiple == 0)
            continue;
        if (length > multiple)
            snprintf(below, sizeof below, "%" PRId64 " and ", length / multiple * multiple);
        return pp_err_set(
            err, PP_USAGE,
            pp_err_name(err, problem->request->seq_length ? PP_FIELD_SEQ_LENGTH : rules[i].field),
            "sequences of %" PRId64 " tokens must be a multiple of %s = %" PRId64
            "; the nearest %s: %s%" PRId64 "%s%s%s",
            length, rules[i].what, multiple, pp_err_name(err, PP_FIELD_SEQ_LENGTH), below,
            (length / multiple + 1) * multiple,
            sharded ? ", with sequence parallelism; or use " : "",
            sharded ? pp_err_name(err, PP_FIELD_SEQUENCE_PARALLEL) : "", sharded ? " off" : "");
    }
    return PP_OK;
}

static pp_status add_point(pp_search *search, point at, pp_err *err)
{
    pp_unit_weights w PP_CLEANUP(pp_unit_weights_free) = { 0 };
    pp_err why = pp_err_like(err);
    size_t data = 0;
    pp_status status = pp_cost_context_check(&at.context, &why);
    if (!status)
        status = check_seq_length(search->problem, &at.context, &why);
    if (!status && !out_of_time(search))
        status = find_data(search, at.micro_batch_size, 1, &data, &why);
    if (!status && search->pool.data_count)
        status =
            check_divides(search->problem, search->pool.data[data].workload.microbatches, &why);
    if (!status && !search->progress.unseen)
        status = pp_unit_weights_of(&at.context, &search->pool.data[data].workload, &w, &why);
    if (status)
        return pp_refuse(&search->progress, &why, err);
    at.weights = &w;
    if (!search->progress.unseen) {
        double least =
            search->problem->request->lengths
                ? 0
                : pp_unit_weights_least_score(&at.context, at.weights,
                                              search->pool.data[data].workload.microbatches);
        if (!search->space.legal_points++ || least < search->space.least_score)
            search->space.least_score = least;
        if (search->space.points_only || (search->problem->request->score_limit > 0 &&
                                          least > search->problem->request->score_limit)) {
            search->space.over_score_limit++;
            return PP_OK;
        }
    }
    values chunks = chunk_counts(search->problem);
    for (size_t i = 0; i < chunks.count && !status; i++)
        status = add_chunks(search, at, chunks.value[i], i == 0, err);
    return status;
}

/* Fails for a space in which nothing is legal, with the first refusal or the rule of the
 * schedule. */
static pp_status none_legal(const pp_plan_problem *problem, const pp_err *refusal, pp_err *err)
{
    const pp_plan_request *request = problem->request;
    if (refusal->status) {
        *err = *refusal;
        return err->status;
    }
    if (request->schedule) {
        pp_schedule_params params = { .ranks = (uint32_t)problem->parallel.pp,
                                      .chunks = (uint32_t)or_one(problem->parallel.vpp),
                                      .microbatches = 1,
                                      .group_size = request->group_size };
        pp_order *order = NULL;
        pp_status status = pp_schedule_build(request->schedule, &params, &order, err);
        pp_order_free(&order);
        if (status)
            return status;
    }
    return pp_err_set(err, PP_USAGE,
                      request->group_size ? pp_err_name(err, PP_FIELD_GROUP_SIZE)
                                          : pp_err_name(err, PP_FIELD_CHUNKS),
                      "no schedule of this build has %" PRId64
                      " stages per rank%s; %s shows what each schedule needs",
                      or_one(problem->parallel.vpp),
                      request->group_size ? " and microbatch groups" : "",
                      pp_err_name(err, PP_FIELD_ASK_SCHEDULES));
}

pp_status pp_search_enumerate(pp_search *search, pp_err *err)
{
    const pp_plan_request *request = search->problem->request;
    const double spent = request->spent ? request->spent(request->context) : 0;
    search->progress.bounding_end = spent + BOUNDING_PART * (1 - spent);
    values tp = tensor_degrees(search->problem);
    values size = micro_batch_sizes(search->problem);
    values recompute = recomputes(search->problem);
    for (size_t i = 0; i < tp.count; i++) {
        pp_parallel parallel = search->problem->parallel;
        parallel.tp = tp.value[i];
        parallel.vpp = 1;
        pp_switches stack =
            pp_stack_switches(request->switches.stack, request->hardware, &parallel);
        pp_status status = PP_OK;
        stack.p2p = search->problem->framework->p2p;
        for (size_t j = 0; j < size.count && !status; j++) {
            for (size_t k = 0; k < recompute.count && !status; k++) {
                point at = { .micro_batch_size = size.value[j] };
                at.context = (pp_cost_context){
                    .model = request->model,
                    .hardware = request->hardware,
                    .parallel = parallel,
                    .overrides = request->overrides,
                    .pairs_hide = search->problem->framework->overlaps_pairs,
                    .splits_late = search->problem->framework->splits_late,
                    .gathers_all = search->problem->framework->gathers_all,
                    .shards_ops = search->problem->framework->shards_ops,
                    .expert_tokens = request->expert_tokens,
                    .links_modelled = search->problem->framework->size_protocols != NULL,
                    .switches = pp_switches_requested(&request->switches, stack)
                };
                at.context.switches.recompute = (pp_recompute)recompute.value[k];
                if (request->expert_tokens) {
                    at.context.switches.moe_imbalance =
                        pp_expert_tokens_mean(request->expert_tokens, parallel.ep);
                    at.context.switches.moe_kept = request->expert_tokens->kept;
                }
                if (!request->switches.given.recompute_modules &&
                    request->switches.stack->has.recompute_modules)
                    at.context.switches.recompute_modules = pp_modules_worth(&at.context);
                status = add_point(search, at, err);
            }
        }
        if (status)
            return status;
    }
    for (size_t i = 0; i < search->pool.count; i++) {
        if (search->pool.candidate[i].legal)
            return PP_OK;
    }
    if (search->space.over_score_limit)
        return PP_OK; /* all legal points exceed the score limit */
    return none_legal(search->problem, &search->progress.refusal, err);
}
