/* Makes sentences of the values that a search returns. The same sentence goes to the screen and,
 * as an assumption, into the plan file. */
#include "tools/ppsim/plan/sentences.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whether a search has shown that there is no shorter order. */
static bool is_refuted(const pp_reason *reason)
{
    return reason->kind == PP_REASON_ORDER_GAP && reason->order_bound == PP_ORDER_BOUND_PROOF &&
           reason->gap <= 0;
}

/* Appends what is known about the quality of an order. */
static void say_gap(const pp_reason *reason, pp_text *text)
{
    if (is_refuted(reason))
        pp_text_add(text, "no order is faster: shorter ones were refuted");
    else if (reason->kind == PP_REASON_ORDER_GAP)
        pp_text_add(text, "%.2f %% above the bound of any order (%s)", 100 * reason->gap,
                    pp_order_bound_key(reason->order_bound));
    else if (reason->kind == PP_REASON_STEP_GAP)
        pp_text_add(text, "%.2f %% above the bound of the step", 100 * reason->gap);
}

static void say_bound(const pp_candidate *c, pp_text *text)
{
    char least[32];
    char best[32];
    pp_text_add(text, "takes at least %s%s (%s",
                pp_format_duration(least, sizeof least, c->least_step_ns),
                c->reason.other_gpus ? " on another number of GPUs" : "", pp_bound_text(c->bound));
    if (c->bound != PP_BOUND_PATH)
        pp_text_add(text, " of rank %" PRIu32, c->bound_rank);
    pp_text_add(text, "), the best %s",
                pp_format_duration(best, sizeof best, c->reason.best_step_ns));
}

void pp_reason_say(const pp_candidate *candidate, pp_text *text)
{
    const pp_reason *reason = &candidate->reason;
    char words[PP_REASON_BYTES];
    switch (reason->kind) {
    case PP_REASON_NONE:
        break;
    case PP_REASON_REFUSED:
    case PP_REASON_MEMORY:
        pp_text_add(text, "%s", pp_misfit_print(reason, words, sizeof words));
        break;
    case PP_REASON_UNSEEN:
        pp_text_add(text, "the budget ended first");
        break;
    case PP_REASON_BUDGET:
        pp_text_add(text, "the budget ended first; takes at least %s",
                    pp_format_duration(words, sizeof words, candidate->least_step_ns));
        break;
    case PP_REASON_SLOWER:
        say_bound(candidate, text);
        break;
    case PP_REASON_SPLIT_SLOWER:
        pp_text_add(text, "cannot be faster (bound)");
        break;
    case PP_REASON_ORDER_GAP:
    case PP_REASON_STEP_GAP:
        say_gap(reason, text);
        break;
    }
}

/* Appends the same for people, and for the notes in plan files. */
static void say_distance(const pp_reason *reason, pp_text *text)
{
    if (is_refuted(reason))
        pp_text_add(text, "no order is faster, shorter ones were refuted");
    else if (reason->kind == PP_REASON_ORDER_GAP || reason->kind == PP_REASON_STEP_GAP)
        pp_text_add(text, "%.2f %% above the lower bound of %s", 100 * reason->gap,
                    reason->kind == PP_REASON_ORDER_GAP ? "any order" : "the step");
}

void pp_free_orders_say(const pp_search_result *result, pp_text *text)
{
    const pp_free_orders_outcome *o = &result->orders;
    char words[PP_REASON_BYTES];
    switch (o->verdict) {
    case PP_FREE_ORDERS_NOT_ASKED:
        break;
    case PP_FREE_ORDERS_UNSEARCHED:
        pp_text_add(text, "not searched: the budget was used up");
        break;
    case PP_FREE_ORDERS_HOPELESS:
        pp_text_add(text, "none can be measurably faster than %s (lower bound)", o->named->name);
        break;
    case PP_FREE_ORDERS_UNUSABLE:
        pp_text_add(text, "executor %s runs none of those found within the memory: %.110s",
                    result->plan->framework->name,
                    pp_misfit_print(&o->reason, words, sizeof words));
        break;
    case PP_FREE_ORDERS_ONLY:
        pp_text_add(text, "taken, as no named schedule fits; ");
        say_distance(&o->reason, text);
        break;
    case PP_FREE_ORDERS_TIED:
        pp_text_add(text, "not taken: the best free order found is %.2f %% faster than %s, a tie; ",
                    100 * o->gain, o->named->name);
        say_distance(&o->reason, text);
        break;
    case PP_FREE_ORDERS_TAKEN:
    case PP_FREE_ORDERS_NO_GAIN:
        pp_text_add(text, "%s%.2f %% %s than %s, the best named schedule; ",
                    o->verdict == PP_FREE_ORDERS_TAKEN
                        ? "taken: "
                        : "no measurable gain: the best free order found is ",
                    100 * fabs(o->gain), o->gain < 0 ? "slower" : "faster", o->named->name);
        say_distance(&o->reason, text);
        break;
    }
}

