/* Prints the answer of a plan: labelled lines of at most 80 columns, the plan itself first.
 * plan/print.c prints the details (alternatives, stages, memory of each rank, assumptions). */
#include "tools/ppsim/plan/summary.h"

#include "tools/ppsim/base/colour.h"
#include "tools/ppsim/base/words.h"
#include "tools/ppsim/plan/input.h"
#include "tools/ppsim/plan/interval.h"
#include "tools/ppsim/plan/sentences.h"
#include "tools/ppsim/report/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    COLUMN = 13, /* of the text after a label */
};

static void print_run(const pp_plan *plan, pp_text *text)
{
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    pp_answer_setup(plan, &words);
    pp_print_labelled(text, "run", &words);
}

/* Returns whether the times of layers contain exchange that was not measured separately. */
static bool exchange_is_hidden(const pp_search_result *result)
{
    const pp_parallel *p = &result->plan->parallel;
    return result->context.hardware->measured && (p->tp > 1 || p->cp > 1 || p->ep > 1) &&
           !result->why.mean_ns[PP_WHY_COLLECTIVES];
}

static void print_memory(const pp_search_result *result, pp_text *text)
{
    const pp_report *r = result->plan->prediction;
    const pp_candidate *c = &result->candidate[0];
    pp_tightest t = pp_answer_tightest(r);
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    /* a replica that is not the slowest one, whose times are shown, may need more */
    if (c->peak_rank < r->ranks && c->peak_bytes > r->peak_memory_bytes &&
        (!t.limit_bytes ||
         pp_answer_limit(r, c->peak_rank) - c->peak_bytes < t.limit_bytes - t.peak_bytes))
        t = (pp_tightest){ c->peak_rank, c->peak_bytes, pp_answer_limit(r, c->peak_rank) };
    if (r->has_memory)
        pp_answer_memory(&t, &words);
    else
        pp_text_add(&words, "not known");
    pp_print_labelled(text, "memory", &words);
}

/* The best split that was simulated after that of the plan, or NULL. */
static const pp_candidate *next_split(const pp_search_result *result)
{
    const pp_candidate *next = result->splits > 1 ? &result->split[1] : NULL;
    const bool known = next && next->step_ns && next->status != PP_CANDIDATE_INFEASIBLE;
    return known ? next : NULL;
}

/* "; the best other split that was simulated, pp 4, cp 2, dp 2, is 0.44 % slower". Most splits are
 * not simulated, since a bound or the memory rules them out. */
static void add_next_split(const pp_search_result *result, pp_text *words)
{
    const pp_candidate *next = next_split(result);
    if (!next)
        return;
    pp_text_add(words, "; the best other split that was simulated, ");
    pp_answer_degrees(&next->parallel, words);
    pp_text_add(words, ", is ");
    pp_slower_say(pp_candidate_more(next, &result->split[0]), words);
}

/* Adds the next schedule, unless another split is named, which says more. */
static void add_next_schedule(const pp_search_result *result, pp_text *words)
{
    for (size_t i = 1; i < result->count && !next_split(result); i++) {
        const pp_candidate *c = &result->candidate[i];
        if (c->status != PP_CANDIDATE_OK || c->schedule == result->candidate[0].schedule)
            continue;
        pp_text_add(words, "; the next best, %s, is ", c->schedule->name);
        pp_slower_say(pp_candidate_more(c, &result->candidate[0]), words);
        return;
    }
}

/* Adds what the search for custom orders of ops found, compared with named schedules. */
static void add_orders(const pp_search_result *result, pp_text *words)
{
    const pp_free_orders_outcome *o = &result->orders;
    switch (o->verdict) {
    case PP_FREE_ORDERS_NOT_ASKED:
        add_next_schedule(result, words);
        break;
    case PP_FREE_ORDERS_UNSEARCHED:
        pp_text_add(words, "; custom orders of its ops were not searched (budget)");
        break;
    case PP_FREE_ORDERS_HOPELESS:
    case PP_FREE_ORDERS_UNUSABLE:
        add_next_schedule(result, words);
        break;
    case PP_FREE_ORDERS_ONLY:
        pp_text_add(words, "; no named schedule fits");
        break;
    case PP_FREE_ORDERS_TAKEN:
        pp_text_add(words, "; %.2f %% faster than %s, the best named schedule", 100 * o->gain,
                    o->named->name);
        break;
    case PP_FREE_ORDERS_TIED:
        pp_text_add(words, "; no custom order found is faster by more than %g %%",
                    100 * result->recommendation.tie);
        break;
    case PP_FREE_ORDERS_NO_GAIN:
        pp_text_add(words, "; no custom order found is measurably faster");
        break;
    }
}

