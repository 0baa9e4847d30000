/* Writes labelled lines for people: what was planned or simulated, its time and its memory. */
#include "tools/ppsim/report/answer.h"

#include "planner/candidate/candidate.h"
#include "tools/ppsim/base/colour.h"
#include "tools/ppsim/base/words.h"
#include "tools/ppsim/report/shares.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void pp_answer_degrees(const pp_parallel *p, pp_text *words)
{
    const struct {
        const char *name;
        int64_t degree;
    } others[] = {
        { "tp", p->tp }, { "cp", p->cp }, { "dp", p->dp }, { "ep", p->ep }, { "vpp", p->vpp }
    };
    pp_text_add(words, "pp %" PRId64, p->pp);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i].degree > 1)
            pp_text_add(words, ", %s %" PRId64, others[i].name, others[i].degree);
    }
    if (p->etp && p->etp != p->tp)
        pp_text_add(words, ", etp %" PRId64, p->etp);
}

/* Appends "micro-batch size 2 x 4096 tokens (64 microbatches per replica)"; with sequences of
 * several lengths, "micro-batch size 2 (64 microbatches of 6796 to 8192 tokens)". */
static void add_data(const pp_plan *plan, pp_text *words)
{
    const pp_workload *w = &plan->workload;
    int64_t least = INT64_MAX;
    int64_t most = 0;
    char tokens[64];
    for (size_t j = 0; j < (size_t)w->replicas * w->microbatches; j++) {
        const int64_t now = w->microbatch[j].tokens;
        least = now < least ? now : least;
        most = now > most ? now : most;
    }
    pp_range_print(tokens, sizeof tokens, least, most);
    pp_text_add(words, "micro-batch size %" PRId64, plan->micro_batch_size);
    if (least != most && plan->micro_batch_size > 1 && plan->seq_length && most > plan->seq_length)
        pp_text_add(words,
                    ", which packs %" PRId64 " rows of up to %" PRId64 " tokens in a microbatch",
                    plan->micro_batch_size, plan->seq_length);
    if (least == most && most && plan->micro_batch_size && most % plan->micro_batch_size == 0)
        pp_text_add(words, " x %" PRId64 " tokens", most / plan->micro_batch_size);
    pp_text_add(words, " (%" PRIu32 " microbatch%s", w->microbatches,
                w->microbatches == 1 ? "" : "es");
    if (least != most)
        pp_text_add(words, " of %s tokens", tokens);
    if (plan->parallel.dp > 1)
        pp_text_add(words, " per replica");
    if (plan->runs > 1)
        pp_text_add(words, " in %" PRId64 " pipeline runs", plan->runs);
    const int64_t to = plan->sizes.tokens ? plan->sizes.tokens : most;
    if (plan->has_sizes && plan->sizes.kind == PP_SIZES_PADDED && (least != most || to > most))
        pp_text_add(words, ", %s to %" PRId64, least == most ? "padded" : "all padded", to);
    else if (plan->has_sizes && plan->sizes.kind == PP_SIZES_BUCKET)
        pp_text_add(words, ", padded to multiples of %" PRId64, to);
    pp_text_add(words, ")");
}

static const char *recompute_words(pp_recompute recompute)
{
    switch (recompute) {
    case PP_RECOMPUTE_NONE:
        return "no recomputation";
    case PP_RECOMPUTE_SELECTIVE:
        return "selective recomputation";
    case PP_RECOMPUTE_FULL:
        return "full recomputation";
    case PP_RECOMPUTE_STAGES:
        return "recomputation per stage";
    case PP_RECOMPUTE_MICROBATCHES:
        return "recomputation per microbatch";
    case PP_RECOMPUTE_AUTO:
    case PP_RECOMPUTE_UNKNOWN:
        break;
    }
    return "unknown recomputation";
}

