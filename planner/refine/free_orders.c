/* Searches free orders in the setups in which the named schedules did best. Each setup gets an
 * equal share of the budget that is left, the most promising one first; orders that fit when they
 * are simulated become candidates. The cost is the budget. Method:
 * docs/explanation/planning-orders.md. */
#include "planner/refine/free_orders.h"

#include "planner/candidate/budget.h"
#include "planner/candidate/evaluate.h"
#include "planner/refine/recompute_microbatch.h"
#include "planner/refine/setup_order.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps that differ by at most 1 / this are the same. */
#define SAME_STEP_PART 10000

/* Estimates hold for framework ideal. They say something of a framework whose communication adds at
 * most this part to the step. */
#define LOST_MOST 0.01

/* If the framework's buffers leave too little memory for the orders that were found, the search is
 * repeated with more reserved for them, at most so often. */
enum { RETRIES_MOST = 1 };

static pp_status keep(pp_ordering *o, pp_candidate *c, pp_err *err)
{
    pp_search *search = o->search;
    void *grown = search->pool.planned;
    pp_status status = pp_grow(&grown, &search->pool.planned_capacity,
                               search->pool.planned_count + 1, sizeof *search->pool.planned, err);
    if (status)
        return status;
    search->pool.planned = grown;
    grown = search->pool.candidate;
    status = pp_grow(&grown, &search->pool.capacity, search->pool.count + 1,
                     sizeof *search->pool.candidate, err);
    if (status)
        return status;
    search->pool.candidate = grown;
    pp_planned planned = { .candidate = search->pool.count, .count = o->set.count };
    planned.order = pp_alloc_array(o->set.count, sizeof *planned.order);
    if (!planned.order)
        return pp_err_nomem(err);
    for (uint32_t i = 0; i < o->set.count; i++) {
        planned.order[i] = o->share[i].order;
        o->share[i].order = NULL;
    }
    search->pool.planned[search->pool.planned_count++] = planned;
    search->pool.candidate[search->pool.count++] = *c;
    return PP_OK;
}

/* Simulates one set of orders. c_out: `like` with what was found. */
static pp_status simulate(const pp_ordering *o, pp_order *const *order, pp_candidate *c_out,
                          pp_err *err)
{
    pp_search *search = o->search;
    pp_candidate c = search->pool.candidate[o->at.like];
    c.schedule = &pp_planned_schedule;
    c.group_size = 0;
    c.setup = (uint32_t)o->at.setup;
    c.legal = true;
    c.least_step_ns = pp_ordering_setup(o)->least_step_ns;
    const pp_err refusal = search->progress.refusal;
    pp_status status = pp_candidate_simulate_orders(search, &c, &o->set, order, o->set.count, err);
    search->progress.refusal = refusal; /* the hang of one order is not a refusal by a rule */
    *c_out = c;
    return status;
}

/* True if it does not fit, for want of memory alone. */
static bool lacks_memory(const pp_candidate *c)
{
    return c->status != PP_CANDIDATE_OK && c->legal && c->short_bytes > 0;
}

/* True if the step is measurably shorter, or the recomputation may still be fitted to the order. */
static bool would_win(const pp_candidate *c, double best_score)
{
    return c->recompute == PP_RECOMPUTE_STAGES ||
           pp_candidate_score(c, c->step_ns) * PP_MEASURABLE_PART <
               best_score * (PP_MEASURABLE_PART - 1);
}

/* True if `a` is better: it fits, and ends earlier or, as early but for 0.01 %, needs less. */
static bool is_better(const pp_candidate *a, const pp_candidate *b)
{
    if (a->status != PP_CANDIDATE_OK || b->status != PP_CANDIDATE_OK)
        return a->status == PP_CANDIDATE_OK && b->status != PP_CANDIDATE_OK;
    const pp_ns differ =
        (a->step_ns < b->step_ns ? b->step_ns - a->step_ns : a->step_ns - b->step_ns);
    return differ > b->step_ns / SAME_STEP_PART ? a->step_ns < b->step_ns
                                                : a->peak_bytes < b->peak_bytes;
}

/* Simulates the other orders of an only replica; takes the one that is best in the framework. */
static pp_status try_others(pp_ordering *o, pp_candidate *c, pp_err *err)
{
    const pp_plan_request *request = o->search->problem->request;
    const double ops = pp_search_ops(o->search, c);
    for (size_t k = 0; k < o->others && !pp_budget_is_over(request, ops); k++) {
        pp_candidate now;
        pp_status status = simulate(o, &o->other[k].order, &now, err);
        if (status)
            return status;
        if (!is_better(&now, c))
            continue;
        const pp_replica_order worse = o->share[0];
        o->share[0] = o->other[k];
        o->other[k] = worse;
        o->makespan = o->share[0].makespan;
        *c = now;
    }
    return PP_OK;
}

