/* Reads a plan file: settings, data, orders, costs, and the part of its prediction that is kept.
 * Fails with the JSON Pointer of the first value that is unknown, missing or inconsistent. */
#include "sim/plan/plan_read.h"

#include "sim/analysis/uncertainty_json.h"
#include "sim/base/alloc.h"
#include "sim/cost/costs_json.h"
#include "sim/order/order_check.h"
#include "sim/plan/plan_data_read.h"
#include "sim/plan/plan_json_values.h"
#include "sim/plan/plan_settings_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_LEAST 1e-9 /* of the rows that routers choose, those not dropped */

/* The index of the member's text among `names`. */
static pp_status read_name(const pp_json_at *at, const char *key, const char *const names[],
                           int *index_out, pp_err *err)
{
    const char *name = "";
    int k = 0;
    pp_status status = pp_json_get_text(at, key, &name, err);
    while (!status && names[k] && strcmp(names[k], name) != 0)
        k++;
    if (!status && !names[k])
        return pp_json_fail(at, err, "%s \"%.40s\" is not known", key, name);
    *index_out = k;
    return status;
}

static pp_status read_state(const pp_json_at *at, pp_plan *plan, pp_err *err)
{
    int gradients = plan->grad_dtype, moments = 0;
    pp_status status = PP_OK;
    if (pp_json_has(at, "grad_dtype"))
        status = read_name(at, "grad_dtype", pp_dtype_names(), &gradients, err);
    if (!status && pp_json_has(at, "optimizer_dtype"))
        status = read_name(at, "optimizer_dtype", pp_moments_names(), &moments, err);
    plan->grad_dtype = (pp_dtype)gradients;
    plan->moments = (pp_moments)moments;
    return status;
}

/* After the degrees. */
static pp_status read_cp_comm(const pp_json_at *at, pp_plan *plan, pp_err *err)
{
    const bool has_inner = pp_json_has(at, "cp_inner");
    int kind = PP_CP_COMM_RING;
    pp_status status = PP_OK;
    if (pp_json_has(at, "cp_comm"))
        status = read_name(at, "cp_comm", pp_cp_comm_names(), &kind, err);
    plan->cp_comm = (pp_cp_comm)kind;
    if (!status && has_inner != (kind == PP_CP_COMM_HIERARCHICAL))
        return pp_json_fail(at, err, "cp_inner and cp_comm \"hierarchical\" belong together");
    if (status || !has_inner)
        return status;
    status = pp_json_get_int(at, "cp_inner", 1, plan->parallel.cp, &plan->cp_inner, err);
    if (!status && plan->parallel.cp % plan->cp_inner != 0)
        return pp_json_fail(at, err, "cp_inner %" PRId64 " does not divide cp %" PRId64,
                            plan->cp_inner, plan->parallel.cp);
    return status;
}

static pp_status read_imbalances(const pp_json_at *at, pp_plan *plan, pp_err *err)
{
    pp_json_at list, item;
    size_t count = 0;
    if (!pp_json_has(at, "moe_imbalances"))
        return PP_OK;
    pp_status status = pp_json_get(at, "moe_imbalances", &list, err);
    if (status || (status = pp_json_count(&list, &count, err)))
        return status;
    if (count < 1 || count > PP_EXPERT_TOKENS_MICROBATCHES_MAX)
        return pp_json_fail(&list, err, "has %zu microbatches, but must have from 1 to %d", count,
                            PP_EXPERT_TOKENS_MICROBATCHES_MAX);
    plan->moe_imbalances = pp_alloc_array(count, sizeof *plan->moe_imbalances);
    if (!plan->moe_imbalances)
        return pp_err_nomem(err);
    plan->imbalance_count = (uint32_t)count;
    for (size_t j = 0; j < count && !status; j++) {
        if (!(status = pp_json_item(&list, j, &item, err)))
            status = pp_json_read_double(&item, 1, PP_RANKS_MAX, &plan->moe_imbalances[j], err);
    }
    return status;
}

