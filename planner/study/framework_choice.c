/* Chooses the framework, the size protocol or the layout of communicators if they are free. The
 * best pipelines under framework ideal rate every alternative; the best-rated few are searched in
 * full, and the plainest one within 0.1 % of the fastest is taken. At most three whole searches.
 * Method: docs/explanation/planning-frameworks.md. */
#include "planner/study/framework_choice.h"

#include "planner/search/search.h"
#include "planner/study/budget_slice.h"
#include "planner/study/framework_list.h"
#include "planner/study/gpu_splits.h"
#include "planner/study/pack_pipeline.h"
#include "sim/base/alloc.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Alternatives are rated by this many of the fastest pipelines, and by the fastest of every
 * schedule. */
enum { PIPELINES_MOST = 4 };

/* If a rating is further behind the fastest pipeline than this factor, other schedules are
 * tried. */
#define BEHIND_MOST 1.05

/* Parts of the budget: the pipelines have it up to PIPELINES_END, the rating up to RATING_END, and
 * whole searches have the rest. */
#define PIPELINES_END 0.2
#define RATING_END 0.4

static void free_settings(pp_framework_choice *h)
{
    for (size_t i = 0; i < h->choices; i++)
        pp_search_result_free(&h->choice[i]);
    pp_search_result_free(&h->base);
    free(h->row);
}

/* True if this part of the budget is used up. */
static bool is_over(const pp_framework_choice *h, double part)
{
    const pp_plan_request *w = h->request;
    const double most = part * (double)w->max_simulations;
    return (w->max_simulations && (double)(h->simulated + h->granted) >= most) ||
           (w->stop && (w->stop(w->context) || (w->spent && w->spent(w->context) >= part)));
}

/* Gives `one` one of `parts` equal parts of the budget that is left up to `end`. slice: must
 * outlive `one`. */
static void give_budget(const pp_framework_choice *h, double end, size_t parts,
                        pp_budget_slice *slice, pp_plan_request *one)
{
    const pp_plan_request *w = h->request;
    const double from = w->stop && w->spent ? w->spent(w->context) : 0;
    const double left = end * (double)w->max_simulations - (double)(h->simulated + h->granted);
    pp_budget_slice_cut(slice, w, from, from + (end - from) / (double)parts, one);
    if (w->max_simulations)
        one->max_simulations = left > 0 ? 1 + (uint64_t)(left / (double)parts) : 1;
}

/* The request without the settings that are free. Every alternative takes at least as long. */
static pp_plan_request bare(const pp_plan_request *request)
{
    pp_plan_request one = *request;
    const pp_size_protocol shapes = request->exchange.shapes;
    one.free = (pp_free_settings){ .framework = false };
    one.packings = NULL;
    one.jitter = NULL;
    one.why = false;
    one.tie = 0; /* the fastest pipelines rate the alternatives */
    if (request->free.framework) {
        one.framework = NULL;
        one.exchange = (pp_exchange_options){ .tensors = 0 };
        one.buffers = (pp_buffer_settings){ .has_recv = false };
        if (shapes.kind >= PP_SIZES_PADDED)
            one.exchange.shapes = shapes; /* the padding is in the data */
    }
    if (request->free.shapes)
        one.exchange.shapes = (pp_size_protocol){ .kind = PP_SIZES_PLAN };
    if (request->free.communicators)
        one.switches.value.communicators = PP_COMMUNICATORS_DEFAULT;
    return one;
}

/* Finds the best pipelines under framework ideal: of named schedules, or of a free order if none of
 * these fits. Fails: like pp_plan_search. */
