/* Carries out --jitter and --sensitivity of `ppsim simulate`: reads the options, runs the studies,
 * and prints them at the end of the report. */
#include "tools/ppsim/report/robustness.h"

#include "planner/robustness/jitter.h"
#include "planner/robustness/jitter_run.h"
#include "planner/robustness/jitter_spec.h"
#include "planner/robustness/sensitivity.h"
#include "sim/base/processors.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/words.h"

#include <inttypes.h>
#include <stdio.h>

#define ROWS_SHOWN 16u

pp_status pp_robust_read(const pp_args *args, pp_robustness_request *request, pp_err *err)
{
    const char *text = pp_args_text(args, "--jitter");
    *request = (pp_robustness_request){ .jitter = text != NULL,
                                        .sensitivity = pp_args_has(args, "--sensitivity"),
                                        .threads = pp_processors() };
    if (request->threads > PP_JITTER_THREADS_MAX)
        request->threads = PP_JITTER_THREADS_MAX;
    if (!text && pp_args_has(args, "--threads"))
        return pp_err_set(err, PP_USAGE, "--threads",
                          "needs --jitter; add --jitter, or remove this option");
    pp_status status = text ? pp_jitter_parse(text, &request->spec, err) : PP_OK;
    return status
               ? status
               : pp_args_int(args, "--threads", 1, PP_JITTER_THREADS_MAX, &request->threads, err);
}

pp_status pp_robust_study(const pp_robustness_request *request, const pp_plan *plan,
                          const pp_jitter_subject *subject, pp_report *report, pp_err *err)
{
    pp_robustness *out = &report->robustness;
    pp_status status = PP_OK;
    if (request->jitter) {
        pp_jitter_result result;
        status = pp_jitter_study(subject, &request->spec, plan->seed, (uint32_t)request->threads,
                                 &result, err);
        if (!status)
            status = pp_jitter_report(&result, plan->parallel.dp, report, err);
    }
    if (!status && request->sensitivity)
        status = pp_sensitivity_study(subject, &out->sensitivity, err);
    return status;
}

static void print_slow(const char *what, const pp_jitter_slow *slow, pp_text *text)
{
    if (slow->factor <= 0)
        return;
    if (slow->at == PP_JITTER_ANY)
        pp_text_add(text, ", any one %s x %g", what, slow->factor);
    else
        pp_text_add(text, ", %s %" PRId64 " x %g", what, slow->at, slow->factor);
}

static void print_jitter(const pp_jitter_result *jitter, pp_text *text)
{
    char cell[7][32];
    const double *sigma = jitter->spec.sigma;
    bool same = true;
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    for (int kind = 1; kind < PP_OP_KIND_COUNT; kind++)
        same = same && sigma[kind] == sigma[0];
    pp_text_add(&words, "%" PRId64 " scenario%s, seed %" PRIu64 "; sigma", jitter->spec.scenarios,
                jitter->spec.scenarios == 1 ? "" : "s", jitter->seed);
    for (int kind = 0; !same && kind < PP_OP_KIND_COUNT; kind++)
        pp_text_add(&words, " %c %g,", pp_op_letter((pp_op_kind)kind), sigma[kind]);
    if (same)
        pp_text_add(&words, " compute %g,", sigma[0]);
    pp_text_add(&words, " comm %g", jitter->spec.comm_sigma);
    print_slow("rank", &jitter->spec.rank, &words);
    print_slow("link", &jitter->spec.link, &words);
    pp_text_add(text, "\n");
    pp_print_labelled(text, "jitter", &words);
    pp_print_line(text, "", "step p50 %s, p95 %s, p99 %s",
                  pp_format_duration(cell[0], sizeof cell[0], jitter->p50_ns),
                  pp_format_duration(cell[1], sizeof cell[1], jitter->p95_ns),
                  pp_format_duration(cell[2], sizeof cell[2], jitter->p99_ns));
    pp_print_line(
        text, "", "mean %s, standard deviation %s, from %s to %s",
        pp_format_duration(cell[3], sizeof cell[3], (pp_ns)(jitter->mean_ns + 0.5)),
        jitter->spec.scenarios > 1
            ? pp_format_duration(cell[4], sizeof cell[4], (pp_ns)(jitter->deviation_ns + 0.5))
            : "unknown",
        pp_format_duration(cell[5], sizeof cell[5], jitter->min_ns),
        pp_format_duration(cell[6], sizeof cell[6], jitter->max_ns));
}

static void print_sensitivity(const pp_sensitivity *sensitivity, pp_text *text)
{
    char cell[32];
    pp_ns sum_ns[2] = { 0 };
    pp_text_add(text,
                "\nsensitivity  growth of the step per ns on every op of a stage, or on every\n"
                "             transfer between two ranks%s\n"
                "                     growth%s\n",
                sensitivity->has_path ? "; and what lies on one critical path" : "",
                sensitivity->has_path ? "  on the path         time" : "");
    for (size_t i = 0; i < sensitivity->count; i++) {
        const pp_sensitivity_row *row = &sensitivity->row[i];
        char name[32];
        sum_ns[row->is_link] += row->path_ns;
        if (i >= ROWS_SHOWN)
            continue;
        if (row->is_link)
            snprintf(name, sizeof name, "link %" PRIu32 "-%" PRIu32, row->first, row->second);
        else
            snprintf(name, sizeof name, "stage %" PRIu32, row->first);
        pp_text_add(text, "%-18s %8" PRId64, name, row->growth);
        if (sensitivity->has_path)
            pp_text_add(text, " %12" PRId64 " %12s", row->path_count,
                        pp_format_duration(cell, sizeof cell, row->path_ns));
        pp_text_add(text, "\n");
    }
    if (sensitivity->count > ROWS_SHOWN)
        pp_text_add(text, "... %zu more; --json has them all\n", sensitivity->count - ROWS_SHOWN);
    if (!sensitivity->has_path)
        return;
    pp_text_add(text, "all stages  %28s %12s\n", "",
                pp_format_duration(cell, sizeof cell, sum_ns[0]));
    pp_text_add(text, "all links   %28s %12s\n", "",
                pp_format_duration(cell, sizeof cell, sum_ns[1]));
    pp_text_add(text, "end of the path %24s %12s\n", "",
                pp_format_duration(cell, sizeof cell, sensitivity->path_end_ns));
}

void pp_robustness_print(const pp_robustness *robustness, pp_text *text)
{
    if (robustness->has_jitter)
        print_jitter(&robustness->jitter, text);
    if (robustness->sensitivity)
        print_sensitivity(robustness->sensitivity, text);
}