static pp_status read_dispatch(const pp_json_at *at, pp_plan *plan, pp_err *err)
{
    int kind = PP_DISPATCHER_DEEPEP; /* of a file without it: all were predicted with DeepEP then */
    pp_status status = PP_OK;
    plan->moe_imbalance = 1;
    if (pp_json_has(at, "moe_dispatcher"))
        status = read_name(at, "moe_dispatcher", pp_dispatcher_names(), &kind, err);
    plan->dispatcher = plan->parallel.ep > 1 ? (pp_dispatcher)kind : PP_DISPATCHER_ALLTOALL;
    if (!status && pp_json_has(at, "moe_fp8_dispatch"))
        status = pp_json_get_bool(at, "moe_fp8_dispatch", &plan->moe_fp8_dispatch, err);
    if (!status && pp_json_has(at, "moe_shared_expert_overlap"))
        status = pp_json_get_bool(at, "moe_shared_expert_overlap", &plan->moe_shared_expert_overlap,
                                  err);
    if (!status && pp_json_has(at, "moe_capacity"))
        status = pp_json_get_double(at, "moe_capacity", PP_CAPACITY_LEAST, PP_IMBALANCE_MOST,
                                    &plan->moe_capacity, err);
    if (!status && pp_json_has(at, "moe_pads"))
        status = pp_json_get_bool(at, "moe_pads", &plan->moe_pads, err);
    if (!status && plan->moe_pads && !(plan->moe_capacity > 0))
        status = pp_json_fail(at, err, "has moe_pads, but no moe_capacity");
    if (!status && pp_json_has(at, "moe_kept"))
        status = pp_json_get_double(at, "moe_kept", KEPT_LEAST, 1, &plan->moe_kept, err);
    if (!status && pp_json_has(at, "moe_imbalance"))
        status =
            pp_json_get_double(at, "moe_imbalance", 1, PP_RANKS_MAX, &plan->moe_imbalance, err);
    return status ? status : read_imbalances(at, plan, err);
}

static pp_status read_recomputed_layers(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    if (!pp_json_has(root, "recompute_layers"))
        return PP_OK;
    if (plan->recompute != PP_RECOMPUTE_FULL)
        return pp_json_fail(root, err, "recompute_layers and recompute \"full\" belong together");
    return pp_json_get_int(root, "recompute_layers", 1, PP_MODEL_LAYERS_MAX,
                           &plan->recompute_layers, err);
}

/* A list of names, as a set. what: "a module". */
static pp_status read_set(const pp_json_at *root, const char *key, const char *const *names,
                          const char *what, unsigned *set_out, pp_err *err)
{
    pp_json_at list, item;
    size_t count = 0;
    const char *name = "";
    unsigned set = 0;
    pp_status status = pp_json_get(root, key, &list, err);
    if (status || (status = pp_json_count(&list, &count, err)))
        return status;
    for (size_t i = 0; i < count; i++) {
        int k = 0;
        if ((status = pp_json_item(&list, i, &item, err)) ||
            (status = pp_json_read_text(&item, &name, err)))
            return status;
        while (names[k] && strcmp(names[k], name) != 0)
            k++;
        if (!names[k])
            return pp_json_fail(&item, err, "\"%.40s\" is not the name of %s", name, what);
        set |= 1U << k;
    }
    if (!set)
        return pp_json_fail(&list, err, "names no %s", what + 2);
    *set_out = set;
    return PP_OK;
}

static pp_status read_modules(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    pp_status status = PP_OK;
    pp_json_at graphs;
    plan->recompute_modules = PP_MODULES_CORE;
    if (pp_json_has(root, "recompute_modules"))
        status = read_set(root, "recompute_modules", pp_recompute_module_names(), "a module",
                          &plan->recompute_modules, err);
    if (!status && pp_json_has(root, "cuda_graphs"))
        status = read_set(root, "cuda_graphs", pp_graph_names(), "a graph", &plan->graphs, err);
    const char *fault = pp_graphs_fault(plan->graphs, plan->moe_pads);
    if (status || !fault || (status = pp_json_get(root, "cuda_graphs", &graphs, err)))
        return status;
    return pp_json_fail(&graphs, err, "%s", fault);
}