static void print_reason(const pp_search_result *result, pp_text *text)
{
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    pp_text fastest PP_CLEANUP(pp_text_free) = { 0 };
    pp_choice_say(result, &words);
    if (result->recommendation.reason == PP_CHOICE_FASTEST) {
        add_orders(result, &words);
        add_next_split(result, &words);
    }
    pp_fastest_say(result, &fastest);
    pp_print_labelled(text, "why", &words);
    pp_print_labelled(text, "faster", &fastest);
}

/* Adds what the profile lacks: it counts as taking no time, so the predicted step is too short. */
static void add_unmeasured(const pp_notes *assumptions, pp_text *words)
{
    for (size_t i = 0; i < assumptions->count; i++) {
        const pp_note *note = &assumptions->note[i];
        if (strcmp(note->key, "not in the profile") == 0)
            pp_text_add(words, "; %s: %s", note->key, note->value);
    }
}

static void print_confidence(const pp_plan_view *view, pp_text *text)
{
    const pp_search_result *result = view->result;
    const pp_plan *plan = result->plan;
    const pp_uncertainty *u = &plan->prediction->uncertainty;
    const bool ideal = strcmp(plan->framework->name, "ideal") == 0;
    char stack[400];
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    if (u->step_ns) {
        pp_answer_uncertainty(u, &words);
        pp_text_add(&words, "; ");
    }
    pp_text_add(&words, "predicted from ");
    if (view->profile)
        pp_text_add(&words, "the measurements in %s", view->profile);
    if (view->profile && view->hardware)
        pp_text_add(&words, " and ");
    if (!view->profile || view->hardware)
        pp_text_add(&words, "%s %s",
                    view->is_file ? "figures in"
                    : pp_hardware_is_measured(result->context.hardware, PP_PART_GEMM)
                        ? "published figures of"
                        : "the data sheet and assumed kernels of",
                    view->hardware);
    pp_text_add(&words, ", stack %s, executor %s%s",
                pp_stack_print(plan->stack.name, plan->stack.stands_for, stack, sizeof stack),
                plan->framework->name, ideal ? " (links never congested)" : "");
    add_unmeasured(&plan->assumptions, &words);
    pp_plan_interval_say(result, &words);
    pp_print_labelled(text, "how sure", &words);
}

/* Settings that were not asked for are shown if their default is not taken, or on demand. */
static bool is_shown(const pp_plan_view *view, pp_setting_kind kind)
{
    const pp_setting_choice *choice = &view->result->setting[kind];
    if (!choice->count || kind < PP_SETTING_COPIES)
        return choice->count > 0;
    return view->verbose || view->result->plan->prediction->has_why ||
           choice->value[0].copies > 1 || choice->value[0].unshard_lookahead != PP_LOOKAHEAD_FULL ||
           choice->value[0].reshard_after_forward != PP_RESHARD_NEVER;
}

static void print_settings(const pp_plan_view *view, pp_text *text)
{
    static const char *const labels[PP_SETTING_COUNT] = {
        [PP_SETTING_FRAMEWORK] = "executor",          [PP_SETTING_SHAPES] = "shapes",
        [PP_SETTING_COMMUNICATORS] = "communicators", [PP_SETTING_COPIES] = "copies",
        [PP_SETTING_LOOKAHEAD] = "lookahead",         [PP_SETTING_RESHARD] = "reshard",
    };
    for (int k = 0; k < PP_SETTING_COUNT; k++) {
        pp_text words PP_CLEANUP(pp_text_free) = { 0 };
        if (!is_shown(view, (pp_setting_kind)k))
            continue;
        pp_setting_say(view->result, (pp_setting_kind)k, &words);
        pp_print_labelled(text, labels[k], &words);
    }
}