static pp_status find_base(pp_framework_choice *h, pp_err *err)
{
    const pp_plan_request *request = h->request;
    pp_budget_slice slice;
    pp_err why = pp_err_like(err);
    pp_plan_request one = bare(request);
    one.orders = PP_ORDERS_NAMED;
    one.no_advice = true;
    give_budget(h, PIPELINES_END, 1, &slice, &one);
    one.found = NULL;
    one.missed = NULL;
    pp_status status = pp_plan_splits(&one, &h->base, &why);
    if (status == PP_INFEASIBLE ||
        status == PP_UNDECIDED) { /* with free orders, and all the time */
        one = bare(request);
        why = (pp_err){ 0 };
        status = pp_plan_splits(&one, &h->base, &why);
    }
    if (status)
        *err = why;
    else
        h->simulated += h->base->simulated;
    return status;
}

/* The request for this alternative alone. */
static pp_plan_request request_for(const pp_plan_request *request, const pp_framework_setting *a)
{
    pp_plan_request one = *request;
    one.free = (pp_free_settings){ .framework = false };
    one.framework = a->framework;
    one.exchange.shapes = a->shapes;
    one.switches.value.communicators = a->communicators;
    return one;
}

/* The request for everything that is allowed under the alternative; if GPUs are to be split, with
 * the pipeline's degrees. */
static pp_plan_request schedules_of(const pp_framework_choice *h, const pp_framework_setting *a,
                                    const pp_candidate *c)
{
    pp_plan_request one = request_for(h->request, a);
    one.packings = NULL;
    one.jitter = NULL;
    if (one.gpus) {
        one.parallel = c->parallel;
        one.parallel.vpp = h->request->parallel.vpp;
        one.gpus = 0;
    }
    if (!one.lengths)
        one.global_batch_size = h->base->plan->global_batch_size;
    return one;
}

/* The request for this pipeline alone. */
static pp_plan_request pipeline_of(const pp_framework_choice *h, const pp_framework_setting *a,
                                   const pp_candidate *c)
{
    const pp_plan_request all = schedules_of(h, a, c);
    pp_plan_request one = pp_request_pipeline(&all, c);
    one.group_end = all.group_end;
    one.group_count = all.group_count;
    one.group_size = all.group_size;
    return one;
}

/* Rates by named schedules of the request, as far as they beat the alternative's rating. A refusal
 * is not a failure. */
static pp_status rate_by(pp_framework_choice *h, pp_framework_setting *a,
                         const pp_plan_request *request, pp_err *err)
{
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_budget_slice slice;
    pp_plan_request one = *request;
    pp_err why = pp_err_like(err);
    size_t best = SIZE_MAX;
    one.orders = PP_ORDERS_NAMED;
    one.score_limit = a->rated < HUGE_VAL ? a->rated : DBL_MAX;
    give_budget(h, RATING_END, h->count - (size_t)(a - h->row), &slice, &one);
    one.found = NULL;
    one.missed = NULL;
    pp_status status = pp_search_solve(&search, &one, &best, &why);
    h->simulated += search.progress.simulated;
    if (status == PP_NOMEM) {
        *err = why;
        return status;
    }
    if (status)
        return PP_OK;
    a->least = fmin(a->least, pp_pool_least(&search.pool));
    const pp_candidate *c = best == SIZE_MAX ? NULL : &search.pool.candidate[best];
    const double score = c ? pp_candidate_score(c, c->step_ns) : HUGE_VAL;
    if (score < a->rated) {
        a->rated = score;
        a->best = *c;
    }
    return PP_OK;
}

/* Rates by the `at`-th pipeline if that is faster under framework ideal than the rating. After the
 * last pipeline, rates by all schedules if the rating is far behind the first one. */
static pp_status rate(pp_framework_choice *h, pp_framework_setting *a,
                      const pp_candidate *const *pipeline, size_t count, size_t at, pp_err *err)
{
    const pp_candidate *c = pipeline[at < count ? at : 0];
    const double least = pp_candidate_score(c, c->step_ns);
    if (a->rated <= (at < count ? least : BEHIND_MOST * least) || is_over(h, RATING_END))
        return PP_OK;
    const pp_plan_request one = at < count ? pipeline_of(h, a, c) : schedules_of(h, a, c);
    a->seen = at == count;
    return rate_by(h, a, &one, err);
}

/* Lists the best one first, then those that ran, by speed, including the fastest of every
 * schedule. */