static pp_status read_reshard(const pp_json_at *at, pp_plan *plan, pp_err *err)
{
    const char *text = "";
    pp_json_at place;
    pp_err why = pp_err_like(err);
    pp_status status = pp_json_get_text(at, "reshard_after_forward", &text, err);
    if (status || (status = pp_json_get(at, "reshard_after_forward", &place, err)))
        return status;
    if (pp_reshard_parse(text, &plan->reshard_after_forward, &why))
        return pp_json_fail(&place, err, "%s", why.text);
    const int64_t copies = plan->dp_replicate > 1 ? plan->dp_replicate : 1;
    const int64_t ranks = plan->parallel.dp * plan->parallel.cp / copies;
    const int64_t kept = plan->reshard_after_forward;
    if (kept != PP_RESHARD_NEVER && plan->zero != 3)
        return pp_json_fail(&place, err, "needs \"zero\" 3");
    if (kept > 0 && (ranks % kept != 0 || kept == ranks))
        return pp_json_fail(&place, err,
                            "must divide the %" PRId64 " GPUs that share a copy of the parameters, "
                            "and be fewer",
                            ranks);
    return PP_OK;
}

static pp_status read_precision(const pp_json_at *at, pp_plan *plan, pp_err *err)
{
    const char *name = "";
    int k = 0;
    pp_status status = pp_json_get_text(at, "precision", &name, err);
    while (!status && k < PP_PRECISIONS && strcmp(pp_precision_names()[k], name) != 0)
        k++;
    if (!status && k == PP_PRECISIONS)
        return pp_json_fail(at, err,
                            "precision \"%.40s\" is not one of bf16, fp8, fp8-current, "
                            "fp8-current-all, fp8-block, mxfp8, nvfp4",
                            name);
    plan->precision = (pp_precision)k;
    if (!status && pp_json_has(at, "low_parameters"))
        status = pp_json_get_bool(at, "low_parameters", &plan->low_parameters, err);
    return status;
}

/* The settings that are not the stack's. */
static pp_status read_changes(const pp_json_at *stack_at, pp_stack_changes *changes, pp_err *err)
{
    const char *keys[PP_STACK_SETTINGS + 3] = { [PP_STACK_SETTINGS] = "communicators", "dtype" };
    int layout = 0, dtype = 0;
    pp_json_at at;
    if (!pp_json_has(stack_at, "settings"))
        return PP_OK;
    for (size_t i = 0; i < PP_STACK_SETTINGS; i++)
        keys[i] = pp_stack_setting_name(i);
    pp_status status = pp_json_get(stack_at, "settings", &at, err);
    if (!status)
        status = pp_json_only(&at, keys, err);
    for (size_t i = 0; i < PP_STACK_SETTINGS && !status; i++) {
        bool on = false;
        if (!pp_json_has(&at, keys[i]))
            continue;
        status = pp_json_get_bool(&at, keys[i], &on, err);
        changes->to[i] = on ? 1 : -1;
    }
    if (!status && pp_json_has(&at, "communicators")) {
        status = read_name(&at, "communicators", pp_communicators_names(), &layout, err);
        changes->communicators = (pp_communicators)(layout + 1);
    }
    if (!status && pp_json_has(&at, "dtype")) {
        status = read_name(&at, "dtype", pp_dtype_names(), &dtype, err);
        changes->has_dtype = true;
        changes->dtype = (pp_dtype)dtype;
    }
    return status;
}

static pp_status read_stack(const pp_json_at *root, pp_plan_stack *stack, pp_err *err)
{
    static const char *const keys[] = { "name", "stands_for", "sha256", "settings", NULL };
    pp_json_at at;
    if (!pp_json_has(root, "stack"))
        return PP_OK;
    pp_status status = pp_json_get(root, "stack", &at, err);
    if (status || (status = pp_json_only(&at, keys, err)) ||
        (status = pp_json_get_name(&at, "name", stack->name, sizeof stack->name, err)) ||
        (status = pp_plan_read_name(&at, "stands_for", stack->stands_for, sizeof stack->stands_for,
                                    err)) ||
        (status = read_changes(&at, &stack->changes, err)))
        return status;
    return pp_plan_read_name(&at, "sha256", stack->sha256, sizeof stack->sha256, err);
}

