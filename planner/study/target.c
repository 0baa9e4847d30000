/* Applies the rules of a training runtime to a request, and finds what they cost by searching the
 * same request without them: two whole searches. */
#include "planner/study/target.h"

#include "planner/study/plan_search.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/framework/registry.h"

#include <stdio.h>
#include <string.h>

static bool is_in(const pp_schedule *const *list, const pp_schedule *schedule)
{
    for (size_t i = 0; list && list[i]; i++) {
        if (list[i] == schedule)
            return true;
    }
    return false;
}

static bool communicates_as(const pp_target_limits *target, const pp_framework *framework)
{
    size_t i = 0;
    while (target->frameworks[i] && target->frameworks[i] != framework)
        i++;
    return target->frameworks[i] != NULL;
}

/* Sets the training settings of the target that hold for every schedule, unless the request gives
 * them. */
static void train_as(const pp_target_limits *target, pp_plan_request *request)
{
    pp_switch_request *switches = &request->switches;
    if (target->fsdp && !switches->given.zero) {
        switches->given.zero = true;
        switches->value.zero = 1;
    }
    if (target->fsdp && !switches->given.tp_overlap) {
        switches->given.tp_overlap = true;
        switches->value.tp_overlap = false;
    }
}

void pp_target_limit(const pp_target_limits *target, bool shapes_given, pp_plan_request *request)
{
    train_as(target, request);
    request->one_order |= target->one_order;
    request->recompute_alike |= target->recompute_alike;
    request->recompute_uniform |= target->recompute_uniform;
    if (!request->schedule && target->only)
        request->only = target->only;
    if (!target->orders)
        request->orders = PP_ORDERS_NAMED;
    if (request->lengths && !shapes_given && target->constant_shapes)
        request->exchange.shapes.kind = PP_SIZES_PADDED;
    request->free.shapes &= !target->constant_shapes;
}

/* The request under the target's limits and with its framework. */
static pp_plan_request limited(const pp_target_limits *target, bool shapes_given,
                               const pp_plan_request *request)
{
    pp_plan_request own = *request;
    own.framework = request->framework ? request->framework : target->frameworks[0];
    own.target = target->rules;
    own.free.frameworks = target->frameworks;
    if (!request->buffers.has_return_outputs) {
        own.buffers.has_return_outputs = target->drops_outputs;
        own.buffers.return_outputs = false;
    }
    if (request->lengths && !shapes_given)
        own.exchange.shapes.kind = target->unequal;
    pp_target_limit(target, shapes_given, &own);
    return own;
}

/* True if the target runs the request's schedule. If not, writes why to `why`. */
static bool runs(const pp_target_limits *target, const pp_plan_request *request,
                 const pp_schedule *schedule, const pp_err *err, char *why, size_t size)
{
    const bool named = !target->only || is_in(target->only, schedule);
    const bool split = request->no_split && request->schedule && request->schedule->splits_backward;
    if (!named)
        snprintf(why, size, "does not run");
    else if (split)
        snprintf(why, size, "compiles its stages (%s), which rules out the split backward of",
                 pp_err_name(err, PP_FIELD_TORCH_COMPILE));
    return named && !split;
}

/* Searches the request as it is; *choice_out stays NULL if nothing fits. Fails: NOMEM. */
static pp_status try_request(const pp_plan_request *request, pp_search_result **choice_out,
                             pp_err *err)
{
    pp_err reason = pp_err_like(err);
    return pp_plan_search(request, choice_out, &reason) == PP_NOMEM ? pp_err_nomem(err) : PP_OK;
}

/* Appends "; the nearest that it runs is interleaved, with a step of 2.021 s (+4.90 %)". That
 * schedule is searched and compared with the request under the same framework, or under the
 * request's own framework if this one does not run the schedule. */