/* How far the order is from the bound. */
static pp_reason gap_of(const pp_ordering *o)
{
    return (pp_reason){ .kind = PP_REASON_ORDER_GAP,
                        .gap =
                            o->limits.ticks ? (double)o->makespan / (double)o->limits.ticks - 1 : 0,
                        .order_bound = o->limits.largest };
}

/* Simulates the orders that were found; keeps them if they fit and cannot hang. lacks_out: they
 * would win, but do not fit for want of memory. */
static pp_status try_orders(pp_ordering *o, double best_score, pp_free_orders_outcome *outcome,
                            bool *lacks_out, pp_err *err)
{
    pp_search *search = o->search;
    pp_candidate c;
    pp_order **order = pp_alloc_array(o->set.count, sizeof *order);
    if (!order)
        return pp_err_nomem(err);
    for (uint32_t i = 0; i < o->set.count; i++)
        order[i] = o->share[i].order;
    pp_status status = simulate(o, order, &c, err);
    free(order);
    if (!status)
        status = try_others(o, &c, err);
    *lacks_out = !status && lacks_memory(&c) && would_win(&c, best_score);
    if (!status && c.status != PP_CANDIDATE_OK)
        *outcome =
            (pp_free_orders_outcome){ .verdict = PP_FREE_ORDERS_UNUSABLE, .reason = c.reason };
    if (status || c.status != PP_CANDIDATE_OK)
        return status;
    c.reason = gap_of(o);
    status = keep(o, &c, err);
    return status ? status : pp_recompute_refine_planned(search, search->pool.count - 1, err);
}

/* Takes one of `parts` equal parts of the budget that is left. Returns false if nothing is left. */
static bool fill_share(const pp_search *search, size_t parts, int64_t iterations_used,
                       pp_budget_share *share_out)
{
    const pp_plan_request *request = search->problem->request;
    *share_out = (pp_budget_share){ .request = request };
    if (request->stop && request->spent) {
        const double end = 1 - pp_budget_part_of_result(request, search->progress.ops);
        share_out->from = request->spent(request->context);
        share_out->to = share_out->from + (end - share_out->from) / (double)parts;
        return !search->progress.stopped && share_out->from < end;
    }
    if (!request->max_simulations)
        return true;
    share_out->iterations = ((int64_t)request->max_simulations -
                             (int64_t)search->progress.simulated - iterations_used) /
                            (int64_t)parts;
    return share_out->iterations > 0;
}

/* The most setups that are searched, of those that were opened. */
enum { SEARCHED_MOST = 4 };

/* The setup to search next: that of the best named order, then by the estimates. worth_out: how
 * many setups are worth a search. */
static pp_ordering *next_ordering(pp_ordering *list, size_t count, double best_score,
                                  size_t *worth_out)
{
    pp_ordering *next = NULL;
    *worth_out = 0;
    for (size_t i = 0; i < count; i++) {
        pp_ordering *o = &list[i];
        if (o->done || !pp_is_worth(o->least, o->score, best_score))
            continue;
        ++*worth_out;
        if (!next || (next != list && o->score < next->score))
            next = o;
    }
    return next;
}

/* The estimate is for framework ideal, so it is not the step of a framework that communicates. */
static double with_estimate(const pp_ordering *o, double best_score)
{
    return o->search->progress.communicates ? best_score : fmin(best_score, o->score);
}

/* Searches one setup with its part of the budget, or with all that is left if no other setup is
 * worth a part. searched_out: whether there was any budget left. */
static pp_status search_one(pp_ordering *o, pp_ordering *list, size_t count, double best_score,
                            size_t parts, int64_t *used, bool *searched_out, pp_err *err)
{
    pp_budget_share has_budget;
    pp_status status = PP_OK;
    *searched_out = false;
    while (!status && parts && fill_share(o->search, parts, *used, &has_budget)) {
        *searched_out = true;
        *used += has_budget.iterations;
        status = pp_ordering_search(o, &has_budget, err);
        size_t others;
        next_ordering(list, count, with_estimate(o, best_score), &others);
        bool limited = has_budget.iterations || has_budget.to > 0;
        parts = limited && parts > 1 && !others && o->score > o->least ? 1 : 0;
    }
    return status;
}

/* Searches one setup and simulates what was found; again with more memory reserved for buffers if
 * they lack it. Nothing is found if no order leaves that much. searched_out: as for search_one. */
