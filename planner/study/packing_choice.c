/* Chooses a packing: searches with the lengths as they are packed, packs for the best pipelines of
 * that search, and searches again with the best packing found. Two whole searches; each has a part
 * of the budget. Method: docs/explanation/planning-packing.md. */
#include "planner/study/packing_choice.h"

#include "planner/candidate/budget.h"
#include "planner/study/budget_slice.h"
#include "planner/study/pack_pipeline.h"
#include "planner/study/plan_one.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most pipelines that are packed for, and how far they may be behind the best one. */
enum { PIPELINES_MOST = 2 };
#define BEHIND_MOST 1.05

/* Without a budget: ops simulated for packings of all pipelines, half a second. */
#define OPS_MOST 1000000

/* True if the answer must have one of the request's packings. */
static bool is_forced(const pp_plan_request *request)
{
    return !request->packings[PP_PACKING_FIRST_FIT];
}

/* Parts of the budget: the lengths packed first fit have it up to given_end, then packings up to
 * packing_end. If the answer cannot be first fit, that is only a way to pipelines to pack for. */
static double given_end(const pp_plan_request *request)
{
    return is_forced(request) ? 0.15 : 0.4;
}

static double packing_end(const pp_plan_request *request)
{
    return is_forced(request) ? 0.3 : 0.6;
}

/* The iterations for packings: moves and swaps, and as many for what these begin with. */
static int64_t pack_iterations(const pp_plan_request *request)
{
    return (int64_t)((packing_end(request) - given_end(request)) *
                     (double)request->max_simulations);
}

/* The request with this part of its budget, and without packings. slice: must outlive it. */
static pp_plan_request part_of(const pp_plan_request *request, double from, double to,
                               pp_budget_slice *slice)
{
    pp_plan_request part = *request;
    part.packings = NULL;
    pp_budget_slice_cut(slice, request, from, to, &part);
    part.missed = NULL; /* something may fit in another part */
    if (request->max_simulations)
        part.max_simulations = 1 + (uint64_t)((to - from) * (double)request->max_simulations);
    return part;
}

/* The best packing so far, as lengths of a request. */
typedef struct packed_lengths {
    int64_t *length; /* [count of the request] */
    size_t *end;     /* [groups] */
    size_t groups;
    int64_t micro_batch_size;
    double score;
    int64_t simulated;
    bool as_given; /* it is the request's own */
    pp_packing_method method;
} packed_lengths;

static void packed_free(packed_lengths *p)
{
    free(p->length);
    free(p->end);
}

/* Makes groups of microbatches; group k goes to replica k mod replicas. */
static pp_status take(packed_lengths *p, const pp_pack_task *task, const pp_packed *packed,
                      pp_err *err)
{
    const pp_grouping *g = &packed->grouping;
    const size_t bins = (size_t)g->replicas * g->microbatches;
    packed_free(p);
    p->length = pp_alloc_array(task->count, sizeof *p->length);
    p->end = pp_alloc_array(bins, sizeof *p->end);
    if (!p->length || !p->end)
        return pp_err_nomem(err);
    p->groups = bins;
    size_t next = 0;
    for (size_t k = 0; k < bins; k++) {
        const size_t b = k % g->replicas * g->microbatches + k / g->replicas;
        for (size_t i = b ? g->end[b - 1] : 0; i < g->end[b]; i++)
            p->length[next++] = task->lengths[g->sequence[i]];
        p->end[k] = next;
    }
    const pp_pack_row *row = &packed->row[packed->best];
    p->as_given =
        row->method.packing == (task->group_count ? PP_PACKING_GIVEN : PP_PACKING_FIRST_FIT) &&
        row->method.sorting == PP_SORTING_GIVEN && !row->method.searched;
    p->method = row->method;
    return PP_OK;
}

/* Packs for one pipeline; keeps the packing if it is the best so far. It is not a failure if
 * nothing fits. */