static pp_status find_nearest(const pp_target_limits *target, bool shapes_given,
                              const pp_plan_request *request, char *text, size_t size, pp_err *err)
{
    pp_search_result *asked PP_CLEANUP(pp_search_result_free) = NULL;
    pp_search_result *nearest PP_CLEANUP(pp_search_result_free) = NULL;
    pp_plan_request other = *request;
    char step[32];
    char more[80] = "";
    text[0] = '\0';
    other.schedule = NULL;
    other.orders = PP_ORDERS_NAMED;
    other.free = (pp_free_settings){ .framework = false };
    other = limited(target, shapes_given, &other);
    pp_status status = try_request(&other, &nearest, err);
    if (status || !nearest)
        return status;
    pp_plan_request wanted = *request;
    wanted.free = other.free;
    train_as(target, &wanted);
    wanted.no_split = false;
    wanted.framework = other.framework;
    wanted.buffers = other.buffers;
    if ((status = try_request(&wanted, &asked, err)))
        return status;
    if (!asked) {
        wanted.framework = request->framework;
        wanted.buffers = request->buffers;
        if ((status = try_request(&wanted, &asked, err)))
            return status;
    }
    const pp_candidate *n = &nearest->candidate[0];
    if (asked)
        snprintf(more, sizeof more, " (%+.2f %%%s)",
                 100 * (pp_candidate_score(n, n->step_ns) /
                            pp_candidate_score(&asked->candidate[0], asked->candidate[0].step_ns) -
                        1),
                 wanted.framework == other.framework ? "" : " against executor ideal");
    snprintf(text, size, "; the nearest that it runs is %.40s, with a step of %s%s",
             n->schedule->name, pp_format_duration(step, sizeof step, n->step_ns), more);
    return PP_OK;
}

pp_status pp_target_check_recompute(const pp_target_limits *target, const pp_plan_request *request,
                                    pp_err *err)
{
    const pp_switch_request *s = &request->switches;
    if (!s->given.recompute || s->value.recompute <= PP_RECOMPUTE_AUTO)
        return PP_OK;
    if (target->recompute_uniform)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_RECOMPUTE),
            "target %s recomputes the same on all stages; give none, selective, full or auto",
            target->name);
    if (target->recompute_alike && s->value.recompute == PP_RECOMPUTE_MICROBATCHES)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RECOMPUTE),
                          "target %s recomputes the same for all microbatches; give none, "
                          "selective, full, per-stage or auto",
                          target->name);
    return PP_OK;
}

pp_status pp_target_apply(const pp_target_limits *target, bool shapes_given,
                          pp_plan_request *request, pp_err *err)
{
    const pp_schedule *schedule = request->orders == PP_ORDERS_PLANNED && !request->schedule
                                      ? &pp_planned_schedule
                                      : request->schedule;
    char why[120];
    if (request->framework && !communicates_as(target, request->framework))
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FRAMEWORK),
                          "target %s communicates like executor %s; leave this option out",
                          target->name, target->frameworks[0]->name);
    if (shapes_given && target->constant_shapes && request->exchange.shapes.kind != PP_SIZES_PADDED)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_SHAPES),
            "target %s needs one size for all microbatches; leave this option out, or give padded",
            target->name);
    if (request->free.communicators)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_COMMUNICATORS),
                          "target %s creates its own communicators; give the kind that it uses, or "
                          "leave this option out",
                          target->name);
    if (target->no_mtp && request->model && request->model->mtp_layers > 0)
        return pp_err_set(
            err, PP_INFEASIBLE, pp_err_name(err, PP_FIELD_TARGET),
            "%s cannot place multi-token prediction modules, because their names in its models are "
            "unknown; plan a model without them, or for another target",
            target->name);
    pp_status status = pp_target_check_recompute(target, request, err);
    if (status)
        return status;
    if (schedule && !runs(target, request, schedule, err, why, sizeof why)) {
        char nearest[200];
        status = find_nearest(target, shapes_given, request, nearest, sizeof nearest, err);
        return status ? status
                      : pp_err_set(err, PP_INFEASIBLE, pp_err_name(err, PP_FIELD_SCHEDULE),
                                   "target %s %s %s%s; leave out the option, or the target",
                                   target->name, why, schedule->name, nearest);
    }
    *request = limited(target, shapes_given, request);
    return PP_OK;
}