static void say_value(pp_setting_kind kind, const pp_setting_value *v, pp_text *text)
{
    char sizes[64];
    if (kind == PP_SETTING_COPIES) {
        pp_text_add(text, "%" PRId64, v->copies);
        return;
    }
    pp_text_add(text, "%s",
                kind == PP_SETTING_FRAMEWORK ? v->framework->name
                : kind == PP_SETTING_SHAPES
                    ? pp_size_protocol_print(&v->shapes, sizes, sizeof sizes)
                : kind == PP_SETTING_COMMUNICATORS ? pp_communicators_names()[v->communicators - 1]
                : kind == PP_SETTING_LOOKAHEAD
                    ? pp_unshard_lookahead_print(v->unshard_lookahead, sizes, sizeof sizes)
                    : pp_reshard_print(v->reshard_after_forward, sizes, sizeof sizes));
}

/* Appends "torch 1.927 s (+3.66 %)" */
static void say_cost(pp_setting_kind kind, const pp_setting_value *v, pp_text *text)
{
    char step[32];
    const double share = 100 * v->more;
    const double more = fabs(share) < 0.005 ? 0 : share; /* no -0.00 */
    say_value(kind, v, text);
    if (v->standing >= PP_SETTING_NOTHING_FITS)
        return;
    if (v->step_ns)
        pp_text_add(text, " %s", pp_format_duration(step, sizeof step, v->step_ns));
    if (v->standing == PP_SETTING_RATED)
        pp_text_add(text, " %+.2f %%", more);
    else
        pp_text_add(text, " (%+.2f %%%s%s)", more, v->tie ? ", a tie" : "",
                    v->crowded ? ", without the headroom" : "");
}

void pp_setting_say(const pp_search_result *result, pp_setting_kind kind, pp_text *text)
{
    static const char *const heads[PP_SETTING_STANDINGS] = {
        "", "not searched, by a named schedule: ", "nothing found that runs and fits: ",
        "not known (budget): "
    };
    const pp_setting_choice *choice = &result->setting[kind];
    char step[32];
    say_value(kind, &choice->value[0], text);
    pp_text_add(text, ", %s", pp_format_duration(step, sizeof step, choice->value[0].step_ns));
    if (kind == PP_SETTING_COPIES && choice->value[0].step_ns != result->candidate[0].step_ns)
        pp_text_add(text, " before lookahead was chosen");
    for (int s = 0; s < PP_SETTING_STANDINGS; s++) {
        bool begun = false;
        for (size_t i = 1; i < choice->count; i++) {
            if ((int)choice->value[i].standing != s)
                continue;
            pp_text_add(text, "%s%s", begun ? ", " : "; ", begun ? "" : heads[s]);
            say_cost(kind, &choice->value[i], text);
            begun = true;
        }
    }
    if (choice->one_size)
        pp_text_add(text, "; all microbatches have one size");
    else if (choice->count == 1)
        pp_text_add(text, "; there is no other");
}

