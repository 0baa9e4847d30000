/* Computes one point: makes its command line of plan or simulate, runs it, and writes the result as
 * a line. */
#include "tools/ppsim/sweep/point.h"

#include "sim/base/alloc.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/input/profile_args.h"
#include "tools/ppsim/plan/input.h"
#include "tools/ppsim/scenario/scenario.h"
#include "tools/ppsim/scenario/scenario_run.h"
#include "tools/ppsim/sweep/seal.h"
#include "tools/ppsim/sweep/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const pp_sweep_numbers[] = { "schedule",
                                         "vpp",
                                         "tp",
                                         "recompute",
                                         "micro_batch_size",
                                         "microbatches",
                                         "gpus",
                                         "step_ns",
                                         "makespan_ns",
                                         "bubble_fraction",
                                         "bubble_rate",
                                         "lower_bound_ns",
                                         "tokens_per_s",
                                         "tokens_per_s_per_gpu",
                                         "model_flops_utilization",
                                         "peak_memory_bytes",
                                         "step_low_ns",
                                         "step_high_ns",
                                         "dp_replicate",
                                         "unshard_lookahead",
                                         "reshard_after_forward",
                                         "warnings",
                                         NULL };

/* The command line of a point, as a user would type it: ppsim STUDY --axis=value ...
 * --threads=1. */
typedef struct point_args {
    char **word; /* [words] */
    size_t words;
    pp_args *args;
} point_args;

static void free_args(point_args *p)
{
    for (size_t i = 0; p->word && i < p->words; i++)
        free(p->word[i]);
    free(p->word);
    pp_args_free(&p->args);
}

static pp_status add_word(point_args *p, const char *option, const char *value, pp_err *err)
{
    size_t bytes = strlen(option) + (value ? strlen(value) : 0) + 2;
    char *word = malloc(bytes);
    if (!word)
        return pp_err_nomem(err);
    snprintf(word, bytes, "%s%s%s", option, value ? "=" : "", value ? value : "");
    p->word[p->words++] = word;
    return PP_OK;
}

static pp_status make_args(const pp_grid *grid, uint32_t point, point_args *p, pp_err *err)
{
    p->word = pp_alloc_array(grid->axes + 4, sizeof *p->word);
    if (!p->word)
        return pp_err_nomem(err);
    pp_status status = add_word(p, "ppsim", NULL, err);
    if (!status)
        status = add_word(p, grid->study->name, NULL, err);
    for (size_t i = 0; i < grid->axes && !status; i++) {
        const pp_option *option = grid->axis[i].option;
        status = add_word(p, option->name,
                          option->argument ? pp_grid_argument(grid, point, i) : NULL, err);
    }
    if (!status)
        status = add_word(p, "--threads", "1", err); /* the sweep has many workers already */
    return status ? status : pp_args_parse(grid->study, (int)p->words, p->word, &p->args, err);
}

static void put_report(const pp_report *report, pp_json_build *build, pp_json *line)
{
    pp_json_put_text(build, line, "schedule", report->schedule);
    pp_json_put_int(build, line, "microbatches", report->microbatches);
    pp_json_put_int(build, line, "makespan_ns", report->makespan_ns);
    pp_json_put_int(build, line, "step_ns",
                    report->has_period ? report->period_ns : report->step_ns);
    if (report->uncertainty.step_ns && !report->has_period) {
        pp_json_put_int(build, line, "step_low_ns", report->uncertainty.step_low_ns);
        pp_json_put_int(build, line, "step_high_ns", report->uncertainty.step_high_ns);
    }
    pp_json_put_double(build, line, "bubble_fraction", report->bubble_fraction);
    pp_json_put_double(build, line, "bubble_rate", report->bubble_rate);
    if (report->has_bound)
        pp_json_put_int(build, line, "lower_bound_ns", report->lower_bound_ns);
    if (report->has_memory)
        pp_json_put_int(build, line, "peak_memory_bytes", report->peak_memory_bytes);
    if (report->tokens_per_s > 0) {
        pp_json_put_double(build, line, "tokens_per_s", report->tokens_per_s);
        if (report->model_flops_utilization > 0) /* a profile alone does not contain the peak */
            pp_json_put_double(build, line, "model_flops_utilization",
                               report->model_flops_utilization);
    }
}

