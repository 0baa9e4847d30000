/* Prints the answer of a simulation: labelled lines of at most 80 columns, the step first. What has
 * no room in 15 lines is left to --verbose: the longest wait first, then the bound.
 * report/report_print.c prints the details. */
#include "tools/ppsim/scenario/simulate_answer.h"

#include "tools/ppsim/base/words.h"
#include "tools/ppsim/report/answer.h"
#include "tools/ppsim/report/op_words.h"
#include "tools/ppsim/report/report_print.h"
#include "tools/ppsim/report/shares.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *plural(uint32_t count, const char *ending)
{
    return count == 1 ? "" : ending;
}

/* Appends "executor torch", or where the sends and receives come from. */
static void add_executor(const pp_report *r, pp_text *words)
{
    if (r->framework)
        pp_text_add(words, "executor %s", r->framework->name);
    else
        pp_text_add(words, "sends and receives as in the file");
}

/* "llama3-8b on 8 x h100-80g" and its setup, or the schedule and its sizes without a model. */
static void print_run(const pp_scenario *s, pp_text *text)
{
    const pp_plan *plan = s->plan;
    const pp_report *r = plan->prediction;
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    if (plan->model[0] && plan->workload.microbatch) {
        pp_text_add(&words, "%s on %" PRId64 " x %s, %" PRIu32 " stage%s, ", plan->model,
                    pp_parallel_gpus(&plan->parallel), plan->hardware, r->stages,
                    plural(r->stages, "s"));
        add_executor(r, &words);
        pp_print_words(text, words.data ? words.data : "", 0, 0);
        text->failed |= words.failed;
        pp_text_free(&words);
        words = (pp_text){ 0 };
        pp_answer_setup(plan, &words);
        if (s->program->forward_only)
            pp_text_add(&words, "; forwards only");
    } else {
        pp_text_add(&words,
                    "%s%s on %" PRIu32 " rank%s, %" PRIu32 " stage%s, %" PRIu32 " microbatch%s",
                    s->program->forward_only ? "forwards of " : "", r->schedule, r->ranks,
                    plural(r->ranks, "s"), r->stages, plural(r->stages, "s"), r->microbatches,
                    plural(r->microbatches, "es"));
        if (plan->runs > 1)
            pp_text_add(&words, " in %" PRId64 " pipeline runs", plan->runs);
        pp_text_add(&words, ", ");
        add_executor(r, &words);
    }
    pp_print_labelled(text, "run", &words);
}

static void print_confidence(const pp_report *r, pp_text *text)
{
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    if (!r->uncertainty.step_ns)
        return;
    pp_answer_uncertainty(&r->uncertainty, &words);
    pp_print_labelled(text, "how sure", &words);
}

static void print_time(const pp_scenario *s, const pp_why *why, pp_text *text)
{
    const pp_parallel *p = &s->plan->parallel;
    pp_answer_time(why, p, !why->has_collectives && (p->tp > 1 || p->cp > 1 || p->ep > 1), text);
}

static void print_bubble(const pp_report *r, const pp_why *why, pp_text *text)
{
    const pp_shares shares = pp_shares_of(why); /* there, these waits are not bubble */
    const bool waits = shares.tenths[PP_SHARE_PP] || shares.tenths[PP_SHARE_HOST];
    pp_print_line(text, "bubble",
                  "%.2f %% of all rank time%s; %.2f %% of the longest time from the first to the "
                  "last op of a rank",
                  100 * r->bubble_fraction, waits ? ", all waits included" : "",
                  100 * r->bubble_rate);
}

static void print_memory(const pp_report *r, pp_text *text)
{
    char op[PP_OP_WORDS_BYTES];
    uint32_t over;
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    if (!r->has_memory)
        return;
    const pp_tightest t = pp_answer_tightest(r);
    pp_answer_memory(&t, &words);
    if (r->memory_replica != r->replica)
        pp_text_add(&words, " (replica %" PRIu32 ")", r->memory_replica);
    if (!pp_report_first_over(r, &over))
        pp_text_add(&words, "%s during %s", t.limit_bytes ? "" : ",",
                    pp_op_words(r->per_rank[t.rank].peak_op, op));
    pp_print_labelled(text, "memory", &words);
    pp_over_limit_print(r, text);
}