static pp_status pack_for(const pp_plan_request *request, const pp_plan_request *pipeline,
                          const pp_plan_request *part, size_t parts, packed_lengths *best,
                          pp_err *err)
{
    pp_packer *packer PP_CLEANUP(pp_packer_close) = NULL;
    pp_packed *packed PP_CLEANUP(pp_packed_free) = NULL;
    pp_pack_task task = { .lengths = request->lengths,
                          .count = request->length_count,
                          .group_end = request->group_end,
                          .group_count = request->group_count,
                          .seed = request->seed };
    pp_pack_bound bound = { .step_ns = 0 };
    pp_err why = pp_err_like(err);
    memcpy(task.packings, request->packings, sizeof task.packings);
    task.iterations = pack_iterations(request) / (int64_t)parts;
    task.stop = part->stop;
    task.context = part->context;
    task.coarse = !request->stop && !request->max_simulations;
    task.ops_most = task.coarse ? OPS_MOST / (int64_t)parts : 0;
    pp_status status = pp_packer_open(pipeline, &packer, &why);
    if (!status)
        status = pp_packer_bound(packer, task.lengths, task.count, &bound, &why);
    const pp_candidate *c = status ? NULL : pp_packer_pipeline(packer);
    if (c && request->max_simulations) /* packings count as much as moves */
        task.ops_most = 1 + 3 * task.iterations * c->microbatches * c->parallel.pp *
                                c->parallel.vpp * c->parallel.dp;
    if (c && pp_candidate_score(c, bound.step_ns) >= best->score)
        return PP_OK;
    if (!status)
        status = pp_pack_advised(packer, part, &task, &packed, &why);
    if (status) {
        *err = why;
        return status == PP_INFEASIBLE || status == PP_UNDECIDED || status == PP_USAGE ? PP_OK
                                                                                       : status;
    }
    best->simulated += packed->simulated;
    const double score = pp_candidate_score(c, packed->row[packed->best].step_ns);
    if (score >= best->score)
        return PP_OK;
    best->score = score;
    best->micro_batch_size = c->micro_batch_size;
    return take(best, &task, packed, err);
}

static double step_score(const pp_candidate *c)
{
    return pp_candidate_score(c, c->ranked_ns ? c->ranked_ns : c->step_ns);
}

/* True if `a` did better than `b`; with jitter, those that were studied come first. */
static bool did_better(const pp_candidate *a, const pp_candidate *b)
{
    const bool studied = a->ranked_ns > 0, other = b->ranked_ns > 0;
    return studied != other ? studied : step_score(a) < step_score(b);
}

/* Lists the pipelines of named schedules that did best, whichever of them is recommended. */
static size_t list_pipelines(const pp_search_result *given, const pp_candidate **best)
{
    size_t count = 0;
    for (size_t i = 0; i < given->count; i++) {
        const pp_candidate *c = &given->candidate[i];
        size_t at = count;
        if (c->status != PP_CANDIDATE_OK || !pp_candidate_is_named(c))
            continue;
        while (at && did_better(c, best[at - 1]))
            at--;
        if (at == PIPELINES_MOST)
            continue;
        count += count < PIPELINES_MOST;
        memmove(best + at + 1, best + at, (count - at - 1) * sizeof *best);
        best[at] = c;
    }
    while (count > 1 && step_score(best[count - 1]) > BEHIND_MOST * step_score(best[0]))
        count--;
    return count;
}

/* Packs for the pipelines of named schedules that did best or, if none fits (given: NULL), for the
 * one that exceeds the memory limit by the least. */
static pp_status pack_for_best(const pp_plan_request *request, const pp_search_result *given,
                               packed_lengths *best, pp_err *err)
{
    pp_budget_slice slice;
    const pp_plan_request part = part_of(request, given_end(request), packing_end(request), &slice);
    pp_plan_request pipeline = pp_request_pipeline(&part, NULL);
    if (!given)
        return pack_for(request, &pipeline, &part, 1, best, err);
    const pp_candidate *chosen[PIPELINES_MOST];
    const size_t count = list_pipelines(given, chosen);
    for (size_t i = 0; i < count && !(i && part.stop && part.stop(part.context)); i++) {
        pipeline = pp_request_pipeline(&part, chosen[i]);
        pp_status status = pack_for(request, &pipeline, &part, count, best, err);
        if (status)
            return status;
    }
    return PP_OK;
}

static bool splits_backward(const pp_order *order)
{
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++) {
        if (order->ops[i].kind == PP_OP_W)
            return true;
    }
    return false;
}