static size_t list_pipelines(const pp_search_result *base, const pp_candidate **pipeline)
{
    size_t count = 0;
    for (size_t i = 0; i < base->count; i++) {
        const pp_candidate *c = &base->candidate[i];
        bool first = true;
        for (size_t k = 0; k < count; k++)
            first = first && pipeline[k]->schedule != c->schedule;
        if (c->status == PP_CANDIDATE_OK && pp_candidate_is_named(c) &&
            (first || count < PIPELINES_MOST))
            pipeline[count++] = c;
    }
    return count;
}

static pp_status rate_all(pp_framework_choice *h, pp_err *err)
{
    const pp_candidate **pipeline = pp_alloc_array(h->base->count, sizeof *pipeline);
    if (!pipeline)
        return pp_err_nomem(err);
    const size_t count = list_pipelines(h->base, pipeline);
    pp_status status = PP_OK;
    for (size_t at = 0; count && at <= count; at++) {
        for (size_t i = 0; i < h->count && !status; i++)
            status = rate(h, &h->row[i], pipeline, count, at, err);
    }
    free(pipeline);
    return status;
}

/* Sorts the best rated first, then those that tie with it, the plainer ones first, then the others
 * by their rating. */
static bool comes_before(const pp_framework_choice *h, const pp_framework_setting *a,
                         const pp_framework_setting *b, double least)
{
    if (h->searches && pp_is_tie(b->rated, least))
        return false; /* b is plainer */
    return a->rated < b->rated;
}

/* The alternative to search next; NULL if there is none. */
static pp_framework_setting *next_alternative(const pp_framework_choice *h)
{
    pp_framework_setting *next = NULL;
    double least = HUGE_VAL;
    for (size_t i = 0; i < h->count; i++)
        least = fmin(least, h->row[i].rated);
    for (size_t i = 0; i < h->count; i++) {
        pp_framework_setting *a = &h->row[i];
        const bool worth = least == HUGE_VAL || pp_is_tie(a->rated, least) ||
                           pp_is_worth(a->least, a->rated, least);
        if (!a->searched && worth && (!next || comes_before(h, a, next, least)))
            next = a;
    }
    return next;
}

static double score_of(const pp_search_result *choice)
{
    const pp_candidate *c = &choice->candidate[0];
    return pp_candidate_score(c, c->ranked_ns ? c->ranked_ns : c->step_ns);
}

/* The least score of any plan of the result, recommended or not. */
static double least_of(const pp_search_result *choice)
{
    const pp_candidate *fastest = &choice->recommendation.fastest;
    const bool has = choice->recommendation.tie > 0 && !choice->candidate[0].ranked_ns;
    return has ? fmin(score_of(choice), pp_candidate_score(fastest, fastest->step_ns))
               : score_of(choice);
}

/* Replaces a result that a too small budget has left by the pipeline that has the rating, if that
 * is better. One pipeline is a few simulations, but packings and jitter are as many as there is
 * budget for. */
static pp_status choose_rated(pp_framework_choice *h, const pp_framework_setting *a,
                              pp_search_result **choice, const pp_err *err)
{
    pp_search_result *rated PP_CLEANUP(pp_search_result_free) = NULL;
    pp_plan_request one = pipeline_of(h, a, &a->best);
    pp_budget_slice slice;
    pp_err why = pp_err_like(err);
    one.packings = h->request->packings;
    one.jitter = h->request->jitter;
    if (one.packings || one.jitter) {
        give_budget(h, 1, 1, &slice, &one);
        h->granted += one.max_simulations;
    }
    pp_status status = pp_plan_splits(&one, &rated, &why);
    if (status || (*choice && least_of(*choice) <= least_of(rated)))
        return status == PP_NOMEM || !*choice ? status : PP_OK;
    rated->simulated += *choice ? (*choice)->simulated : 0;
    rated->stopped = true;
    pp_search_result_free(choice);
    *choice = rated;
    rated = NULL; /* the caller's now */
    return PP_OK;
}