static pp_status read_parallel(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    static const char *const keys[] = { "pp",
                                        "tp",
                                        "cp",
                                        "dp",
                                        "ep",
                                        "etp",
                                        "vpp",
                                        "sequence_parallel",
                                        "zero",
                                        "dp_replicate",
                                        "reshard_after_forward",
                                        "precision",
                                        "low_parameters",
                                        "experts",
                                        "grad_dtype",
                                        "optimizer_dtype",
                                        "cp_comm",
                                        "cp_inner",
                                        "moe_dispatcher",
                                        "moe_fp8_dispatch",
                                        "moe_shared_expert_overlap",
                                        "moe_capacity",
                                        "moe_pads",
                                        "moe_kept",
                                        "moe_imbalance",
                                        "moe_imbalances",
                                        "micro_batch_size",
                                        "global_batch_size",
                                        "seq_length",
                                        NULL };
    pp_json_at at;
    pp_parallel *p = &plan->parallel;
    const struct {
        const char *key;
        int64_t *value;
    } degrees[] = { { "pp", &p->pp }, { "tp", &p->tp }, { "cp", &p->cp },
                    { "dp", &p->dp }, { "ep", &p->ep }, { "vpp", &p->vpp } };
    pp_status status = pp_json_get(root, "parallel", &at, err);
    if (status || (status = pp_json_only(&at, keys, err)))
        return status;
    for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
        status = pp_json_get_int(&at, degrees[i].key, 1, PP_RANKS_MAX, degrees[i].value, err);
        if (status)
            return status;
    }
    if (pp_json_has(&at, "etp") &&
        (status = pp_json_get_int(&at, "etp", 1, PP_RANKS_MAX, &p->etp, err)))
        return status;
    if (p->etp && (p->tp * p->cp * p->dp) % (p->etp * p->ep))
        return pp_json_fail(&at, err,
                            "etp %" PRId64 " x ep %" PRId64 " does not divide the %" PRId64
                            " GPUs of tp x cp x dp",
                            p->etp, p->ep, p->tp * p->cp * p->dp);
    if (pp_json_has(&at, "sequence_parallel")) {
        bool on;
        if ((status = pp_json_get_bool(&at, "sequence_parallel", &on, err)))
            return status;
        plan->sequence_parallel = on;
    }
    if (pp_json_has(&at, "zero")) {
        int64_t zero;
        if ((status = pp_json_get_int(&at, "zero", 0, 3, &zero, err)))
            return status;
        plan->zero = (int)zero;
    }
    if (pp_json_has(&at, "dp_replicate")) {
        pp_json_at place;
        if ((status = pp_json_get_int(&at, "dp_replicate", 1, p->dp, &plan->dp_replicate, err)) ||
            (status = pp_json_get(&at, "dp_replicate", &place, err)))
            return status;
        if (plan->zero != 3 || p->dp % plan->dp_replicate != 0)
            return pp_json_fail(
                &place, err, "needs \"zero\" 3, and must divide \"dp\", which is %" PRId64, p->dp);
    }
    if (pp_json_has(&at, "reshard_after_forward") && (status = read_reshard(&at, plan, err)))
        return status;
    if ((pp_json_has(&at, "precision") && (status = read_precision(&at, plan, err))) ||
        (pp_json_has(&at, "experts") &&
         (status = pp_json_get_bool(&at, "experts", &plan->experts, err))) ||
        (status = read_state(&at, plan, err)) || (status = read_cp_comm(&at, plan, err)) ||
        (status = read_dispatch(&at, plan, err)))
        return status;
    if (p->pp * p->vpp > PP_STAGES_MAX)
        return pp_json_fail(&at, err, "pp x vpp = %" PRId64 " stages, but the limit is %u",
                            p->pp * p->vpp, PP_STAGES_MAX);
    if ((status = pp_plan_read_known(&at, "micro_batch_size", INT32_MAX, &plan->micro_batch_size,
                                     err)) ||
        (status = pp_plan_read_known(&at, "global_batch_size", INT32_MAX, &plan->global_batch_size,
                                     err)))
        return status;
    return pp_plan_read_known(&at, "seq_length", PP_LENGTH_MAX, &plan->seq_length, err);
}

static pp_status read_cell(const pp_json_at *row, size_t i, pp_op ops[2], size_t *count_out,
                           pp_err *err)
{
    pp_json_at at;
    const char *text;
    pp_status status = pp_json_item(row, i, &at, err);
    if (status || (status = pp_json_read_text(&at, &text, err)))
        return status;
    *count_out = pp_cell_parse(text, strlen(text), ops);
    if (!*count_out)
        return pp_json_fail(&at, err, "'%.64s' is not an op; write for example 3F7, 3B7, 3I7, 3W7",
                            text);
    return PP_OK;
}

