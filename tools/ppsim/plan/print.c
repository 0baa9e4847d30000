/* Prints the result of a plan for people: the summary, the tables that were asked for, and with
 * --verbose the details: how the search went, alternatives, stages, memory of each rank and
 * assumptions. */
#include "tools/ppsim/plan/print.h"

#include "tools/ppsim/base/words.h"
#include "tools/ppsim/plan/memory.h"
#include "tools/ppsim/plan/sentences.h"
#include "tools/ppsim/report/op_words.h"
#include "tools/ppsim/report/recompute_print.h"
#include "tools/ppsim/report/report_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LAYOUT_MAX 240
#define SPLIT_COLUMN 49 /* position of the last column of the table of splits */

/* Finds the fewest and the most layers of a stage, MTP modules included. */
static void layer_range(const pp_plan *plan, int64_t *least, int64_t *most)
{
    uint32_t stages = (uint32_t)(plan->parallel.pp * plan->parallel.vpp);
    *least = INT64_MAX;
    *most = 0;
    for (uint32_t s = 0; s < stages; s++) {
        int64_t layers = plan->partition[s].layers + plan->partition[s].mtp;
        *least = layers < *least ? layers : *least;
        *most = layers > *most ? layers : *most;
    }
}

static void print_data(const pp_plan *plan, pp_text *text)
{
    const pp_workload *w = &plan->workload;
    size_t count = (size_t)w->replicas * w->microbatches;
    int64_t least[2] = { INT64_MAX, INT64_MAX }; /* tokens, sequences */
    int64_t most[2] = { 0 };
    for (size_t j = 0; j < count; j++) {
        int64_t now[2] = { w->microbatch[j].tokens, (int64_t)w->microbatch[j].count };
        for (int k = 0; k < 2; k++) {
            least[k] = now[k] < least[k] ? now[k] : least[k];
            most[k] = now[k] > most[k] ? now[k] : most[k];
        }
    }
    char tokens[64];
    char contents[96];
    pp_range_print(tokens, sizeof tokens, least[0], most[0]);
    if (w->bins) {
        pp_range_print(contents, sizeof contents, least[1], most[1]);
        size_t used = strlen(contents);
        snprintf(contents + used, sizeof contents - used, " sequence%s each",
                 most[1] == 1 ? "" : "s");
    } else {
        snprintf(contents, sizeof contents, "micro-batch size %" PRId64, plan->micro_batch_size);
    }
    pp_print_line(text, "data", "%" PRIu32 " microbatch%s of %s token%s%s (%s)", w->microbatches,
                  w->microbatches == 1 ? "" : "es", tokens, most[0] == 1 ? "" : "s",
                  plan->parallel.dp > 1 ? " per replica" : "", contents);
}

static void print_choice(const pp_search_result *choice, pp_text *text)
{
    const pp_plan *plan = choice->plan;
    const pp_parallel *p = &plan->parallel;
    int64_t least;
    int64_t most;
    char layers[64];
    char folding[32] = "";
    if (p->etp && p->etp != p->tp)
        snprintf(folding, sizeof folding, ", etp %" PRId64, p->etp);
    layer_range(plan, &least, &most);
    pp_range_print(layers, sizeof layers, least, most);
    pp_print_line(text, "split",
                  "pp %" PRId64 ", tp %" PRId64 ", cp %" PRId64 ", dp %" PRId64 ", ep %" PRId64
                  "%s",
                  p->pp, p->tp, p->cp, p->dp, p->ep, folding);
    pp_print_line(text, "schedule", "%s, %" PRId64 " stage%s per rank (vpp %" PRId64 ")",
                  plan->schedule, p->vpp, p->vpp == 1 ? "" : "s", p->vpp);
    print_data(plan, text);
    pp_recompute_print(plan, text);
    pp_print_line(text, "partition", "%s: %s layer%s per stage",
                  pp_partition_name(choice->candidate[0].partition), layers, most == 1 ? "" : "s");
}

/* Prints how much slower the slowest replica is than the mean. Each replica has its own
 * microbatches, and the step is that of the slowest. */
static void print_balance(const pp_search_result *choice, pp_text *text)
{
    const pp_candidate *c = &choice->candidate[0];
    char mean[32];
    if (choice->plan->workload.replicas > 1 && c->mean_step_ns)
        pp_print_line(text, "",
                      "(of the slowest of %" PRIu32 " replicas: %.2f %% above their mean, %s)",
                      choice->plan->workload.replicas,
                      100 * ((double)c->step_ns / (double)c->mean_step_ns - 1),
                      pp_format_duration(mean, sizeof mean, c->mean_step_ns));
}