/* Finds the cost compared with one other search. */
static pp_status compare(const pp_plan_request *request, const pp_candidate *c,
                         pp_target_cost *cost, pp_err *err)
{
    pp_search_result *other PP_CLEANUP(pp_search_result_free) = NULL;
    pp_err why = pp_err_like(err);
    pp_status status = pp_plan_search(request, &other, &why);
    if (status == PP_NOMEM) {
        *err = why;
        return status;
    }
    if (!other) {
        cost->kind = PP_TARGET_COST_NO_PLAN;
        snprintf(cost->why, sizeof cost->why, "%s", why.text);
        return PP_OK;
    }
    const pp_candidate *f = &other->candidate[0];
    cost->kind = other->stopped ? PP_TARGET_COST_BUDGET : PP_TARGET_COST_KNOWN;
    cost->more = pp_candidate_score(c, c->step_ns) / pp_candidate_score(f, f->step_ns) - 1;
    cost->schedule = f->schedule;
    cost->tp = f->parallel.tp;
    cost->step_ns = f->step_ns;
    return PP_OK;
}

/* The request with the plan's microbatches, so that packings do not affect the comparison. They are
 * dealt to replicas in turn. lengths, end: freed by the caller. */
static pp_status packed_alike(const pp_plan *plan, const pp_plan_request *request,
                              int64_t **lengths, size_t **end, pp_plan_request *alike_out,
                              pp_err *err)
{
    const pp_workload *w = &plan->workload;
    const size_t count = (size_t)w->replicas * w->microbatches;
    *alike_out = *request;
    if (!request->packings || w->first_fit_bins)
        return PP_OK;
    *lengths = pp_alloc_array(w->length_count, sizeof **lengths);
    *end = pp_alloc_array(count, sizeof **end);
    if (!*lengths || !*end)
        return pp_err_nomem(err);
    size_t next = 0;
    for (size_t k = 0; k < count; k++) {
        const pp_microbatch *from =
            &w->microbatch[k % w->replicas * w->microbatches + k / w->replicas];
        memcpy(*lengths + next, w->lengths + from->first, from->count * sizeof **lengths);
        next += from->count;
        (*end)[k] = next;
    }
    alike_out->lengths = *lengths;
    alike_out->group_end = *end;
    alike_out->group_count = count;
    return PP_OK;
}

pp_status pp_target_compare(const pp_target_limits *target, const pp_plan_request *free_request,
                            pp_search_result *choice, pp_err *err)
{
    const pp_candidate *c = &choice->candidate[0];
    int64_t *lengths PP_CLEANUP(pp_free_array) = NULL;
    size_t *end PP_CLEANUP(pp_free_array) = NULL;
    pp_plan_request free_alike;
    pp_status status = packed_alike(choice->plan, free_request, &lengths, &end, &free_alike, err);
    if (status)
        return status;
    free_alike.packings = NULL;
    pp_plan_request alike = free_alike;
    pp_target_costs costs = {
        .target = target,
        .free_framework = free_request->framework ? free_request->framework : &pp_framework_ideal,
    };
    train_as(target, &alike);
    alike.framework = choice->plan->framework;
    alike.switches.value.communicators = choice->context.switches.communicators;
    if (!alike.buffers.has_return_outputs) {
        alike.buffers.has_return_outputs = choice->plan->buffers.has_return_outputs;
        alike.buffers.return_outputs = choice->plan->buffers.return_outputs;
    }
    status = compare(&alike, c, &costs.limits, err);
    if (!status)
        status = compare(&free_alike, c, &costs.all, err);
    if (!status)
        choice->target = costs;
    return status;
}