/* Counts ops and finds the microbatches of an order before it is allocated. */
static pp_status measure_order(const pp_json_at *rows, size_t ranks, size_t *ops_out,
                               uint32_t *microbatches_out, pp_err *err)
{
    size_t total = 0;
    uint32_t most = 0;
    for (size_t r = 0; r < ranks; r++) {
        pp_json_at row;
        size_t cells;
        pp_status status = pp_json_item(rows, r, &row, err);
        if (status || (status = pp_json_count(&row, &cells, err)))
            return status;
        for (size_t i = 0; i < cells; i++) {
            pp_op ops[2];
            size_t n;
            if ((status = read_cell(&row, i, ops, &n, err)))
                return status;
            for (size_t k = 0; k < n; k++) {
                if (ops[k].microbatch >= most)
                    most = ops[k].microbatch + 1;
            }
            total += n;
        }
    }
    *ops_out = total;
    *microbatches_out = most;
    return PP_OK;
}

static pp_status fill_order(const pp_json_at *rows, pp_order *order, pp_err *err)
{
    memset(order->stage_rank, 0xff, order->stages * sizeof *order->stage_rank);
    for (uint32_t r = 0; r < order->ranks; r++) {
        pp_json_at row;
        size_t cells;
        pp_status status = pp_json_item(rows, r, &row, err);
        if (status || (status = pp_json_count(&row, &cells, err)))
            return status;
        for (size_t i = 0; i < cells; i++) {
            pp_op ops[2];
            size_t n;
            if ((status = read_cell(&row, i, ops, &n, err)))
                return status;
            for (size_t k = 0; k < n; k++) {
                uint16_t s = ops[k].stage;
                if (s < order->stages && order->stage_rank[s] == UINT32_MAX)
                    order->stage_rank[s] = r;
                pp_order_add(order, r, ops[k].kind, s, ops[k].microbatch);
                order->ops[order->rank_begin[order->ranks] - 1].paired = ops[k].paired;
            }
        }
    }
    for (uint32_t s = 0; s < order->stages; s++) {
        if (order->stage_rank[s] == UINT32_MAX)
            return pp_json_fail(rows, err, "no rank runs stage %" PRIu32 " of %" PRIu32, s,
                                order->stages);
    }
    return PP_OK;
}

static pp_status read_order(const pp_json_at *at, pp_plan *plan, const char *file,
                            pp_order **order_out, pp_err *err)
{
    static const char *const keys[] = { "name", "ranks", NULL };
    pp_json_at rows;
    size_t ranks;
    size_t ops;
    uint32_t m;
    pp_status status = pp_json_only(at, keys, err);
    if (status ||
        (status = pp_plan_read_name(at, "name", plan->schedule, sizeof plan->schedule, err)) ||
        (status = pp_json_get(at, "ranks", &rows, err)) ||
        (status = pp_json_count(&rows, &ranks, err)))
        return status;
    if (ranks != (size_t)plan->parallel.pp)
        return pp_json_fail(&rows, err, "has %zu rows, but pp is %" PRId64, ranks,
                            plan->parallel.pp);
    if ((status = measure_order(&rows, ranks, &ops, &m, err)))
        return status;
    const int64_t runs = plan->runs ? plan->runs : 1;
    if (m == 0 || runs * m > PP_MICROBATCHES_MAX ||
        (plan->workload.microbatch && runs * m != plan->workload.microbatches))
        return runs > 1 ? pp_json_fail(&rows, err,
                                       "runs %" PRIu32 " microbatches in each of %" PRId64
                                       " \"pipeline_runs\", but the plan has %" PRIu32 " in all",
                                       m, runs, plan->workload.microbatches)
                        : pp_json_fail(&rows, err,
                                       "runs %" PRIu32 " microbatches, but the plan has %" PRIu32,
                                       m, plan->workload.microbatches);
    pp_err inner = pp_err_like(err);
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    status = pp_order_new((uint32_t)ranks, (uint32_t)(plan->parallel.pp * plan->parallel.vpp), m,
                          PP_PLACE_LOOP, ops, &order, &inner);
    if (status == PP_INPUT)
        return pp_json_fail(&rows, err, "%s", inner.text);
    if (status)
        return pp_err_nomem(err);
    if ((status = fill_order(&rows, order, err)) || (status = pp_order_check(order, file, err)))
        return status;
    *order_out = order;
    order = NULL; /* the caller's now */
    return PP_OK;
}