static void print_speed(const pp_search_result *choice, pp_text *text)
{
    const pp_report *r = choice->plan->prediction;
    char makespan[32];
    char tail[32];
    pp_print_line(text, "makespan", "%s from the first op to the last one, then %s end of step",
                  pp_format_duration(makespan, sizeof makespan, r->makespan_ns),
                  pp_format_duration(tail, sizeof tail, r->step_boundary_ns));
    print_balance(choice, text);
    pp_print_line(text, "bubble", "%.2f %% of all rank time is idle: idle / (p x makespan)",
                  100 * r->bubble_fraction);
    pp_print_line(text, "", "%.2f %% of the longest rank's span: (span - busy) / span",
                  100 * r->bubble_rate);
}

static void print_limits(const pp_search_result *choice, pp_text *text)
{
    const pp_report *r = choice->plan->prediction;
    char peak[32];
    char limit[64];
    char op[PP_OP_WORDS_BYTES];
    char bound[32];
    const pp_rank_report *rank = &r->per_rank[r->peak_memory_rank];
    const int64_t limit_bytes =
        rank->memory_limit_bytes ? rank->memory_limit_bytes : r->memory_limit_bytes;
    if (r->has_memory)
        pp_print_line(text, "peak memory", "%s%s%s on rank %" PRIu32 ", during %s",
                      pp_format_bytes(peak, sizeof peak, r->peak_memory_bytes),
                      limit_bytes ? " of " : "",
                      limit_bytes ? pp_format_limit(limit, sizeof limit, limit_bytes) : "",
                      r->peak_memory_rank, pp_op_words(rank->peak_op, op));
    if (r->has_memory && r->peak_memory_bytes < choice->candidate[0].peak_bytes)
        pp_print_line(text, "", "(a faster replica needs %s, on rank %" PRIu32 ")",
                      pp_format_bytes(peak, sizeof peak, choice->candidate[0].peak_bytes),
                      choice->candidate[0].peak_rank);
    if (r->has_bound && r->lower_bound_ns > 0)
        pp_print_line(text, "lower bound", "%s of makespan: %s; this plan is %.2f %% above it",
                      pp_format_duration(bound, sizeof bound, r->lower_bound_ns), r->bound_name,
                      100 * ((double)r->makespan_ns / (double)r->lower_bound_ns - 1));
}

static void print_search(const pp_search_result *choice, pp_text *text)
{
    const size_t rest = choice->count - choice->ok - choice->pruned;
    pp_text orders PP_CLEANUP(pp_text_free) = { 0 };
    int64_t least = INT64_MAX;
    int64_t most = 0;
    for (size_t i = 0; i < choice->count; i++) {
        int64_t gpus = pp_parallel_gpus(&choice->candidate[i].parallel);
        least = gpus < least ? gpus : least;
        most = gpus > most ? gpus : most;
    }
    pp_print_line(
        text, "candidates", "%zu: %zu simulated and fit, %zu %s, %zu do not fit or are not legal",
        choice->count, choice->ok, choice->pruned,
        choice->stopped ? "not examined (budget)" : "cannot be faster (lower bound)", rest);
    if (choice->per_gpu)
        pp_print_line(text, "",
                      "tp is free, so candidates use %" PRId64 " to %" PRId64 " GPUs; they "
                      "are compared by tokens/s per GPU. Give --tp to compare step times.",
                      least, most);
    pp_free_orders_say(choice, &orders);
    pp_print_labelled(text, "custom order", &orders);
}

/* Returns whether the table would show two candidates alike. */
static bool same_row(const pp_candidate *a, const pp_candidate *b)
{
    return a->schedule == b->schedule && a->recompute == b->recompute &&
           a->parallel.vpp == b->parallel.vpp && a->parallel.tp == b->parallel.tp &&
           a->micro_batch_size == b->micro_batch_size;
}

#define ROWS_MAX 10

typedef struct rows {
    const pp_candidate *row[ROWS_MAX];
    size_t count;
} rows;

static void add_row(rows *r, const pp_search_result *choice, const pp_candidate *c, size_t room)
{
    if (r->count >= room || same_row(c, &choice->candidate[0]))
        return;
    for (size_t i = 0; i < r->count; i++) {
        if (same_row(c, r->row[i]))
            return;
    }
    r->row[r->count++] = c;
}

static double score(const pp_candidate *c)
{
    pp_ns ns = c->step_ns ? c->step_ns : c->least_step_ns;
    return (double)ns * (double)pp_parallel_gpus(&c->parallel);
}

/* Returns whether two candidates that do not fit are so alike that one of them is enough in the
 * table. */