void pp_packing_say(const pp_packing_outcome *outcome, bool bounded, pp_text *text)
{
    const char *before = outcome->grouped ? "the file's microbatches" : "first fit";
    char method[120];
    char step[32];
    pp_packing_method_print(&outcome->method, method, sizeof method);
    switch (outcome->verdict) {
    case PP_PACKING_NOT_ASKED:
        return;
    case PP_PACKING_UNSEARCHED:
        pp_text_add(text, "not searched: the budget was used up");
        return;
    case PP_PACKING_ONLY:
        pp_text_add(text, "%s; %s fits in no schedule; %.2f %% above the bound of any packing",
                    method, before, 100 * outcome->above_bound);
        return;
    case PP_PACKING_NONE_BETTER:
        pp_text_add(text, "none found is better than %s", before);
        break;
    case PP_PACKING_NO_GAIN:
    case PP_PACKING_TAKEN:
        pp_text_add(text, "%s%s: %.2f %% %s than %s (%s)",
                    outcome->verdict == PP_PACKING_TAKEN ? "" : "no measurable gain: ", method,
                    100 * fabs(outcome->gain), outcome->gain < 0 ? "slower" : "faster", before,
                    pp_format_duration(step, sizeof step, outcome->before_ns));
        break;
    }
    if (bounded)
        pp_text_add(text, "; on this split and partition no packing is more than %.2f %% faster",
                    100 * outcome->most);
}

void pp_ranking_say(const pp_jitter_ranking *r, pp_text *text)
{
    const double more = 100 * r->simplest_longer;
    if (r->unstudied) {
        pp_text_add(text, "not looked at: the budget ended before");
        return;
    }
    if (r->chosen.spec.scenarios < r->scenarios)
        pp_text_add(text, "by %" PRId64 " of %" PRId64 " scenarios (budget), ",
                    r->chosen.spec.scenarios, r->scenarios);
    if (r->verdict == PP_JITTER_SIMPLEST) {
        pp_text_add(text,
                    "%s is not measurably slower than %s: %.2f %%, within the error of %" PRId64
                    " scenarios",
                    r->simplest->name, r->best->name, more, r->chosen.spec.scenarios);
        return;
    }
    pp_text_add(text, "%s is best", r->best->name);
    if (r->ties)
        pp_text_add(text, "; %zu other%s a tie with it", r->ties, r->ties == 1 ? " is" : "s are");
    if (r->simplest && r->simplest != r->best)
        pp_text_add(text, "; %s takes %.2f %% longer", r->simplest->name, more);
}

static void say_headroom(const pp_search_result *result, pp_text *text)
{
    const pp_recommendation *r = &result->recommendation;
    const pp_candidate *c = &result->candidate[0];
    const pp_candidate *fastest = r->reason == PP_CHOICE_FASTEST ? c : &r->fastest;
    char bytes[32];
    if (!r->headroom_bytes || c->roomy)
        return;
    pp_format_bytes(bytes, sizeof bytes, r->headroom_bytes);
    if (r->roomy.status == PP_CANDIDATE_OK)
        pp_text_add(text, "; of those that leave %s free the best found is %.2f %% slower%s", bytes,
                    100 * pp_candidate_more(&r->roomy, fastest),
                    r->reason == PP_CHOICE_FASTEST ? "" : " than the fastest");
    else
        pp_text_add(text, "; none found leaves %s free", bytes);
}

void pp_choice_say(const pp_search_result *result, pp_text *text)
{
    const pp_recommendation *r = &result->recommendation;
    const pp_candidate *c = &result->candidate[0];
    char value[2][32];
    if (r->reason != PP_CHOICE_FASTEST)
        pp_text_add(text, "within %g %% of ", 100 * r->tie);
    if (result->count == 1)
        pp_text_add(text, "the only candidate");
    else if (result->stopped)
        pp_text_add(text, "the fastest found before the budget ended (%zu iteration%s)",
                    result->simulated, result->simulated == 1 ? "" : "s");
    else
        pp_text_add(text, "the fastest of %zu candidates%s", result->count,
                    result->per_gpu ? " per GPU (without --tp they use different numbers)" : "");
    switch (r->reason) {
    case PP_CHOICE_FASTEST:
        break;
    case PP_CHOICE_HEADROOM:
        pp_text_add(text, ", and leaves more memory free, %s or more",
                    pp_format_bytes(value[0], sizeof value[0], r->headroom_bytes));
        break;
    case PP_CHOICE_STEADIER:
        pp_text_add(text, ", and steadier: p95 %s, not %s, if ops vary by 3 %% and a rank is slow",
                    pp_format_duration(value[0], sizeof value[0], c->p95_ns),
                    pp_format_duration(value[1], sizeof value[1], r->fastest.p95_ns));
        break;
    case PP_CHOICE_SIMPLER:
        pp_text_add(text, ", and simpler");
        break;
    }
    say_headroom(result, text);
}