static void print_bound(const pp_report *r, pp_text *text)
{
    const char *what = r->step_boundary_ns ? "makespan" : "step";
    if (!r->has_bound || r->lower_bound_ns <= 0)
        return;
    if (r->makespan_ns == r->lower_bound_ns)
        pp_print_line(text, "lower bound", "no order of the ops of these stages has a shorter %s",
                      what);
    else
        pp_print_line(text, "lower bound",
                      "an order of these ops can make the %s at most %.2f %% shorter", what,
                      100 * (1 - (double)r->lower_bound_ns / (double)r->makespan_ns));
}

/* Appends what the rank waits for. in_words: explain the op. */
static void add_blocker(const pp_blocked *wait, bool in_words, pp_text *words)
{
    char buffer[PP_OP_WORDS_BYTES];
    pp_op op;
    switch (wait->cause) {
    case PP_IDLE_DATA:
        in_words = in_words && pp_op_parse(wait->by, strlen(wait->by), &op);
        pp_text_add(words, ", for %s of rank %" PRIu32,
                    in_words ? pp_op_words(op, buffer) : wait->by, wait->by_rank);
        break;
    case PP_IDLE_BUFFER:
        pp_text_add(words, ", until rank %" PRIu32 " receives (%s)", wait->by_rank, wait->by);
        break;
    case PP_IDLE_LINK:
        pp_text_add(words, ", for transfer %s of rank %" PRIu32, wait->by, wait->by_rank);
        break;
    case PP_IDLE_HOST:
        pp_text_add(words, ", for its host");
        break;
    case PP_IDLE_SYNC:
        pp_text_add(words, ", in a synchronisation of its device");
        break;
    case PP_IDLE_COUNT:
        break;
    }
}

static void print_wait(const pp_report *r, bool in_words, pp_text *text)
{
    char cell[2][32];
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    if (!r->worst.count)
        return;
    const pp_blocked *wait = &r->worst.item[0];
    pp_text_add(&words, "%s by rank %" PRIu32,
                pp_format_duration(cell[0], sizeof cell[0], wait->waits_ns), wait->rank);
    if (wait->at_ns)
        pp_text_add(&words, " from %s on",
                    pp_format_duration(cell[1], sizeof cell[1], wait->at_ns));
    else
        pp_text_add(&words, " at the start");
    add_blocker(wait, in_words, &words);
    pp_print_labelled(text, "longest wait", &words);
}

/* Adds the lines if that leaves room for one more. Returns whether it did. */
static bool add_if_it_fits(const pp_text *lines, pp_text *text)
{
    const bool fits = pp_answer_count(text) + pp_answer_count(lines) < PP_ANSWER_LINES;
    text->failed |= lines->failed;
    if (fits && lines->data)
        pp_text_add(text, "%s", lines->data);
    return fits;
}

void pp_simulate_answer_print(const pp_scenario *s, const pp_why *why, pp_text *text)
{
    const pp_report *r = s->plan->prediction;
    pp_text bound PP_CLEANUP(pp_text_free) = { 0 };
    pp_text wait[2] = { { 0 }, { 0 } };
    print_run(s, text);
    pp_answer_step(r, s->plan, true, text);
    pp_period_print(r, text);
    print_confidence(r, text);
    print_time(s, why, text);
    print_bubble(r, why, text);
    print_memory(r, text);
    if (r->compile_ns)
        pp_graphs_print(r, text);
    print_bound(r, &bound);
    add_if_it_fits(&bound, text);
    print_wait(r, true, &wait[0]);
    print_wait(r, false, &wait[1]);
    if (!add_if_it_fits(&wait[0], text))
        add_if_it_fits(&wait[1], text);
    pp_text_free(&wait[0]);
    pp_text_free(&wait[1]);
    pp_print_line(text, "next",
                  "--verbose: every rank, the longest waits, parts of memory and step");
}
