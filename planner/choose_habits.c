/* A search in which executor, shape protocol or communicators are free: each alternative is rated
 * by the pipelines that do best without any such habit, the best few are searched. Method:
 * docs/planning.md, section 2. */
#include "planner/habits_int.h"
#include "planner/pack_int.h"

#include "sim/alloc.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pipelines that alternatives are rated by: so many of the fastest, and that of every schedule. */
enum { PIPELINES_MOST = 4 };

/* So far behind the fastest pipeline a rating may be, or other schedules are tried. */
#define BEHIND_MOST 1.05

/* Of the budget: up to here for the pipelines, then for rating; the rest for whole searches. */
#define PIPELINES_END 0.2
#define RATING_END 0.4

static void close_search(pp_search *search)
{
    pp_search_close(search);
}

static void free_habits(pp_habits *h)
{
    for (size_t i = 0; i < h->choices; i++)
        pp_choice_free(&h->choice[i]);
    pp_choice_free(&h->base);
    free(h->row);
}

/* The wish without any habit that is free: what every alternative takes at least. */
static pp_wish bare(const pp_wish *wish)
{
    pp_wish one = *wish;
    const pp_shapes shapes = wish->exchange.shapes;
    one.free = (pp_free_habits){ .executor = false };
    one.packings = NULL;
    one.jitter = NULL;
    one.why = false;
    if (wish->free.executor) {
        one.executor = NULL;
        one.exchange = (pp_exchange){ .tensors = 0 };
        one.recv_buffers = one.send_buffers = one.return_outputs = NULL;
        if (shapes.kind == PP_SHAPES_PADDED || shapes.kind == PP_SHAPES_BUCKET)
            one.exchange.shapes = shapes; /* that is in the data */
    }
    if (wish->free.shapes)
        one.exchange.shapes = (pp_shapes){ .kind = PP_SHAPES_PLAN };
    if (wish->free.communicators)
        one.switches.value.communicators = PP_COMMUNICATORS_UNSAID;
    return one;
}

/* The best pipelines without habits, of named schedules; of a free order where none of these fits.
 * Fails: as pp_choose. */
static pp_status find_base(pp_habits *h, pp_err *err)
{
    const pp_wish *wish = h->wish;
    pp_slice slice;
    pp_err why = { 0 };
    pp_wish one = bare(wish);
    one.orders = PP_ORDERS_NAMED;
    one.no_advice = true;
    pp_slice_cut(&slice, wish, 0, PIPELINES_END, &one);
    one.found = NULL;
    one.missed = NULL;
    if (wish->max_simulations)
        one.max_simulations = 1 + (uint64_t)(PIPELINES_END * (double)wish->max_simulations);
    pp_status status = pp_choose(&one, &h->base, &why);
    if (status == PP_INFEASIBLE) {
        one = bare(wish);
        why = (pp_err){ 0 };
        status = pp_choose(&one, &h->base, &why);
    }
    if (status)
        *err = why;
    else
        h->simulated += h->base->simulated;
    return status;
}

/* The alternative alone. */
static pp_wish wish_for(const pp_wish *wish, const pp_alternative *a)
{
    pp_wish one = *wish;
    one.free = (pp_free_habits){ .executor = false };
    one.executor = a->executor;
    one.exchange.shapes = a->shapes;
    one.switches.value.communicators = a->communicators;
    return one;
}

/* The pipeline under the alternative. */
static pp_wish pipeline_of(const pp_habits *h, const pp_alternative *a, const pp_candidate *c)
{
    const pp_wish alone = wish_for(h->wish, a);
    pp_wish one = pp_wish_pipeline(&alone, c);
    one.gpus = 0;
    one.group_end = alone.group_end;
    one.group_count = alone.group_count;
    one.group_size = alone.group_size;
    if (!one.lengths)
        one.global_batch_size = h->base->plan->global_batch_size;
    return one;
}

/* Named schedules of the wish, as far as they beat the alternative's rating. That something is
 * refused is no failure. */