static bool same_misfit(const pp_candidate *a, const pp_candidate *b)
{
    return a->status == b->status && a->recompute == b->recompute &&
           a->parallel.tp == b->parallel.tp && a->micro_batch_size == b->micro_batch_size;
}

/* Returns, among candidates that might be faster but do not fit and have no row yet, the one that
 * exceeds the memory by the least. */
static const pp_candidate *nearest_misfit(const pp_search_result *choice, const rows *r)
{
    const pp_candidate *best = NULL;
    for (size_t i = 0; i < choice->count; i++) {
        const pp_candidate *c = &choice->candidate[i];
        bool known = c->status != PP_CANDIDATE_INFEASIBLE || !c->legal ||
                     pp_candidate_more(c, &choice->candidate[0]) >= 0 ||
                     same_row(c, &choice->candidate[0]);
        for (size_t k = 0; k < r->count; k++)
            known = known || same_row(c, r->row[k]) || same_misfit(c, r->row[k]);
        if (!known && (!best || c->short_bytes < best->short_bytes))
            best = c;
    }
    return best;
}

/* Picks the five next best candidates that ran, three that might be faster but do not fit, and the
 * best one of every schedule that has no row by then. */
static rows pick_rows(const pp_search_result *choice)
{
    rows r = { .count = 0 };
    for (size_t i = 1; i < choice->count && choice->candidate[i].status == PP_CANDIDATE_OK; i++)
        add_row(&r, choice, &choice->candidate[i], 5);
    const pp_candidate *misfit;
    for (size_t n = 0; n < 3 && (misfit = nearest_misfit(choice, &r)); n++)
        add_row(&r, choice, misfit, 8);
    for (size_t i = 1; i < choice->count; i++) {
        const pp_candidate *c = &choice->candidate[i];
        bool named = c->schedule == choice->candidate[0].schedule;
        for (size_t k = 0; k < r.count; k++)
            named = named || r.row[k]->schedule == c->schedule;
        if (!named)
            add_row(&r, choice, c, ROWS_MAX);
    }
    return r;
}

/* Writes the step time, or tokens/s per GPU if GPU counts differ; for a candidate that did not run,
 * a bound. */
static void name_speed(const pp_search_result *choice, const pp_candidate *c, char *buffer,
                       size_t size)
{
    const pp_candidate *best = &choice->candidate[0];
    pp_ns ns = c->step_ns ? c->step_ns : c->least_step_ns;
    char step[32];
    double tokens = best->tokens_per_s * (double)best->step_ns;
    if (ns <= 0)
        snprintf(buffer, size, "-");
    else if (choice->per_gpu)
        snprintf(buffer, size, "%s%.1f", c->step_ns ? "  " : "<=", tokens / score(c));
    else
        snprintf(buffer, size, "%s%s",
                 c->step_ns ? "  " : ">=", pp_format_duration(step, sizeof step, ns));
}

/* Appends the memory of an alternative that leaves no headroom although the plan does, and its p95
 * where it is known. */
static void say_needs(const pp_search_result *choice, const pp_candidate *c, pp_text *text)
{
    char value[32];
    if (choice->recommendation.headroom_bytes && choice->candidate[0].roomy && !c->roomy)
        pp_text_add(text, "; %s leave no headroom",
                    pp_format_bytes(value, sizeof value, c->peak_bytes));
    if (choice->recommendation.tie > 0 && c->p95_ns && !choice->ranking.verdict)
        pp_text_add(text, "; p95 %s", pp_format_duration(value, sizeof value, c->p95_ns));
}

static void print_row(const pp_search_result *choice, const pp_candidate *c, pp_text *text)
{
    char speed[48];
    pp_text why PP_CLEANUP(pp_text_free) = { 0 };
    char cells[112];
    double slower = 100 * pp_candidate_more(c, &choice->candidate[0]);
    if (c->status == PP_CANDIDATE_OK) {
        pp_slower_say(slower / 100, &why);
        say_needs(choice, c, &why);
        pp_text_add(&why, "%s", c->reason.kind ? "; " : "");
    }
    if (c->status == PP_CANDIDATE_NOT_SIMULATED && c->least_step_ns && slower >= 0)
        pp_text_add(&why, "not simulated: at least %.2f %% slower", slower);
    else
        pp_reason_say(c, &why);
    name_speed(choice, c, speed, sizeof speed);
    snprintf(cells, sizeof cells, "%-14s %3" PRId64 " %3" PRId64 " %3" PRId64 " %-14s %s",
             c->schedule->name, c->parallel.vpp, c->parallel.tp, c->micro_batch_size,
             pp_recompute_name(c->recompute), speed);
    if (52 + why.bytes > PP_COLUMNS) {
        pp_text_add(text, "%s\n", cells);
        pp_print_labelled(text, "", &why);
    } else {
        pp_text_add(text, "%-51s %s\n", cells, why.data ? why.data : "");
    }
}