/* Counts the objects of a value: 1 for an object, or the length of an array. */
static pp_status count_replicas(const pp_json_at *at, const pp_plan *plan, uint32_t *count_out,
                                pp_err *err)
{
    size_t count;
    *count_out = 1;
    if (pp_json_kind_at(at) != PP_JSON_ARRAY)
        return PP_OK;
    pp_status status = pp_json_count(at, &count, err);
    if (status)
        return status;
    if (count != plan->workload.replicas || count < 2)
        return pp_json_fail(
            at, err, "must be one object, or one for each of the %" PRIu32 " lists of microbatches",
            plan->workload.replicas);
    *count_out = (uint32_t)count;
    return PP_OK;
}

static pp_status read_orders(const pp_json_at *root, pp_plan *plan, const char *file, pp_err *err)
{
    pp_json_at at;
    uint32_t count;
    pp_status status = pp_json_get(root, "schedule", &at, err);
    if (status || (status = count_replicas(&at, plan, &count, err)))
        return status;
    plan->order = pp_alloc_array(count, sizeof *plan->order);
    if (!plan->order)
        return pp_err_nomem(err);
    plan->order_count = count;
    for (uint32_t i = 0; i < count; i++) {
        pp_json_at one = at;
        if (count > 1 && (status = pp_json_item(&at, i, &one, err)))
            return status;
        if ((status = read_order(&one, plan, file, &plan->order[i], err)))
            return status;
    }
    return PP_OK;
}

static pp_status read_costs(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    pp_json_at at;
    uint32_t count;
    pp_status status = pp_json_get(root, "costs", &at, err);
    if (status || (status = count_replicas(&at, plan, &count, err)))
        return status;
    plan->costs = pp_alloc_array(count, sizeof *plan->costs);
    if (!plan->costs)
        return pp_err_nomem(err);
    plan->costs_count = count;
    const pp_order *order = plan->order[0];
    for (uint32_t i = 0; i < count; i++) {
        pp_json_at one = at;
        if (count > 1 && (status = pp_json_item(&at, i, &one, err)))
            return status;
        status = pp_costs_read(&one, order->ranks, order->stages,
                               order->microbatches * (uint32_t)(plan->runs ? plan->runs : 1),
                               &plan->costs[i], err);
        if (!status && plan->zero >= 0 && plan->costs[i]->sharded != (plan->zero >= 2))
            return pp_json_fail(&one, err,
                                plan->zero >= 2
                                    ? "lack \"unshard_ns\" and \"reduce_grad_ns\" of sharded "
                                      "parameters, which \"zero\" 2 or 3 of \"parallel\" has"
                                    : "have sharded parameters (\"unshard_ns\"), but \"zero\" of "
                                      "\"parallel\" is neither 2 nor 3");
        const bool regathers = plan->reshard_after_forward != PP_RESHARD_NEVER;
        if (!status && plan->zero >= 0 && plan->costs[i]->regathers != regathers)
            return pp_json_fail(&one, err,
                                "%s \"regather_ns\", but \"reshard_after_forward\" of "
                                "\"parallel\" is %s",
                                regathers ? "lack" : "have", regathers ? "set" : "never");
        if (status)
            return status;
    }
    return PP_OK;
}

static pp_status read_memory_costs(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    static const char *const keys[] = { "unit", "forward", "input", "weight", NULL };
    pp_json_at at;
    const char *unit;
    pp_memory_costs *memory = &plan->memory_costs;
    if (!pp_json_has(root, "memory_costs"))
        return PP_OK;
    const double limit = (double)PP_BYTES_MAX;
    pp_status status = pp_json_get(root, "memory_costs", &at, err);
    if (status || (status = pp_json_only(&at, keys, err)) ||
        (status = pp_json_get_text(&at, "unit", &unit, err)) ||
        (status = pp_json_get_double(&at, "forward", 0, limit, &memory->f, err)) ||
        (status = pp_json_get_double(&at, "input", -limit, limit, &memory->i, err)) ||
        (status = pp_json_get_double(&at, "weight", -limit, limit, &memory->w, err)))
        return status;
    memory->in_bytes = strcmp(unit, "bytes") == 0;
    if (!memory->in_bytes && strcmp(unit, "activations") != 0)
        return pp_json_fail(&at, err, "\"unit\" must be \"bytes\" or \"activations\"");
    if (memory->in_bytes) {
        memory->f_bytes = (int64_t)memory->f;
        memory->i_bytes = (int64_t)memory->i;
        memory->w_bytes = (int64_t)memory->w;
    }
    plan->has_memory_costs = true;
    return PP_OK;
}