/* Prints the results of --target, --packing, --jitter, and of options that were auto, such as
 * --executor auto. */
static void print_requested(const pp_plan_view *view, pp_text *text)
{
    const pp_search_result *result = view->result;
    pp_text packing PP_CLEANUP(pp_text_free) = { 0 };
    pp_text target PP_CLEANUP(pp_text_free) = { 0 };
    pp_text jitter PP_CLEANUP(pp_text_free) = { 0 };
    print_settings(view, text);
    if (view->packing || view->verbose || result->packing.verdict == PP_PACKING_TAKEN ||
        result->packing.verdict == PP_PACKING_ONLY)
        pp_packing_say(&result->packing, view->packing || view->verbose, &packing);
    if (result->target.target)
        pp_target_say(&result->target, &target);
    if (result->ranking.verdict || result->ranking.unstudied)
        pp_ranking_say(&result->ranking, &jitter);
    pp_print_labelled(text, "packing", &packing);
    pp_print_note(text, &result->plan->assumptions, PP_NOTE_PADDING, "padding");
    pp_print_labelled(text, "target", &target);
    pp_print_labelled(text, "jitter", &jitter);
}

static void print_next(const pp_plan_view *view, pp_text *text)
{
    if (view->plan_file)
        pp_text_add(text, "%-12s ppsim simulate %s --trace chrome=step.json\n", "next",
                    view->plan_file);
    else
        pp_text_add(text, "%-12s add --emit plan=plan.json, then ppsim simulate plan.json\n",
                    "next");
    if (!view->verbose)
        pp_text_add(text,
                    "%-12s --verbose: alternatives, stages, memory per rank, %zu assumptions\n", "",
                    view->result->plan->assumptions.count);
}

/* "llama3-70b (70.6 billion parameters) on 64 x h100-80g": the number shows whether a file was
 * understood. */
static void print_head(const pp_plan_view *view, int64_t gpus, pp_text *text)
{
    const pp_plan *plan = view->result->plan;
    const double parameters = (double)pp_model_parameters(view->result->context.model);
    const bool is_large = parameters >= 1e9;
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    pp_text_add(&words, "%s%s (%.1f %s parameters) on %" PRId64 " x %s%s",
                pp_colour_begin(PP_COLOUR_ANSWER), plan->model, parameters / (is_large ? 1e9 : 1e6),
                is_large ? "billion" : "million", gpus, plan->hardware,
                pp_colour_end(PP_COLOUR_ANSWER));
    if (view->alias || view->model_alias)
        pp_text_add(&words, " (%s%.24s%s%s%.24s)", view->model_alias ? "--model " : "",
                    view->model_alias ? view->model_alias : "",
                    view->alias && view->model_alias ? ", " : "", view->alias ? "--hw " : "",
                    view->alias ? view->alias : "");
    text->failed |= words.failed;
    if (words.data)
        pp_print_words(text, words.data, 0, COLUMN);
}

void pp_plan_summary_print(const pp_plan_view *view, pp_text *text)
{
    const pp_search_result *result = view->result;
    const pp_plan *plan = result->plan;
    const int64_t gpus = pp_parallel_gpus(&plan->parallel);
    pp_text requested PP_CLEANUP(pp_text_free) = { 0 };
    print_head(view, gpus, text);
    print_run(plan, text);
    pp_print_note(text, &plan->assumptions, PP_NOTE_LONG, "long");
    pp_answer_step(plan->prediction, plan, false, text);
    pp_answer_time(&result->why, &plan->parallel, exchange_is_hidden(result), text);
    print_memory(result, text);
    print_reason(result, text);
    if (plan->elsewhere[0])
        pp_print_line(text, "elsewhere", "%s", plan->elsewhere);
    print_confidence(view, text);
    print_requested(view, &requested);
    text->failed |= requested.failed;
    if (requested.data)
        pp_text_add(text, "%s", requested.data);
    print_next(view, text);
}