/* Appends the degrees and settings of a candidate that differ from those of another one. */
static void say_difference(const pp_candidate *c, const pp_candidate *other, pp_text *text)
{
    const pp_parallel *p = &c->parallel;
    const pp_parallel *o = &other->parallel;
    const struct {
        const char *name;
        int64_t value, other;
    } rows[] = {
        { "pp", p->pp, o->pp },
        { "tp", p->tp, o->tp },
        { "cp", p->cp, o->cp },
        { "dp", p->dp, o->dp },
        { "ep", p->ep, o->ep },
        { "etp", pp_parallel_etp(p), pp_parallel_etp(o) },
        { "vpp", p->vpp, o->vpp },
        { "micro-batch size", c->micro_batch_size, other->micro_batch_size },
    };
    pp_text_add(text, "%s", pp_candidate_is_named(c) ? c->schedule->name : "a custom order");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].value != rows[i].other)
            pp_text_add(text, ", %s %" PRId64, rows[i].name, rows[i].value);
    }
    if (c->recompute != other->recompute)
        pp_text_add(text, ", recompute %s", pp_recompute_name(c->recompute));
}

void pp_fastest_say(const pp_search_result *result, pp_text *text)
{
    const pp_candidate *c = &result->candidate[0];
    const pp_candidate *f = &result->recommendation.fastest;
    const double faster =
        1 - (result->recommendation.tie > 0 ? 1 / (1 + pp_candidate_more(c, f)) : 1);
    char step[32];
    char peak[32];
    if (faster * PP_MEASURABLE_PART < 1)
        return;
    pp_text_add(text, "--fastest takes ");
    say_difference(f, c, text);
    pp_text_add(text, ": %s, %.2f %% faster", pp_format_duration(step, sizeof step, f->step_ns),
                100 * faster);
    if (f->peak_bytes > c->peak_bytes)
        pp_text_add(text, ", %s", pp_format_bytes(peak, sizeof peak, f->peak_bytes));
    if (f->p95_ns && c->p95_ns)
        pp_text_add(text, ", p95 %+.2f %%",
                    100 *
                        (pp_candidate_score(f, f->p95_ns) / pp_candidate_score(c, c->p95_ns) - 1));
}

void pp_slower_say(double more, pp_text *text)
{
    const double percent = 100 * more;
    if (fabs(percent) < 0.005)
        pp_text_add(text, "as fast");
    else if (percent < 0)
        pp_text_add(text, "%.2f %% faster", -percent);
    else
        pp_text_add(text, "up to %.2f %% slower", percent);
}

void pp_target_say(const pp_target_cost *cost, pp_text *text)
{
    char step[32];
    pp_text_add(text, "%s", cost->target->name);
    if (!cost->schedule)
        return;
    pp_text_add(text, "; its limits ");
    if (fabs(100 * cost->more) * PP_MEASURABLE_PART < 100)
        pp_text_add(text, "make no measurable difference");
    else
        pp_text_add(text, "make the step %.2f %% %s than without them (%s, %s)",
                    100 * fabs(cost->more), cost->more < 0 ? "shorter" : "longer",
                    cost->schedule->name, pp_format_duration(step, sizeof step, cost->step_ns));
}

static pp_status add_note(const pp_search_result *result, const char *key, const pp_text *text,
                          pp_err *err)
{
    pp_notes *const notes[] = { &result->plan->assumptions,
                                &result->plan->prediction->assumptions };
    pp_status status = pp_text_check(text, err);
    for (size_t k = 0; k < sizeof notes / sizeof *notes && !status; k++)
        status = pp_notes_add(notes[k], err, key, "%s", text->data);
    return status;
}