static double ranked_score(const pp_candidate *c)
{
    return (double)c->ranked_ns * (double)pp_parallel_gpus(&c->parallel);
}

/* Returns the next candidate that was studied under jitter, or NULL if there are no more. */
static const pp_candidate *next_ranked(const pp_search_result *choice, const pp_candidate *last)
{
    const pp_candidate *next = NULL;
    for (size_t i = 0; i < choice->count; i++) {
        const pp_candidate *c = &choice->candidate[i];
        bool later = !last || ranked_score(c) > ranked_score(last) ||
                     (ranked_score(c) == ranked_score(last) && c > last);
        if (c->ranked_ns && later && (!next || ranked_score(c) < ranked_score(next)))
            next = c;
    }
    return next;
}

static void print_jitter(const pp_search_result *choice, pp_text *text)
{
    enum { SHOWN = 8 };
    const pp_candidate *best = next_ranked(choice, NULL);
    const pp_candidate *c = best;
    pp_text_add(text,
                "\nunder jitter   vpp  tp mbs recompute       p50       p95       no jitter\n");
    for (int shown = 0; c && shown < SHOWN; shown++, c = next_ranked(choice, c)) {
        char cell[3][32];
        char tie[48] = "";
        if (c->tie && c != best)
            snprintf(tie, sizeof tie, " within %.2f %%: a tie",
                     100 * (ranked_score(c) / ranked_score(best) - 1));
        pp_text_add(text, "%-14s %3" PRId64 " %3" PRId64 " %3" PRId64 " %-14s  %-9s %-9s %s%s\n",
                    c->schedule->name, c->parallel.vpp, c->parallel.tp, c->micro_batch_size,
                    pp_recompute_name(c->recompute),
                    pp_format_duration(cell[0], sizeof cell[0], c->p50_ns),
                    pp_format_duration(cell[1], sizeof cell[1], c->p95_ns),
                    pp_format_duration(cell[2], sizeof cell[2], c->step_ns), tie);
    }
}

/* Prints the best GPU splits. */
static void print_splits(const pp_search_result *choice, pp_text *text)
{
    enum { SHOWN = 9 };
    bool bounds = false;
    pp_text_add(text, "\n  pp  tp  cp   dp  ep schedule         step      of %zu splits\n",
                choice->splits);
    for (size_t i = 0; i < choice->splits && i < SHOWN; i++) {
        const pp_candidate *c = &choice->split[i];
        const pp_parallel *p = &c->parallel;
        pp_ns ns = c->step_ns ? c->step_ns : c->least_step_ns;
        double slower = 100 * pp_candidate_more(c, &choice->split[0]);
        char step[32];
        pp_text why PP_CLEANUP(pp_text_free) = { 0 };
        bounds = bounds || !c->step_ns;
        pp_text_add(
            text, "%4" PRId64 " %3" PRId64 " %3" PRId64 " %4" PRId64 " %3" PRId64 " %-14s %s%-9s ",
            p->pp, p->tp, p->cp, p->dp, p->ep, c->schedule ? c->schedule->name : "-",
            c->step_ns ? "  " : ">=", pp_format_duration(step, sizeof step, ns));
        if (p->etp && p->etp != p->tp)
            pp_text_add(&why, "etp %" PRId64 ", ", p->etp);
        if (c->status == PP_CANDIDATE_INFEASIBLE)
            pp_reason_say(c, &why);
        else if (!i)
            pp_text_add(&why, "the plan above");
        else if (c->step_ns)
            pp_slower_say(slower / 100, &why);
        else
            pp_text_add(&why, "at least %.2f %% slower", slower);
        pp_print_words(text, why.data ? why.data : "", SPLIT_COLUMN, SPLIT_COLUMN);
    }
    if (bounds)
        pp_text_add(text, ">=: a lower bound of the step; the split was not simulated\n");
}

/* Copies and lookahead are chosen for the plan alone. */
static void print_alike(const pp_search_result *choice, pp_text *text)
{
    const pp_candidate *c = &choice->candidate[0];
    char step[32];
    if (c->searched_ns && c->searched_ns != c->step_ns)
        pp_text_add(text, "compared as searched, before sharding was chosen: the plan took %s\n",
                    pp_format_duration(step, sizeof step, c->searched_ns));
}