static pp_status read_notes(const pp_json_at *object, const char *key, pp_notes *notes, pp_err *err)
{
    pp_json_at at;
    if (!pp_json_has(object, key))
        return PP_OK;
    pp_status status = pp_json_get(object, key, &at, err);
    for (size_t i = 0; !status; i++) {
        pp_json_at item;
        const char *text;
        if (!pp_json_member(&at, i, &item))
            break;
        if (!(status = pp_json_read_text(&item, &text, err)))
            status = pp_notes_add(notes, err, item.key, "%s", text);
    }
    return status;
}

static pp_status read_provenance(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    static const char *const keys[] = { "version",        "command",         "seed",
                                        "profile_sha256", "profile_classes", NULL };
    pp_json_at at;
    const char *text;
    int64_t seed;
    if (!pp_json_has(root, "provenance"))
        return PP_OK;
    pp_status status = pp_json_get(root, "provenance", &at, err);
    if (status || (status = pp_json_only(&at, keys, err)) ||
        (status = pp_plan_read_name(&at, "version", plan->version, sizeof plan->version, err)) ||
        (status = pp_json_get_int(&at, "seed", 0, INT64_MAX, &seed, err)) ||
        (status = pp_plan_read_name(&at, "profile_sha256", plan->profile_sha256,
                                    sizeof plan->profile_sha256, err)) ||
        (status = read_notes(&at, "profile_classes", &plan->profile_classes, err)))
        return status;
    plan->seed = (uint64_t)seed;
    if (!pp_json_has(&at, "command"))
        return PP_OK;
    if ((status = pp_json_get_text(&at, "command", &text, err)))
        return status;
    plan->command = pp_copy_text(text);
    return plan->command ? PP_OK : pp_err_nomem(err);
}

/* An interval whose published steps another version of ppsim had is dropped. */
static pp_status read_interval(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    static const char *const keys[] = { "probability", "step_low_ns", "step_high_ns", "half",
                                        "parts",       "own",         "experts",      "hardware",
                                        "stack",       NULL };
    const char *names[PP_INTERVAL_PARTS + 1] = { NULL };
    char hardware[64] = "", stack[64] = "";
    bool experts = false;
    pp_step_interval interval = { .half = 0 };
    pp_json_at at, parts;
    if (!pp_json_has(root, "interval"))
        return PP_OK;
    for (int k = 0; k < PP_INTERVAL_PARTS; k++)
        names[k] = pp_interval_part_name((pp_interval_part)k);
    pp_status status = pp_json_get(root, "interval", &at, err);
    if (status || (status = pp_json_only(&at, keys, err)) ||
        (status = pp_json_get_double(&at, "half", 0, 100, &interval.half, err)) ||
        (status = pp_json_get_bool(&at, "own", &interval.own, err)) ||
        (status = pp_json_get_bool(&at, "experts", &experts, err)) ||
        (status = pp_plan_read_name(&at, "hardware", hardware, sizeof hardware, err)) ||
        (status = pp_plan_read_name(&at, "stack", stack, sizeof stack, err)) ||
        (status = pp_json_get(&at, "parts", &parts, err)) ||
        (status = pp_json_only(&parts, names, err)))
        return status;
    for (int k = 0; k < PP_INTERVAL_PARTS && !status; k++)
        status = pp_json_get_double(&parts, names[k], 0, 100, &interval.part[k], err);
    interval.nearest =
        pp_published_steps_of(hardware, stack[0] ? stack : "megatron-2022", /* of the papers */
                              plan->precision != PP_PRECISION_BF16, experts);
    plan->interval = interval;
    return status;
}