static pp_status rate_by(pp_habits *h, pp_alternative *a, const pp_wish *wish, pp_err *err)
{
    pp_search search PP_CLEANUP(close_search) = { 0 };
    pp_wish one = *wish;
    pp_err why = { 0 };
    size_t best = SIZE_MAX;
    one.orders = PP_ORDERS_NAMED;
    one.score_limit = a->rated < HUGE_VAL ? a->rated : DBL_MAX;
    pp_status status = pp_search_solve(&search, &one, &best, &why);
    h->simulated += search.simulated;
    if (status == PP_NOMEM) {
        *err = why;
        return status;
    }
    if (status)
        return PP_OK;
    for (size_t i = 0; i < search.setup_count; i++) {
        const pp_setup *setup = &search.setup[i];
        const pp_candidate on = { .parallel = setup->context.parallel };
        if (setup->legal && setup->bound.fits && !setup->unseen)
            a->least = fmin(a->least, pp_candidate_score(&on, setup->least_step_ns));
    }
    if (best == SIZE_MAX)
        return PP_OK;
    const pp_candidate *c = &search.candidate[best];
    const double score = pp_candidate_score(c, c->step_ns);
    if (score < a->rated) {
        a->rated = score;
        a->best = *c;
    }
    return PP_OK;
}

static bool is_over(const pp_habits *h, double part)
{
    const pp_wish *w = h->wish;
    const double most = part * (double)w->max_simulations;
    return (w->max_simulations && (double)h->simulated >= most) ||
           (w->stop && (w->stop(w->context) || (w->spent && w->spent(w->context) >= part)));
}

/* All named schedules on the pipeline's split, or on any that is wished. */
static pp_wish schedules_of(const pp_habits *h, const pp_alternative *a, const pp_candidate *c,
                            bool any_split)
{
    const pp_wish *wish = h->wish;
    pp_wish one = pipeline_of(h, a, c);
    one.switches = wish_for(wish, a).switches;
    one.schedule = wish->schedule;
    one.partition = wish->partition;
    one.parallel.vpp = wish->parallel.vpp;
    if (any_split) {
        one.micro_batch_size = wish->micro_batch_size;
        one.parallel = wish->gpus ? one.parallel : wish->parallel;
    }
    return one;
}

/* Rates by one pipeline after the other, until the next one is slower even without habits; where
 * that leaves it far behind, by other schedules on that split; where nothing fits, on any. */
static pp_status rate(pp_habits *h, pp_alternative *a, const pp_candidate *const *pipeline,
                      size_t count, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; i < count + 2 && count && !status; i++) {
        const pp_candidate *c = pipeline[i < count ? i : 0];
        const double least = pp_candidate_score(c, c->step_ns);
        const double enough = i < count ? least : i == count ? BEHIND_MOST * least : DBL_MAX;
        if (is_over(h, RATING_END))
            return PP_OK;
        if (a->rated <= enough)
            continue;
        const pp_wish one = i < count ? pipeline_of(h, a, c) : schedules_of(h, a, c, i > count);
        a->seen = true;
        status = rate_by(h, a, &one, err);
    }
    return status;
}

static pp_status rate_all(pp_habits *h, pp_err *err)
{
    const pp_choice *base = h->base;
    const pp_candidate **pipeline = pp_alloc_array(base->count, sizeof *pipeline);
    if (!pipeline)
        return pp_err_nomem(err);
    size_t count = 0;
    for (size_t i = 0; i < base->count; i++) { /* the best one first, those that ran by speed */
        const pp_candidate *c = &base->candidate[i];
        bool first = true;
        for (size_t k = 0; k < count; k++)
            first = first && pipeline[k]->schedule != c->schedule;
        if (c->status == PP_CANDIDATE_OK && pp_candidate_is_named(c) &&
            (first || count < PIPELINES_MOST))
            pipeline[count++] = c;
    }
    pp_status status = PP_OK;
    for (size_t i = 0; i < h->count && !status; i++)
        status = rate(h, &h->row[i], pipeline, count, err);
    free(pipeline);
    return status;
}

/* The best rated first, then those that are no more than a tie behind it, the plainer ones first,
 * then the others by their rating. */
static bool comes_before(const pp_habits *h, const pp_alternative *a, const pp_alternative *b,
                         double least)
{
    if (h->searches && pp_is_tie(b->rated, least))
        return false; /* b is plainer */
    return a->rated < b->rated;
}

/* Cannot win, nor tie: by its bound, which knows no packings and no jitter; or its rating is behind
 * the best one by more than 2.5 times of what the bound lets it gain. */
static bool is_hopeless(const pp_habits *h, const pp_alternative *a, double best_score,
                        double least)
{
    const bool exact = !h->wish->packings && !h->wish->jitter;
    if (least == HUGE_VAL || (exact && a->least < HUGE_VAL && !pp_is_tie(a->least, best_score)))
        return least < HUGE_VAL;
    return !pp_is_tie(a->rated, least) && a->rated - least > 2.5 * (least - a->least);
}