/* The bound of all packings and orders on the chosen split and partition. */
static pp_status bound_of(const pp_plan_request *request, const pp_search_result *choice,
                          pp_pack_bound *bound_out, pp_err *err)
{
    const pp_plan *plan = choice->plan;
    const pp_workload *w = &plan->workload;
    pp_cost_context context = choice->context;
    if (context.switches.recompute ==
        PP_RECOMPUTE_MICROBATCHES) /* of the plan's microbatches: others may need none */
        context.switches.recompute = PP_RECOMPUTE_NONE;
    pp_pack_pipeline pipeline = { .context = &context,
                                  .stages = plan->partition,
                                  .split = splits_backward(plan->order[0]),
                                  .step_sync = plan->step_sync,
                                  .replicas = (uint32_t)plan->parallel.dp,
                                  .capacity = plan->seq_length * plan->micro_batch_size };
    for (size_t j = 0; j < (size_t)w->replicas * w->microbatches; j++) {
        if (w->microbatch[j].tokens > pipeline.capacity)
            pipeline.capacity = w->microbatch[j].tokens;
    }
    return pp_pack_find_bound(&pipeline, request->lengths, request->length_count, bound_out, err);
}

/* Finds what packing gained, and what it could gain at most. given: NULL if nothing fitted; other:
 * NULL if no packing was found that is worth a search. */
static pp_status find_gain(const pp_plan_request *request, const pp_search_result *given,
                           const pp_search_result *other, const pp_packing_method *method,
                           pp_search_result *answer, pp_err *err)
{
    const pp_candidate *c = &answer->candidate[0];
    pp_packing_outcome outcome = { .method = *method, .grouped = request->group_count > 0 };
    pp_pack_bound bound;
    pp_status status = bound_of(request, answer, &bound, err);
    if (status)
        return status;
    const double least = pp_candidate_score(c, bound.step_ns);
    if (!given) {
        outcome.verdict = PP_PACKING_ONLY;
        outcome.above_bound = pp_candidate_score(c, c->step_ns) / least - 1;
    } else {
        const pp_candidate *g = &given->candidate[0];
        const pp_candidate *o = other ? &other->candidate[0] : g;
        const double before = pp_candidate_score(g, g->step_ns);
        outcome.verdict = !other            ? PP_PACKING_NONE_BETTER
                          : answer == other ? PP_PACKING_TAKEN
                                            : PP_PACKING_NO_GAIN;
        outcome.gain = 1 - pp_candidate_score(o, o->step_ns) / before;
        outcome.before_ns = g->step_ns;
        outcome.most = fmax(0, 1 - least / before);
    }
    answer->packing = outcome;
    return PP_OK;
}

/* The whole search with the packing. *other_out stays NULL if it finds nothing, and err says why.
 */
static pp_status choose_packed(const pp_plan_request *request, const packed_lengths *packed,
                               pp_search_result **other_out, pp_err *err)
{
    pp_budget_slice slice;
    pp_plan_request part = part_of(request, packing_end(request), 1, &slice);
    part.lengths = packed->length;
    part.group_end = packed->end;
    part.group_count = packed->groups;
    part.grouped = &packed->method;
    part.micro_batch_size = packed->micro_batch_size;
    part.no_advice = true;
    pp_status status = pp_plan_one(&part, other_out, err);
    return status == PP_NOMEM ? status : PP_OK;
}

/* Without `fastest` in the request, only if it is measurably better. */
static bool is_better(const pp_plan_request *request, const pp_search_result *given,
                      const pp_search_result *other)
{
    const double score = step_score(&other->candidate[0]);
    const double before = step_score(&given->candidate[0]);
    return request->fastest ? score < before
                            : score * PP_MEASURABLE_PART < before * (PP_MEASURABLE_PART - 1);
}

/* The fastest of the plans with both packings is that of the answer. */
static void name_fastest(const pp_search_result *loser, pp_search_result *answer)
{
    const pp_candidate *fastest = &loser->recommendation.fastest;
    pp_recommendation *r = &answer->recommendation;
    if (!(r->tie > 0) || !(loser->recommendation.tie > 0) ||
        pp_candidate_score(fastest, fastest->step_ns) >=
            pp_candidate_score(&r->fastest, r->fastest.step_ns))
        return;
    r->fastest = *fastest;
    r->reason = pp_choice_why(&answer->candidate[0], fastest);
}

static void swap_choices(pp_search_result **a, pp_search_result **b)
{
    pp_search_result *kept = *a;
    *a = *b;
    *b = kept;
}