void pp_padding_say(const pp_padded_rows *rows, pp_ns packed_ns, pp_text *text)
{
    char step[2][32];
    pp_text_add(text, "one sequence per row %s; packed %s (%.3g times as fast)",
                pp_format_duration(step[0], sizeof step[0], rows->step_ns),
                pp_format_duration(step[1], sizeof step[1], packed_ns),
                (double)rows->step_ns / (double)packed_ns);
}

pp_status pp_plan_note_padding(const pp_search_result *result, const pp_padded_rows *rows,
                               pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_padding_say(rows, result->plan->prediction->step_ns, &text);
    return add_note(result, PP_NOTE_PADDING, &text, err);
}

pp_status pp_plan_note_choices(const pp_search_result *result, pp_err *err)
{
    static const char *const keys[PP_SETTING_COUNT] = {
        [PP_SETTING_FRAMEWORK] = "executor choice",
        [PP_SETTING_SHAPES] = "shapes choice",
        [PP_SETTING_COMMUNICATORS] = "communicators choice",
        [PP_SETTING_COPIES] = "dp-replicate choice",
        [PP_SETTING_LOOKAHEAD] = "unshard-lookahead choice",
        [PP_SETTING_RESHARD] = "reshard-after-forward choice",
    };
    pp_status status = PP_OK;
    if (result->packing.verdict > PP_PACKING_UNSEARCHED) {
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        pp_packing_say(&result->packing, true, &text);
        status = add_note(result, "packing gain", &text, err);
    }
    for (int k = 0; k < PP_SETTING_COUNT && !status; k++) {
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        if (!result->setting[k].count)
            continue;
        pp_setting_say(result, (pp_setting_kind)k, &text);
        status = add_note(result, keys[k], &text, err);
    }
    return status;
}

static void csv_row(const pp_candidate *c, pp_text *text)
{
    pp_text reason PP_CLEANUP(pp_text_free) = { 0 };
    char ahead[64];
    pp_text_add(
        text,
        "%s,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
        ",%" PRId64 ",%" PRId64 ",%" PRIu32 ",%s,%s,%" PRId64 ",%s,%" PRId64 ",",
        pp_candidate_status_name(c->status), c->schedule ? c->schedule->name : "", c->parallel.pp,
        c->parallel.vpp, c->parallel.tp, c->parallel.cp, c->parallel.dp, c->parallel.ep,
        pp_parallel_etp(&c->parallel), pp_parallel_gpus(&c->parallel), c->micro_batch_size,
        c->microbatches, pp_recompute_name(c->recompute), pp_partition_name(c->partition),
        c->copies > 1 ? c->copies : 1,
        pp_unshard_lookahead_print(c->unshard_lookahead, ahead, sizeof ahead), c->least_step_ns);
    if (c->step_ns)
        pp_text_add(text, "%" PRId64 ",%.6f,%.3f,%.6f,", c->step_ns, c->bubble_fraction,
                    c->tokens_per_s, c->model_flops_utilization);
    else
        pp_text_add(text, ",,,,");
    if (c->peak_bytes)
        pp_text_add(text, "%" PRId64 ",%" PRIu32 ",", c->peak_bytes, c->peak_rank);
    else
        pp_text_add(text, ",,");
    if (c->p50_ns)
        pp_text_add(text, "%" PRId64, c->p50_ns);
    pp_text_add(text, ",");
    if (c->p95_ns)
        pp_text_add(text, "%" PRId64, c->p95_ns);
    pp_text_add(text, ",\"");
    pp_reason_say(c, &reason);
    for (const char *letter = reason.data; letter && *letter; letter++)
        pp_text_add(text, "%s%c", *letter == '"' ? "\"" : "", *letter);
    text->failed = text->failed || reason.failed;
    pp_text_add(text, "\"\n");
}

void pp_candidate_csv(const pp_candidate *candidate, pp_text *text)
{
    if (candidate)
        csv_row(candidate, text);
    else
        pp_text_add(text,
                    "status,schedule,pp,vpp,tp,cp,dp,ep,etp,gpus,micro_batch_size,microbatches,"
                    "recompute,partition,dp_replicate,unshard_lookahead,least_step_ns,step_ns,"
                    "bubble_fraction,tokens_per_s,"
                    "model_flops_utilization,peak_memory_bytes,peak_memory_rank,p50_ns,p95_ns,"
                    "reason\n");
}
