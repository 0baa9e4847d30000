/* Names, scores and one line of CSV of a candidate. */
#include "planner/candidate/candidate.h"

#include "sim/base/field.h"
#include "sim/schedule/registry.h"

#include <inttypes.h>
#include <stdio.h>

const char *pp_candidate_status_name(pp_candidate_status status)
{
    static const char *const names[] = { "ok", "pruned", "infeasible" };
    return names[status];
}

double pp_candidate_score(const pp_candidate *candidate, pp_ns step_ns)
{
    return (double)step_ns * (double)pp_parallel_gpus(&candidate->parallel);
}

bool pp_is_worth(double least, double floor, double score, double best_score)
{
    return least * (1 + 1.0 / PP_MEASURABLE_GAIN) < best_score &&
           score - best_score <= 2.5 * (best_score - floor);
}

static pp_status build_nothing(const pp_schedule_params *shape, pp_order **order_out, pp_err *err)
{
    (void)shape;
    (void)order_out;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SCHEDULE),
                      "planned orders are found, not generated");
}

const pp_schedule pp_planned_schedule = {
    .name = "planned",
    .summary = "an order found for these costs and this memory",
    .build = build_nothing,
};

bool pp_candidate_is_named(const pp_candidate *c)
{
    return pp_schedule_find(c->schedule->name) == c->schedule;
}

static bool is_static(int component)
{
    return component == PP_MEMORY_PARAMETERS || component == PP_MEMORY_GRADIENTS ||
           component == PP_MEMORY_OPTIMIZER || component == PP_MEMORY_COMM_LIBRARY;
}

/* The component to blame: the largest of those that a step adds, when the others fit. */
static pp_memory_component to_blame(int64_t short_bytes, const int64_t bytes[PP_MEMORY_COUNT])
{
    int64_t dynamic = 0;
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        dynamic += is_static(c) ? 0 : bytes[c];
    bool look_static = short_bytes > dynamic;
    pp_memory_component biggest = look_static ? PP_MEMORY_PARAMETERS : PP_MEMORY_ACTIVATIONS;
    for (int c = 0; c < PP_MEMORY_COUNT; c++) {
        if (is_static(c) == look_static && bytes[c] > bytes[biggest])
            biggest = (pp_memory_component)c;
    }
    return biggest;
}

void pp_candidate_short(char *buffer, size_t size, uint32_t rank, int64_t short_bytes,
                        const int64_t bytes[PP_MEMORY_COUNT])
{
    char amount[32];
    snprintf(buffer, size, "rank %" PRIu32 " short by %s, %s", rank,
             pp_format_bytes(amount, sizeof amount, short_bytes),
             pp_memory_key(to_blame(short_bytes, bytes)));
}

static void csv_row(const pp_candidate *c, pp_text *text)
{
    pp_text_add(text,
                "%s,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                ",%" PRId64 ",%" PRId64 ",%" PRIu32 ",%s,%s,%" PRId64 ",",
                pp_candidate_status_name(c->status), c->schedule ? c->schedule->name : "",
                c->parallel.pp, c->parallel.vpp, c->parallel.tp, c->parallel.cp, c->parallel.dp,
                c->parallel.ep, pp_parallel_gpus(&c->parallel), c->micro_batch_size,
                c->microbatches, pp_recompute_name(c->recompute), pp_partition_name(c->partition),
                c->least_step_ns);
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
        pp_text_add(text, "%" PRId64 ",%" PRId64, c->p50_ns, c->p95_ns);
    else
        pp_text_add(text, ",");
    pp_text_add(text, ",\"");
    for (const char *letter = c->reason; *letter; letter++)
        pp_text_add(text, "%s%c", *letter == '"' ? "\"" : "", *letter);
    pp_text_add(text, "\"\n");
}

void pp_candidate_csv(const pp_candidate *candidate, pp_text *text)
{
    if (candidate)
        csv_row(candidate, text);
    else
        pp_text_add(text,
                    "status,schedule,pp,vpp,tp,cp,dp,ep,gpus,micro_batch_size,microbatches,"
                    "recompute,partition,least_step_ns,step_ns,bubble_fraction,tokens_per_s,"
                    "model_flops_utilization,peak_memory_bytes,peak_memory_rank,p50_ns,p95_ns,"
                    "reason\n");
}