static pp_status search_and_try(pp_ordering *o, pp_ordering *list, size_t count, double best_score,
                                size_t parts, int64_t *used, bool *searched_out,
                                pp_free_orders_outcome *outcome, pp_err *err)
{
    bool again = true;
    for (int k = 0; again; k++) {
        bool searched;
        pp_err why = pp_err_like(err);
        pp_status status = search_one(o, list, count, best_score, parts, used, &searched, &why);
        *searched_out = searched || k > 0;
        if (!status && searched)
            status = try_orders(o, best_score, outcome, &again, &why);
        again = again && searched && k < RETRIES_MOST && o->search->progress.communicates;
        if (!status && again)
            status = pp_ordering_retry(o, &why);
        if (status == PP_INFEASIBLE) /* a microbatch alone does not fit beside the buffers */
            return PP_OK;
        if (status) {
            *err = why;
            return status;
        }
    }
    return PP_OK;
}

/* Takes an order with a lower peak for a candidate that was found in this setup, if one ends as
 * early. One whose recomputation was fitted to its order uses the memory, and keeps it. */
static pp_status shrink(pp_ordering *o, size_t index, pp_err *err)
{
    pp_search *search = o->search;
    pp_planned *planned = pp_pool_planned(&search->pool, index);
    bool shrunk;
    if (o->set.count > 1 || search->pool.candidate[index].recompute == PP_RECOMPUTE_MICROBATCHES)
        return PP_OK;
    o->share[0].order = planned->order[0];
    planned->order[0] = NULL;
    pp_candidate c;
    pp_status status = pp_ordering_shrink(o, &shrunk, err);
    if (!status && shrunk && !(status = simulate(o, &o->share[0].order, &c, err)))
        status = try_others(o, &c, err);
    planned->order[0] = o->share[0].order;
    o->share[0].order = NULL;
    if (status || !shrunk)
        return status;
    c.reason = gap_of(o);
    search->pool.candidate[index] = c;
    return PP_OK;
}

/* Searches the opened setups; the order that wins is searched again for a lower peak. found: the
 * best candidate that was found, or SIZE_MAX. */
static pp_status search_all(pp_search *search, pp_ordering *list, size_t count, double best_score,
                            bool *ended_out, size_t *found, pp_free_orders_outcome *outcome,
                            pp_err *err)
{
    int64_t used = 0;
    size_t worth;
    const double given = best_score;
    pp_ordering *o, *winner = NULL;
    for (size_t left = SEARCHED_MOST;
         left > 0 && (o = next_ordering(list, count, best_score, &worth)); left--) {
        bool searched;
        size_t before = search->pool.count;
        o->done = true;
        pp_status status = search_and_try(o, list, count, best_score, worth < left ? worth : left,
                                          &used, &searched, outcome, err);
        *ended_out = *ended_out || !searched;
        if (status)
            return status;
        if (search->pool.count == before)
            continue;
        const pp_candidate *c = &search->pool.candidate[before];
        double score = pp_candidate_score(c, c->step_ns);
        if (*found == SIZE_MAX || score < best_score) {
            *found = before;
            winner = o;
        }
        if (score < best_score && search->problem->request->found)
            search->problem->request->found(search->problem->request->context, c);
        best_score = fmin(best_score, score);
    }
    return winner && best_score < given ? shrink(winner, *found, err) : PP_OK;
}

/* Opens the setups that may win, with orders to begin with. Once there is a good one, those that
 * are far behind are not opened, nor those without a named order if the framework's communication
 * decides how long orders take. */
static pp_status open_all(pp_search *search, const pp_setup_candidates *setup_candidates,
                          double best_score, pp_ordering *list, size_t *count, pp_err *err)
{
    double lost = 1;
    for (size_t i = 0; i < setup_candidates->count; i++) {
        const pp_setup_candidate *at = &setup_candidates->row[i];
        lost = i == 0 && !at->seeded ? 0 : lost;
        const pp_setup *setup = &search->pool.setup[at->setup];
        const pp_candidate on = { .parallel = setup->context.parallel };
        double least = pp_candidate_score(&on, setup->least_step_ns);
        if (!pp_is_worth(least, at->score, best_score) || (!at->seeded && lost > LOST_MOST))
            continue;
        if (*count && pp_budget_time_is_up(search->problem->request)) {
            search->progress.stopped = true;
            break;
        }
        pp_status status = pp_ordering_open(&list[(*count)++], search, at, false, err);
        if (status)
            return status;
        best_score = with_estimate(&list[*count - 1], best_score);
        if (at->seeded)
            lost = fmin(lost, list[*count - 1].lost);
    }
    return PP_OK;
}

/* When an order is wanted and none was found within the budget, that of the best named schedule
 * must do: it fits. */