/* Searches one alternative in full, with a part of the budget that is left. Finding no plan is not
 * a failure. */
static pp_status search_one(pp_framework_choice *h, pp_framework_setting *a, pp_err *err)
{
    const size_t all =
        h->count < PP_FRAMEWORK_SETTINGS_SEARCHED ? h->count : PP_FRAMEWORK_SETTINGS_SEARCHED;
    const bool limited = h->request->max_simulations || h->request->stop;
    pp_plan_request one = request_for(h->request, a);
    pp_search_result *choice = NULL;
    pp_budget_slice slice;
    pp_err why = pp_err_like(err);
    give_budget(h, 1, h->searches < all ? all - h->searches : 1, &slice, &one);
    h->granted += one.max_simulations;
    one.no_advice = true;
    one.missed = NULL;
    a->searched = true;
    h->searches++;
    pp_status status = pp_plan_splits(&one, &choice, &why);
    if (status != PP_NOMEM && limited && a->rated < HUGE_VAL && one.orders != PP_ORDERS_PLANNED &&
        (status || least_of(choice) > a->rated))
        status = choose_rated(h, a, &choice, err);
    if (status)
        return status == PP_NOMEM ? pp_err_nomem(err) : PP_OK;
    a->best = choice->candidate[0];
    a->score = score_of(choice);
    a->fastest = least_of(choice);
    h->searched_simulations += choice->simulated;
    h->stopped |= choice->stopped;
    h->of[h->choices] = a;
    h->choice[h->choices++] = choice;
    return PP_OK;
}

/* Searches the best alternatives. After the first one, none is begun without any budget left. */
static pp_status search_best(pp_framework_choice *h, pp_err *err)
{
    pp_status status = PP_OK;
    while (h->choices < PP_FRAMEWORK_SETTINGS_SEARCHED && !status) {
        pp_framework_setting *a = h->choices && is_over(h, 1) ? NULL : next_alternative(h);
        if (!a)
            break;
        status = search_one(h, a, err);
    }
    return status;
}

/* The first alternative whose fastest plan ties with that of any. */
static size_t take(const pp_framework_choice *h)
{
    double least = HUGE_VAL;
    size_t taken = SIZE_MAX;
    for (size_t i = 0; i < h->choices; i++)
        least = fmin(least, h->of[i]->fastest);
    for (size_t i = 0; i < h->choices; i++) {
        if (pp_is_tie(h->of[i]->fastest, least) && (taken == SIZE_MAX || h->of[i] < h->of[taken]))
            taken = i;
    }
    return taken;
}

/* Called when nothing that was searched fits: fails like the search of the best-rated
 * alternative. */
static pp_status refuse(const pp_framework_choice *h, pp_search_result **choice_out, pp_err *err)
{
    const pp_framework_setting *a = &h->row[0];
    for (size_t i = 1; i < h->count; i++)
        a = h->row[i].rated < a->rated ? &h->row[i] : a;
    const pp_plan_request one = request_for(h->request, a);
    return pp_plan_splits(&one, choice_out, err);
}

pp_status pp_plan_frameworks(const pp_plan_request *request, pp_search_result **choice_out,
                             pp_err *err)
{
    pp_framework_choice h PP_CLEANUP(free_settings) = { .request = request };
    pp_status status = find_base(&h, err);
    if (status || (status = pp_framework_choice_list(&h, err)) || (status = rate_all(&h, err)) ||
        (status = search_best(&h, err)))
        return status;
    const size_t taken = take(&h);
    if (taken == SIZE_MAX)
        return refuse(&h, choice_out, err);
    pp_search_result *choice = h.choice[taken];
    if ((status = pp_framework_choice_describe(&h, h.of[taken], choice, err)))
        return status;
    choice->simulated = h.simulated + h.searched_simulations;
    choice->stopped |= h.stopped;
    *choice_out = choice;
    h.choice[taken] = NULL; /* the caller's now */
    return PP_OK;
}