static void put_sharding(const pp_plan *plan, pp_json_build *build, pp_json *line)
{
    char words[64];
    pp_json_put_int(build, line, "dp_replicate", plan->dp_replicate > 1 ? plan->dp_replicate : 1);
    pp_json_put_text(
        build, line, "unshard_lookahead",
        pp_unshard_lookahead_print(plan->pytorch.unshard_lookahead, words, sizeof words));
    pp_json_put_text(build, line, "reshard_after_forward",
                     pp_reshard_print(plan->reshard_after_forward, words, sizeof words));
}

static void put_plan(const pp_plan *plan, pp_json_build *build, pp_json *line)
{
    const pp_parallel *p = &plan->parallel;
    pp_text warnings PP_CLEANUP(pp_text_free) = { 0 };
    int64_t gpus = p->pp * p->tp * p->cp * p->dp;
    put_report(plan->prediction, build, line);
    pp_json_put_int(build, line, "vpp", p->vpp);
    pp_profile_warnings(&plan->assumptions, &warnings);
    for (size_t i = 0; i < plan->assumptions.count; i++) {
        const pp_note *note = &plan->assumptions.note[i];
        if (strcmp(note->key, PP_NOTE_LONG) == 0)
            pp_text_add(&warnings, "%s%s: %s", warnings.bytes ? "; " : "", note->key, note->value);
    }
    build->failed = build->failed || warnings.failed;
    if (warnings.bytes)
        pp_json_put_text(build, line, "warnings", warnings.data);
    if (!plan->model[0])
        return;
    pp_json_put_int(build, line, "tp", p->tp);
    pp_json_put_int(build, line, "gpus", gpus);
    pp_json_put_double(build, line, "tokens_per_s_per_gpu",
                       plan->prediction->tokens_per_s / (double)gpus);
    pp_json_put_text(build, line, "recompute", pp_recompute_name(plan->recompute));
    if (plan->micro_batch_size)
        pp_json_put_int(build, line, "micro_batch_size", plan->micro_batch_size);
    if (plan->zero == 3)
        put_sharding(plan, build, line);
}

static pp_plan_input new_request(const pp_sweep *sweep)
{
    return (pp_plan_input){ .inputs = &sweep->inputs, .profile = { .quiet = true } };
}

static pp_status run_plan(const pp_sweep *sweep, const pp_args *args, pp_kept_orders *kept,
                          pp_json_build *build, pp_json *line, pp_err *err)
{
    pp_plan_input input PP_CLEANUP(pp_plan_input_free) = new_request(sweep);
    pp_search_result *choice PP_CLEANUP(pp_search_result_free) = NULL;
    pp_status status = pp_plan_input_read(args, &input, err);
    if (!status)
        status = pp_plan_input_read_packing(args, &input, err);
    input.request.no_advice =
        true; /* it takes ten times as long as a plan, and other points answer it */
    input.request.numbers_only = true;
    input.request.kept = kept;
    if (!status && !(status = pp_plan_search(&input.request, &choice, err)) &&
        !(status = pp_notes_copy(&input.assumptions, &choice->plan->assumptions, err)) &&
        !(status = pp_profile_finish(&input.profile, &choice->context, choice->plan, err)))
        put_plan(choice->plan, build, line);
    return status;
}

static pp_status run_simulate(const pp_args *args, pp_json_build *build, pp_json *line, pp_err *err)
{
    pp_scenario study PP_CLEANUP(pp_scenario_free) = { 0 };
    pp_status status = pp_scenario_prepare(args, &study, err);
    if (!status && !(status = pp_scenario_report(args, &study, err)) &&
        !(status = pp_scenario_check_limit(study.plan->prediction, err)))
        put_plan(study.plan, build, line);
    return status;
}

static bool is_plan(const pp_sweep *sweep)
{
    return sweep->grid.study == &pp_sweep_plan;
}

/* Returns how a point ended, or NULL when it has no answer and has to be computed again. */
static const char *outcome(pp_status status)
{
    switch (status) {
    case PP_OK:
        return "ok";
    case PP_INFEASIBLE:
        return "infeasible";
    case PP_USAGE:
    case PP_INPUT:
        return "illegal";
    case PP_UNDECIDED:
        return "undecided";
    default:
        return NULL;
    }
}