/* " of layernorm and moe_act" */
static void add_names(unsigned set, const char *const *names, pp_text *words)
{
    int left = 0;
    for (int k = 0; names[k]; k++)
        left += (set >> k & 1) != 0;
    pp_text_add(words, " of");
    for (int k = 0, n = 0; names[k]; k++) {
        if (!(set >> k & 1))
            continue;
        pp_text_add(words, "%s %s", n == 0 ? "" : n + 1 == left ? " and" : ",", names[k]);
        n++;
    }
}

/* Nothing for the attention core, which is what is usual. */
static void add_modules(unsigned modules, pp_text *words)
{
    if (modules && modules != PP_MODULES_CORE)
        add_names(modules, pp_recompute_module_names(), words);
}

void pp_answer_setup(const pp_plan *plan, pp_text *words)
{
    if (plan->precision != PP_PRECISION_BF16)
        pp_text_add(words, "%s%s, ", pp_recipe_of(plan->precision)->name,
                    plan->low_parameters ? "" : " (weights in 16 bits)");
    pp_answer_degrees(&plan->parallel, words);
    if (plan->cp_comm != PP_CP_COMM_RING)
        pp_text_add(words, ", cp exchange %s", pp_cp_comm_names()[plan->cp_comm]);
    if (plan->parallel.ep > 1)
        pp_text_add(words, ", %s%s%s", pp_dispatcher_names()[plan->dispatcher],
                    plan->moe_fp8_dispatch ? " (fp8)" : "",
                    plan->moe_shared_expert_overlap ? " beside shared experts" : "");
    if (plan->moe_imbalance > 1)
        pp_text_add(words, ", imbalance %.4g", plan->moe_imbalance);
    if (plan->moe_capacity > 0)
        pp_text_add(words, ", %s %.4g", plan->moe_pads ? "padded to capacity" : "capacity",
                    plan->moe_capacity);
    if (plan->graphs) {
        pp_text_add(words, ", CUDA graphs");
        if (plan->graphs == PP_GRAPHS_FULL)
            pp_text_add(words, " of all");
        else
            add_names(plan->graphs, pp_graph_names(), words);
    }
    if (plan->zero >= 0 && (plan->zero == 3 || plan->parallel.dp * plan->parallel.cp > 1))
        pp_text_add(words, ", ZeRO %d", plan->zero);
    if (plan->dp_replicate > 1)
        pp_text_add(words, " (%" PRId64 " copies)", plan->dp_replicate);
    if (plan->reshard_after_forward == PP_RESHARD_ALWAYS)
        pp_text_add(words, ", resharded after forwards");
    else if (plan->reshard_after_forward > 0)
        pp_text_add(words, ", resharded after forwards over %" PRId64 " GPUs",
                    plan->reshard_after_forward);
    if (plan->moments != PP_MOMENTS_FP32)
        pp_text_add(words, ", optimizer in %s", pp_moments_names()[plan->moments]);
    pp_text_add(words, "; ");
    add_data(plan, words);
    pp_text_add(words, "; %s", recompute_words(plan->recompute));
    if (plan->recompute == PP_RECOMPUTE_FULL && plan->recompute_layers > 1)
        pp_text_add(words, ", %" PRId64 " layers at a time", plan->recompute_layers);
    if (plan->recompute == PP_RECOMPUTE_SELECTIVE)
        add_modules(plan->recompute_modules, words);
    pp_text_add(words, "; ");
    if (strcmp(plan->schedule, pp_planned_schedule.name) == 0)
        pp_text_add(words, "a custom order");
    else
        pp_text_add(words, "schedule %s", plan->schedule);
}