/* The one to search next. NULL: none. */
static pp_alternative *next_alternative(const pp_habits *h, double best_score)
{
    pp_alternative *next = NULL;
    double least = HUGE_VAL;
    for (size_t i = 0; i < h->count; i++)
        least = fmin(least, h->row[i].rated);
    for (size_t i = 0; i < h->count; i++) {
        pp_alternative *a = &h->row[i];
        const bool fits = a->rated < HUGE_VAL || least == HUGE_VAL;
        const bool useful = !h->choices || !is_hopeless(h, a, best_score, least);
        if (!a->searched && fits && useful && (!next || comes_before(h, a, next, least)))
            next = a;
    }
    return next;
}

/* An equal part of what the budget leaves to so many searches. */
static void fund(pp_habits *h, pp_slice *slice, size_t parts, pp_wish *one)
{
    const uint64_t most = h->wish->max_simulations;
    const uint64_t used = h->simulated + h->granted;
    (void)pp_slice_take(slice, h->wish, parts, one);
    if (most)
        one->max_simulations = most > used ? (most - used + parts - 1) / parts : 1;
    h->granted += one->max_simulations;
}

/* All of one alternative, with a part of what the budget leaves. No plan is no failure. */
static pp_status search_one(pp_habits *h, pp_alternative *a, double *best_score, pp_err *err)
{
    const size_t all = h->count < PP_HABITS_SEARCHED ? h->count : PP_HABITS_SEARCHED;
    pp_wish one = wish_for(h->wish, a);
    pp_choice *choice = NULL;
    pp_slice slice;
    pp_err why = { 0 };
    fund(h, &slice, h->searches < all ? all - h->searches : 1, &one);
    one.no_advice = true;
    one.missed = NULL;
    a->searched = true;
    h->searches++;
    pp_status status = pp_choose(&one, &choice, &why);
    if (status == PP_NOMEM)
        *err = why;
    if (status)
        return status == PP_NOMEM ? status : PP_OK;
    const pp_candidate *c = &choice->candidate[0];
    a->best = *c;
    a->score = pp_candidate_score(c, c->ranked_ns ? c->ranked_ns : c->step_ns);
    *best_score = fmin(*best_score, a->score);
    h->searched_simulations += choice->simulated;
    h->stopped |= choice->stopped;
    h->of[h->choices] = a;
    h->choice[h->choices++] = choice;
    return PP_OK;
}

/* After the first, none is begun without a budget to go on with. */
static pp_status search_best(pp_habits *h, pp_err *err)
{
    const pp_wish *w = h->wish;
    double best_score = HUGE_VAL;
    pp_status status = PP_OK;
    while (h->choices < PP_HABITS_SEARCHED && !status) {
        const bool over = (w->max_simulations && h->simulated + h->granted >= w->max_simulations) ||
                          (w->stop && w->stop(w->context));
        pp_alternative *a = h->choices && over ? NULL : next_alternative(h, best_score);
        if (!a)
            break;
        status = search_one(h, a, &best_score, err);
    }
    return status;
}

/* The first that is no more than a tie behind the fastest. */
static size_t take(const pp_habits *h)
{
    double least = HUGE_VAL;
    size_t taken = SIZE_MAX;
    for (size_t i = 0; i < h->choices; i++)
        least = fmin(least, h->of[i]->score);
    for (size_t i = 0; i < h->choices; i++) {
        if (pp_is_tie(h->of[i]->score, least) && (taken == SIZE_MAX || h->of[i] < h->of[taken]))
            taken = i;
    }
    return taken;
}

/* Nothing of what was searched fits: the best rated says why, and what would. */
static pp_status refuse(const pp_habits *h, pp_choice **choice_out, pp_err *err)
{
    const pp_alternative *a = &h->row[0];
    for (size_t i = 1; i < h->count; i++)
        a = h->row[i].rated < a->rated ? &h->row[i] : a;
    const pp_wish one = wish_for(h->wish, a);
    return pp_choose(&one, choice_out, err);
}

pp_status pp_choose_habits(const pp_wish *wish, pp_choice **choice_out, pp_err *err)
{
    pp_habits h PP_CLEANUP(free_habits) = { .wish = wish };
    pp_status status = find_base(&h, err);
    if (status || (status = pp_habits_list(&h, err)) || (status = rate_all(&h, err)) ||
        (status = search_best(&h, err)))
        return status;
    const size_t taken = take(&h);
    if (taken == SIZE_MAX)
        return refuse(&h, choice_out, err);
    pp_choice *choice = h.choice[taken];
    if ((status = pp_habits_say(&h, h.of[taken], choice, err)))
        return status;
    choice->simulated = h.simulated + h.searched_simulations;
    choice->stopped |= h.stopped;
    *choice_out = choice;
    h.choice[taken] = NULL; /* the caller's now */
    return PP_OK;
}