/* given: NULL if nothing fits as the lengths are packed; replaced by a better result. */
static pp_status repack(const pp_plan_request *request, pp_search_result **given, pp_err *err)
{
    packed_lengths packed PP_CLEANUP(packed_free) = { .score = HUGE_VAL };
    pp_search_result *other PP_CLEANUP(pp_search_result_free) = NULL;
    pp_err why = pp_err_like(err);
    const size_t simulated = *given ? (*given)->simulated : 0;
    const bool over = pp_budget_time_is_up(request) ||
                      (request->max_simulations && simulated >= request->max_simulations);
    if (*given && !is_forced(request) && over) {
        (*given)->packing.verdict = PP_PACKING_UNSEARCHED;
        return PP_OK;
    }
    pp_status status = pack_for_best(request, *given, &packed, &why);
    const bool own = packed.as_given && *given && !is_forced(request);
    if (!status && packed.groups && !own)
        status = choose_packed(request, &packed, &other, &why);
    if (status) {
        *err = why;
        return status;
    }
    if (!other && (is_forced(request) || !*given))
        return why.status ? pp_err_set(err, why.status, why.where, "%s", why.text)
               : pp_budget_time_is_up(request)
                   ? pp_err_set(err, PP_UNDECIDED, pp_err_name(err, PP_FIELD_PACKING),
                                "the budget ended before a packing was found; increase it, or "
                                "leave the option out")
                   : pp_err_set(err, PP_INFEASIBLE, pp_err_name(err, PP_FIELD_PACKING),
                                "no such packing fits; leave the option out");
    const bool taken =
        other && (!*given || is_forced(request) || is_better(request, *given, other));
    pp_search_result *answer = taken ? other : *given;
    if ((status = find_gain(request, *given, other, &packed.method, answer, err)))
        return status;
    if (other && *given && !is_forced(request))
        name_fastest(taken ? *given : other, answer);
    answer->simulated = simulated + (size_t)packed.simulated + (other ? other->simulated : 0);
    answer->stopped |= (*given && (*given)->stopped) || (other && other->stopped);
    if (taken)
        swap_choices(given, &other);
    return PP_OK;
}

pp_status pp_plan_first_fit(const pp_plan_request *request, pp_search_result **choice_out,
                            pp_err *err)
{
    pp_plan_request one = *request;
    one.packings = NULL;
    pp_status status = pp_plan_one(&one, choice_out, err);
    if (!status)
        (*choice_out)->packing.verdict = PP_PACKING_UNSEARCHED;
    return status;
}

/* The lengths packed first fit with what is left of the budget, once a part of it found nothing
 * that fits, and with advice. Fails: like that part if nothing is left, or no advice is asked for.
 */
static pp_status search_on(const pp_plan_request *request, const pp_plan_request *part,
                           const pp_err *why, pp_search_result **choice_out, pp_err *err)
{
    pp_plan_request rest = *request;
    const bool undecided = why->status == PP_UNDECIDED && request->max_simulations;
    rest.max_simulations -= undecided ? part->max_simulations : 0;
    if ((why->status == PP_INFEASIBLE && request->no_advice && !request->missed) ||
        (undecided && !rest.max_simulations)) {
        *err = *why;
        return why->status;
    }
    return pp_plan_first_fit(&rest, choice_out, err);
}

pp_status pp_plan_packings(const pp_plan_request *request, pp_search_result **choice_out,
                           pp_err *err)
{
    if (!request->lengths || !request->packings)
        return pp_plan_one(request, choice_out, err);
    pp_search_result *choice PP_CLEANUP(pp_search_result_free) = NULL;
    pp_budget_slice slice;
    pp_plan_request given = part_of(request, 0, given_end(request), &slice);
    pp_err why = pp_err_like(err);
    given.no_advice = true;
    if (is_forced(request) && (request->stop || request->max_simulations))
        given.orders = PP_ORDERS_NAMED; /* only its pipelines count, and time is short */
    pp_status status = pp_plan_one(&given, &choice, &why);
    if (status && status != PP_INFEASIBLE && status != PP_UNDECIDED) {
        *err = why;
        return status;
    }
    const pp_err none = why;
    const bool few = request->max_simulations && !pack_iterations(request);
    if (choice || is_forced(request) || !few)
        status = repack(request, &choice, &why);
    if ((status == PP_INFEASIBLE || (status == PP_UNDECIDED && !pp_budget_time_is_up(request))) &&
        !is_forced(request))
        return search_on(request, &given, &none, choice_out, err);
    if (status) { /* of the best pipeline, not of all, if there was no time to find it */
        *err = status == PP_INFEASIBLE && none.status == PP_UNDECIDED ? none : why;
        return err->status;
    }
    *choice_out = choice;
    choice = NULL; /* the caller's now */
    return PP_OK;
}