/* Reads the part of the prediction that cannot be computed from the plan. */
static pp_status read_prediction(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    pp_json_at at;
    if (!pp_json_has(root, "prediction"))
        return PP_OK;
    pp_status status = pp_json_get(root, "prediction", &at, err);
    if (status || (status = pp_uncertainty_read(&at, &plan->uncertainty, err)) ||
        !pp_json_has(&at, "step_ns"))
        return status;
    if ((status =
             pp_json_get_int(&at, "step_ns", 0, PP_NS_MAX, &plan->predicted_in_file_ns, err)) ||
        (status =
             pp_json_get_int(&at, "makespan_ns", 0, PP_NS_MAX, &plan->makespan_in_file_ns, err)) ||
        !pp_json_has(&at, "peak_memory_bytes"))
        return status;
    return pp_json_get_int(&at, "peak_memory_bytes", 0, PP_BYTES_MAX, &plan->peak_in_file_bytes,
                           err);
}

/* The rows of the schedule decide the placement; the key must agree with it. */
static pp_status check_placement(const pp_json_at *root, const pp_plan *plan, pp_err *err)
{
    pp_json_at at;
    const char *text;
    if (!pp_json_has(root, "placement"))
        return PP_OK;
    pp_status status = pp_json_get(root, "placement", &at, err);
    if (status || (status = pp_json_read_text(&at, &text, err)))
        return status;
    const pp_order *order = plan->order[0];
    pp_placement placement = strcmp(text, "v") == 0 ? PP_PLACE_V : PP_PLACE_LOOP;
    if (strcmp(text, pp_placement_name(placement)) != 0)
        return pp_json_fail(&at, err, "must be \"loop\" or \"v\", not \"%.32s\"", text);
    for (uint32_t s = 0; s < order->stages; s++) {
        if (order->stage_rank[s] != pp_placement_rank(placement, s, order->ranks))
            return pp_json_fail(
                &at, err, "is \"%s\", but the schedule runs stage %" PRIu32 " on rank %" PRIu32,
                text, s, order->stage_rank[s]);
    }
    return PP_OK;
}

pp_status pp_plan_read(const pp_json *json, const char *file, pp_plan **plan_out, pp_err *err)
{
    static const char *const keys[] = { "format",
                                        "version",
                                        "model",
                                        "hardware",
                                        "parallel",
                                        "placement",
                                        "partition",
                                        "microbatches",
                                        "schedule",
                                        "costs",
                                        "executor",
                                        "shapes",
                                        "comm",
                                        "lanes",
                                        "recv_buffers",
                                        "send_buffers",
                                        "return_outputs",
                                        "sharing",
                                        "p2p",
                                        "host",
                                        "shape_message_ns",
                                        "tensors_per_boundary",
                                        "pipeline_runs",
                                        "max_outstanding_sends",
                                        "unshard_lookahead",
                                        "compute_settings",
                                        "recompute",
                                        "recompute_layers",
                                        "recompute_modules",
                                        "cuda_graphs",
                                        "recomputed",
                                        "step_sync",
                                        "memory_limit_bytes",
                                        "memory_costs",
                                        "stack",
                                        "interval",
                                        "assumptions",
                                        "elsewhere",
                                        "prediction",
                                        "provenance",
                                        NULL };
    pp_json_at root = pp_json_root(json, file);
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_status status = pp_plan_new(&plan, err);
    if (status || (status = pp_json_check_format(&root, "ppsim.plan", 1, err)) ||
        (status = pp_json_only(&root, keys, err)) ||
        (status = pp_plan_read_settings(&root, plan, err)) ||
        (status = read_parallel(&root, plan, err)) ||
        (status = read_stack(&root, &plan->stack, err)) ||
        (status = pp_plan_read_partition(&root, plan, err)) ||
        (status = pp_plan_read_microbatches(&root, plan, err)) ||
        (status = pp_plan_read_recomputed(&root, plan, err)) ||
        (status = read_recomputed_layers(&root, plan, err)) ||
        (status = read_modules(&root, plan, err)) ||
        (status = read_orders(&root, plan, file, err)) ||
        (status = check_placement(&root, plan, err)) || (status = read_costs(&root, plan, err)) ||
        (status = read_memory_costs(&root, plan, err)) ||
        (status = read_notes(&root, "assumptions", &plan->assumptions, err)) ||
        (status =
             pp_plan_read_name(&root, "elsewhere", plan->elsewhere, sizeof plan->elsewhere, err)) ||
        (status = read_interval(&root, plan, err)) ||
        (status = read_prediction(&root, plan, err)) ||
        (status = read_provenance(&root, plan, err)))
        return status;
    *plan_out = plan;
    plan = NULL; /* the caller's now */
    return PP_OK;
}