void pp_answer_step(const pp_report *r, const pp_plan *plan, bool parts, pp_text *text)
{
    const pp_recipe *recipe = pp_recipe_of(plan->precision);
    const int64_t gpus = pp_parallel_gpus(&plan->parallel);
    char cell[3][32];
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    pp_text_add(&words, "%s%s%s", pp_colour_begin(PP_COLOUR_ANSWER),
                pp_format_duration(cell[0], sizeof cell[0], r->step_ns),
                pp_colour_end(PP_COLOUR_ANSWER));
    if (parts && r->step_boundary_ns)
        pp_text_add(&words, " (makespan %s + end of step %s)",
                    pp_format_duration(cell[1], sizeof cell[1], r->makespan_ns),
                    pp_format_duration(cell[2], sizeof cell[2], r->step_boundary_ns));
    if (r->tokens_per_s > 0)
        pp_text_add(&words, ", %.0f tokens/s (%.1f per GPU)", r->tokens_per_s,
                    r->tokens_per_s / (double)gpus);
    if (r->model_flops_utilization > 0)
        pp_text_add(&words, ", MFU %.1f %%%s%s%s", 100 * r->model_flops_utilization,
                    recipe->format ? " (of the " : "",
                    recipe->format ? pp_gemm_format_names()[recipe->format] : "",
                    recipe->format ? " peak)" : "");
    pp_print_labelled(text, "step", &words);
}

void pp_answer_time(const pp_why *why, const pp_parallel *parallel, bool together, pp_text *text)
{
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    const pp_shares shares = pp_shares_of(why);
    pp_shares_print(&shares, parallel, together, &words);
    pp_print_labelled(text, "time", &words);
}

void pp_answer_uncertainty(const pp_uncertainty *uncertainty, pp_text *words)
{
    pp_text_add(words, "%s", uncertainty->links_only ? "" : "step ");
    pp_uncertainty_print(uncertainty, words);
    pp_text_add(words, " (95 %% of the measurements)");
}

int64_t pp_answer_limit(const pp_report *r, uint32_t rank)
{
    const int64_t own_bytes = r->per_rank[rank].memory_limit_bytes;
    return own_bytes ? own_bytes : r->memory_limit_bytes;
}

pp_tightest pp_answer_tightest(const pp_report *r)
{
    pp_tightest t = { r->peak_memory_rank, r->peak_memory_bytes,
                      pp_answer_limit(r, r->peak_memory_rank) };
    for (uint32_t k = 0; k < r->ranks; k++) {
        const int64_t peak_bytes = r->per_rank[k].memory.total_bytes;
        const int64_t limit_bytes = pp_answer_limit(r, k);
        if (limit_bytes &&
            (!t.limit_bytes || limit_bytes - peak_bytes < t.limit_bytes - t.peak_bytes))
            t = (pp_tightest){ k, peak_bytes, limit_bytes };
    }
    return t;
}

void pp_answer_memory(const pp_tightest *t, pp_text *words)
{
    const int64_t left_bytes = t->limit_bytes - t->peak_bytes;
    const pp_colour colour = t->limit_bytes && left_bytes < 0 ? PP_COLOUR_BAD : PP_COLOUR_NONE;
    char cell[3][64];
    pp_format_bytes(cell[0], sizeof cell[0], t->peak_bytes);
    pp_format_limit(cell[1], sizeof cell[1], t->limit_bytes);
    pp_format_bytes(cell[2], sizeof cell[2], left_bytes < 0 ? -left_bytes : left_bytes);
    if (!t->limit_bytes)
        pp_text_add(words, "%s on rank %" PRIu32 ", the fullest; there is no limit", cell[0],
                    t->rank);
    else
        pp_text_add(words, "%s%s of %s on rank %" PRIu32 ", the tightest: %s %s%s",
                    pp_colour_begin(colour), cell[0], cell[1], t->rank, cell[2],
                    left_bytes < 0 ? "too much" : "left", pp_colour_end(colour));
}

size_t pp_answer_count(const pp_text *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->bytes; i++)
        lines += text->data[i] == '\n';
    return lines;
}

void pp_print_note(pp_text *text, const pp_notes *assumptions, const char *key, const char *label)
{
    for (size_t i = 0; i < assumptions->count; i++) {
        if (strcmp(assumptions->note[i].key, key) == 0)
            pp_print_line(text, label, "%s", assumptions->note[i].value);
    }
}