pp_status pp_point_run(const pp_sweep *sweep, uint32_t point, pp_kept_orders *kept, char **line_out,
                       size_t *bytes_out, pp_err *err)
{
    point_args p PP_CLEANUP(free_args) = { 0 };
    pp_json_build build = { 0 };
    pp_json *line PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    pp_err why = pp_err_like(err);
    pp_status status = make_args(&sweep->grid, point, &p, &why);
    if (!status)
        status = is_plan(sweep) ? run_plan(sweep, p.args, kept, &build, line, &why)
                                : run_simulate(p.args, &build, line, &why);
    if (!outcome(status))
        return pp_err_set(err, status, why.where, "%s", why.text);
    pp_json_put_text(&build, line, "status", outcome(status));
    if (status) {
        char reason[sizeof why.where + sizeof why.text + 4];
        snprintf(reason, sizeof reason, "%s%s%s", why.where, why.where[0] ? ": " : "", why.text);
        pp_json_put_text(&build, line, "reason", reason);
    }
    pp_grid_write_point(&sweep->grid, point, &build, line);
    status = pp_json_print_line(&build, line, line_out, bytes_out, err);
    return status ? status : pp_sweep_seal(line_out, bytes_out, err);
}

/* Checks a point as far as that is possible without planning it. */
static pp_status read_point(const pp_sweep *sweep, uint32_t point, pp_err *err)
{
    point_args p PP_CLEANUP(free_args) = { 0 };
    pp_status status = make_args(&sweep->grid, point, &p, err);
    if (!status && is_plan(sweep)) {
        pp_plan_input input PP_CLEANUP(pp_plan_input_free) = new_request(sweep);
        status = pp_plan_input_read(p.args, &input, err);
        if (!status)
            status = pp_plan_input_read_packing(p.args, &input, err);
    } else if (!status) {
        status = pp_scenario_check_words(p.args, err);
    }
    return status;
}

/* Returns a stride that is coprime to `points`, so that it visits every point once. It is near the
 * golden section, so that values of all axes occur early. */
static uint32_t find_stride(uint32_t points)
{
    uint32_t stride = (uint32_t)(0.618 * points) | 1;
    for (;; stride++) {
        uint32_t a = stride;
        uint32_t b = points;
        while (b) {
            uint32_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return stride;
    }
}

/* Which values are legal in some point. Value k of axis i has entry first[i] + k. */
typedef struct legality {
    size_t *first; /* [axes + 1] */
    bool *legal;   /* [first[axes]] */
} legality;

static void free_legality(legality *l)
{
    free(l->first);
    free(l->legal);
}

static size_t first_legal(const legality *l, size_t axis)
{
    for (size_t i = l->first[axis]; i < l->first[axis + 1]; i++) {
        if (l->legal[i])
            return i - l->first[axis];
    }
    return 0;
}

/* Returns the point with this value of the axis and the first legal value of each other axis. */
static uint32_t point_with(const pp_grid *grid, const legality *l, size_t axis, size_t value)
{
    size_t point = 0;
    for (size_t i = 0; i < grid->axes; i++)
        point = point * grid->axis[i].count + (i == axis ? value : first_legal(l, i));
    return (uint32_t)point;
}

static void visit_points(const pp_sweep *sweep, legality *l)
{
    const pp_grid *grid = &sweep->grid;
    size_t left = l->first[grid->axes];
    uint64_t stride = find_stride(grid->points);
    for (uint64_t i = 0; i < grid->points && left; i++) {
        uint32_t point = (uint32_t)(i * stride % grid->points);
        pp_err ignored = { 0 };
        if (read_point(sweep, point, &ignored))
            continue;
        for (size_t k = grid->axes; k-- > 0; point /= (uint32_t)grid->axis[k].count) {
            bool *known = &l->legal[l->first[k] + point % grid->axis[k].count];
            left -= !*known;
            *known = true;
        }
    }
}

pp_status pp_sweep_check(const pp_sweep *sweep, pp_err *err)
{
    const pp_grid *grid = &sweep->grid;
    legality l PP_CLEANUP(free_legality) = { 0 };
    l.first = pp_alloc_array(grid->axes + 1, sizeof *l.first);
    for (size_t i = 0; l.first && i < grid->axes; i++)
        l.first[i + 1] = l.first[i] + grid->axis[i].count;
    l.legal = l.first ? pp_alloc_array(l.first[grid->axes], sizeof *l.legal) : NULL;
    if (!l.legal)
        return pp_err_nomem(err);
    visit_points(sweep, &l);
    for (size_t i = 0; i < grid->axes; i++) {
        for (size_t k = 0; k < grid->axis[i].count; k++) {
            pp_status status = l.legal[l.first[i] + k]
                                   ? PP_OK
                                   : read_point(sweep, point_with(grid, &l, i, k), err);
            if (status)
                return status;
        }
    }
    return PP_OK;
}