static pp_status take_seed(pp_search *search, const pp_setup_candidates *setup_candidates,
                           size_t *found, pp_free_orders_outcome *outcome, pp_err *err)
{
    const size_t before = search->pool.count;
    for (size_t i = 0; i < setup_candidates->count && *found == SIZE_MAX; i++) {
        pp_ordering o = { 0 };
        pp_status status = PP_OK;
        bool lacks;
        if (!setup_candidates->row[i].seeded)
            continue;
        status = pp_ordering_open(&o, search, &setup_candidates->row[i], true, err);
        if (!status && o.named)
            status = try_orders(&o, 0, outcome, &lacks, err);
        pp_ordering_free(&o);
        if (status)
            return status;
        *found = search->pool.count > before ? before : SIZE_MAX;
    }
    return PP_OK;
}

static pp_status open_and_search(pp_search *search, double best_score, bool *ended_out,
                                 size_t *found, pp_free_orders_outcome *outcome, pp_err *err)
{
    const pp_setup_candidates setup_candidates = pp_search_setup_candidates(search, best_score);
    const pp_plan_request *request = search->problem->request;
    const bool must = request->orders == PP_ORDERS_PLANNED;
    const bool limited = request->stop || request->max_simulations;
    pp_ordering list[PP_SETUP_CANDIDATES_ALL] = { 0 };
    size_t count = 0;
    pp_status status = PP_OK;
    pp_budget_share has_budget;
    if (must)
        best_score = HUGE_VAL;
    *ended_out = setup_candidates.count && !fill_share(search, 1, 0, &has_budget);
    if (!*ended_out)
        status = open_all(search, &setup_candidates, best_score, list, &count, err);
    if (!status && !*ended_out)
        status = search_all(search, list, count, best_score, ended_out, found, outcome, err);
    for (size_t i = 0; i < count; i++)
        pp_ordering_free(&list[i]);
    if (!status && must && limited && *found == SIZE_MAX)
        status = take_seed(search, &setup_candidates, found, outcome, err);
    return status;
}

/* Sets the outcome of the search. UNUSABLE remains if nothing else was found. */
static void conclude(const pp_candidate *named, const pp_candidate *found, bool taken, bool ended,
                     pp_free_orders_outcome *outcome)
{
    if (!found && (!named || outcome->verdict == PP_FREE_ORDERS_UNUSABLE))
        return;
    *outcome = (pp_free_orders_outcome){ .named = named ? named->schedule : NULL };
    if (!found) {
        outcome->verdict = ended ? PP_FREE_ORDERS_UNSEARCHED : PP_FREE_ORDERS_HOPELESS;
        return;
    }
    outcome->reason = found->reason;
    if (!named) {
        outcome->verdict = PP_FREE_ORDERS_ONLY;
        return;
    }
    const double score = pp_candidate_score(named, named->step_ns);
    outcome->gain = 1 - pp_candidate_score(found, found->step_ns) / score;
    outcome->verdict = taken && outcome->gain * PP_MEASURABLE_PART >= 1 ? PP_FREE_ORDERS_TAKEN
                                                                        : PP_FREE_ORDERS_NO_GAIN;
}

pp_status pp_search_plan_orders(pp_search *search, size_t *best,
                                pp_free_orders_outcome *outcome_out, pp_err *err)
{
    pp_free_orders_outcome outcome = { .verdict = PP_FREE_ORDERS_NOT_ASKED };
    const pp_plan_request *request = search->problem->request;
    bool must = request->orders == PP_ORDERS_PLANNED;
    size_t named = *best;
    *outcome_out = outcome;
    if (request->orders == PP_ORDERS_NAMED || request->schedule || request->only ||
        (request->expert_tokens && request->lengths))
        return PP_OK;
    const pp_candidate *c = named == SIZE_MAX ? NULL : &search->pool.candidate[named];
    /* Setups are compared with the best named order, not with a score_limit from another search:
     * one whose probe is far above that limit may still end below it. */
    const double score = c                          ? pp_candidate_score(c, c->step_ns)
                         : request->score_limit > 0 ? request->score_limit
                                                    : HUGE_VAL;
    size_t found = SIZE_MAX;
    bool ended;
    pp_status status = open_and_search(search, score, &ended, &found, &outcome, err);
    if (status)
        return status;
    if (found == SIZE_MAX && must && named != SIZE_MAX)
        return pp_err_set(err, PP_INFEASIBLE, pp_err_name(err, PP_FIELD_SCHEDULE),
                          "no order was found that executor %s can run within the memory and the "
                          "budget; leave this option out, or increase %s",
                          search->problem->framework->name, pp_err_name(err, PP_FIELD_BUDGET));
    c = named == SIZE_MAX ? NULL : &search->pool.candidate[named];
    const pp_candidate *f = found == SIZE_MAX ? NULL : &search->pool.candidate[found];
    bool taken = f && (must || !c ||
                       pp_candidate_score(f, f->step_ns) * PP_MEASURABLE_PART <
                           score * (PP_MEASURABLE_PART - 1));
    conclude(c, f, taken, ended, &outcome);
    *outcome_out = outcome;
    *best = taken ? found : named;
    return PP_OK;
}