static void print_runners_up(const pp_search_result *choice, pp_text *text)
{
    rows r = pick_rows(choice);
    char late[32];
    if (!r.count)
        return;
    pp_text_add(text, "\nrunners-up     vpp  tp mbs recompute        %-10swhy not\n",
                choice->per_gpu ? "tok/s/GPU" : "step");
    for (size_t i = 0; i < r.count; i++)
        print_row(choice, r.row[i], text);
    pp_text_add(text, "up to: not searched as far as the plan; --schedule NAME does that\n");
    print_alike(choice, text);
    if (choice->candidate[0].p95_ns && !choice->ranking.verdict)
        pp_text_add(text,
                    "p95: if ops vary by 3 %% and one rank is 5 %% slow; that of the plan: %s\n",
                    pp_format_duration(late, sizeof late, choice->candidate[0].p95_ns));
}

static void name_stage(const pp_stage *stage, char *buffer, size_t size)
{
    char mtp[32] = "";
    if (stage->mtp)
        snprintf(mtp, sizeof mtp, " + %" PRId64 " MTP", stage->mtp);
    snprintf(buffer, size, "%s%" PRId64 " layer%s%s%s", stage->embedding ? "embedding + " : "",
             stage->layers, stage->layers == 1 ? "" : "s", mtp,
             stage->loss ? " + head and loss" : "");
}

static void print_partition(const pp_plan *plan, pp_text *text)
{
    uint32_t stages = (uint32_t)(plan->parallel.pp * plan->parallel.vpp);
    pp_text layout PP_CLEANUP(pp_text_free) = { 0 };
    pp_placement placement = PP_PLACE_LOOP;
    pp_order_placement(plan->order[0], &placement);
    if (placement == PP_PLACE_V)
        pp_text_add(text, "\nstages (V: stage s and stage %" PRId64 " - s share a rank)\n",
                    2 * plan->parallel.pp - 1);
    else
        pp_text_add(text, "\nstages (stage s on rank s mod %" PRId64 ")\n", plan->parallel.pp);
    for (uint32_t s = 0; s < stages;) {
        char what[96];
        char range[32];
        char same[96];
        uint32_t end = s + 1;
        name_stage(&plan->partition[s], what, sizeof what);
        for (; end < stages; end++) {
            name_stage(&plan->partition[end], same, sizeof same);
            if (strcmp(what, same) != 0)
                break;
        }
        snprintf(range, sizeof range, end == s + 1 ? "%" PRIu32 : "%" PRIu32 " to %" PRIu32, s,
                 end - 1);
        pp_text_add(text, "  %-10s %s%s\n", range, what, end == s + 1 ? "" : " each");
        s = end;
    }
    pp_layout_print(plan->partition, stages, &layout);
    if (layout.data && layout.bytes <= LAYOUT_MAX && layout.bytes + 9 <= PP_COLUMNS)
        pp_text_add(text, "  layout %s\n", layout.data);
    else
        pp_text_add(text, "  (the plan file has the layout string)\n");
}

static void print_assumptions(const pp_plan *plan, pp_text *text)
{
    if (plan->assumptions.count)
        pp_text_add(text, "\nassumed, because it was not given\n");
    for (size_t i = 0; i < plan->assumptions.count; i++) {
        const pp_note *note = &plan->assumptions.note[i];
        char words[2200];
        snprintf(words, sizeof words, "%s: %s", note->key, note->value);
        pp_text_add(text, "  - ");
        pp_print_words(text, words, 4, 4);
    }
}

static void print_details(const pp_search_result *choice, pp_text *text)
{
    pp_text_add(text, "\n");
    print_choice(choice, text);
    print_speed(choice, text);
    print_limits(choice, text);
    print_search(choice, text);
    if (choice->splits)
        print_splits(choice, text);
    print_runners_up(choice, text);
    print_partition(choice->plan, text);
    if (choice->plan->prediction->has_memory)
        pp_text_add(text, "\n");
    pp_plan_memory_print(choice->plan->prediction, text);
    print_assumptions(choice->plan, text);
    pp_text_add(
        text,
        "\nFor a training run: --target torchtitan --emit torchtitan=FILE.py (or automodel,\n"
        "megatron). --candidates FILE writes all %zu candidates.\n",
        choice->count);
}

void pp_plan_print(const pp_plan_view *view, pp_text *text)
{
    const pp_search_result *result = view->result;
    const pp_report *report = result->plan->prediction;
    pp_plan_summary_print(view, text);
    if (report->has_why)
        pp_why_print(&report->why, report->step_ns, text);
    if (result->ranking.verdict)
        print_jitter(result, text);
    if (view->verbose)
        print_details(result, text);
}
