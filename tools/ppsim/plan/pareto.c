/* ppsim plan --pareto: prints the fastest plan at every memory limit up to the given one, as a
 * table, JSON or CSV. */
#include "tools/ppsim/plan/pareto.h"

#include "planner/study/pareto.h"
#include "planner/study/pareto_json.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/plan/input.h"
#include "tools/ppsim/plan/interrupt.h"
#include "tools/ppsim/plan/sentences.h"

#include <inttypes.h>
#include <stdio.h>

static void print_point(const pp_pareto *pareto, const pp_pareto_point *point, pp_text *text)
{
    const pp_candidate *c = &point->candidate;
    char cell[4][32];
    double gpus = (double)pp_parallel_gpus(&c->parallel);
    if (point->least_step_ns)
        snprintf(cell[3], sizeof cell[3], "%.2f %%",
                 100 * ((double)c->step_ns / (double)point->least_step_ns - 1));
    else
        snprintf(cell[3], sizeof cell[3], "?");
    if (pareto->per_gpu)
        snprintf(cell[0], sizeof cell[0], "%.1f", c->tokens_per_s / gpus);
    else
        pp_format_duration(cell[0], sizeof cell[0], c->step_ns);
    pp_text_add(text, "%9s %9s  %-9s%8s %-14s %3" PRId64 " %3" PRId64 " %3" PRId64 " %s\n",
                pp_format_bytes(cell[1], sizeof cell[1], c->peak_bytes),
                pp_format_bytes(cell[2], sizeof cell[2], point->limit_bytes), cell[0], cell[3],
                c->schedule->name, c->parallel.vpp, c->parallel.tp, c->micro_batch_size,
                pp_recompute_name(c->recompute));
}

/* Settings of sharded parameters are chosen for one plan, after its search. */
static void print_sharding(const pp_plan_request *request, pp_text *text)
{
    const pp_switches *s = &request->switches.value;
    char words[2][64];
    pp_text_add(text,
                "all rows: %" PRId64 " cop%s of the parameters, lookahead %s, resharded %s; a plan "
                "at\none limit may find better values\n",
                s->dp_replicate > 1 ? s->dp_replicate : 1, s->dp_replicate > 1 ? "ies" : "y",
                pp_unshard_lookahead_print(request->exchange.pytorch.unshard_lookahead, words[0],
                                           sizeof words[0]),
                pp_reshard_print(s->reshard_after_forward, words[1], sizeof words[1]));
}

static void print_table(const pp_pareto *pareto, const pp_plan_request *request, pp_text *text)
{
    pp_text_add(text,
                "%s, pp %" PRId64
                ": the fastest step found for every memory limit (%zu iterations)\n\n"
                "     from        to  %-9s   above schedule       vpp  tp mbs recompute\n"
                " its peak                        bound\n",
                request->model->name, request->parallel.pp, pareto->simulated,
                pareto->per_gpu ? "tok/s/GPU" : "step");
    for (size_t i = 0; i < pareto->count; i++)
        print_point(pareto, &pareto->point[i], text);
    pp_text_add(text, "\nbound: no candidate, nor any order of its ops, is faster within the limit "
                      "in \"to\"\n");
    if (request->switches.given.zero && request->switches.value.zero == 3)
        print_sharding(request, text);
}

static pp_status write_csv(const pp_args *args, const pp_pareto *pareto, pp_err *err)
{
    const char *path = pp_args_text(args, "--candidates");
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    if (!path)
        return PP_OK;
    pp_candidate_csv(NULL, &text);
    for (size_t i = 0; i < pareto->count; i++)
        pp_candidate_csv(&pareto->point[i].candidate, &text);
    pp_status status = pp_text_check(&text, err);
    return status ? status : pp_output_write(path, text.data, text.bytes, err);
}

/* Refuses options that are about a single plan. */
static pp_status refuse_others(const pp_args *args, pp_err *err)
{
    static const char *const one[] = { "--emit",        "--trace",   "--report", "--ranks",
                                       "--why",         "--jitter",  "--gpus",   "--packing",
                                       "--rank-memory", "--rank-by", "--target", "--explain" };
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        if (pp_args_has(args, one[i]))
            return pp_err_set(
                err, PP_USAGE, one[i],
                "cannot be combined with --pareto, which writes no plan; remove one of the two");
    }
    return PP_OK;
}

static void show(void *context, const pp_candidate *c)
{
    pp_plan_input *r = context;
    char cell[3][32];
    char best[sizeof r->progress.best];
    snprintf(best, sizeof best, "%s: step %s (%s, tp %d), bound %s",
             pp_format_bytes(cell[0], sizeof cell[0], c->peak_bytes),
             pp_format_duration(cell[1], sizeof cell[1], c->step_ns), c->schedule->name,
             (int)c->parallel.tp, pp_format_duration(cell[2], sizeof cell[2], c->least_step_ns));
    pp_progress_line_set(&r->progress, best);
}

/* Finds the front. On a terminal it shows the last limit that is done; with a budget in seconds, ^C
 * ends the search. */
static pp_status find(const pp_args *args, pp_plan_input *input, pp_pareto **pareto_out,
                      pp_err *err)
{
    struct sigaction before;
    pp_plan_request *request = &input->request;
    request->found = show;
    request->context = input;
    pp_progress_line_begin(&input->progress, pp_args_begin_ns(args), input->end_ns);
    if (request->stop)
        pp_interrupt_begin(false, &before);
    pp_status status = pp_pareto_find(request, pareto_out, err);
    if (request->stop)
        pp_interrupt_end(&before);
    pp_progress_line_end(&input->progress);
    return status;
}

pp_status pp_plan_pareto(const pp_args *args, pp_err *err)
{
    pp_plan_input input PP_CLEANUP(pp_plan_input_free) = { .request = { .seed = 0 } };
    pp_pareto *pareto PP_CLEANUP(pp_pareto_free) = NULL;
    pp_status status = refuse_others(args, err);
    if (status || (status = pp_plan_input_read(args, &input, err)) ||
        (status = pp_plan_input_refuse_auto(&input, "--pareto", err)))
        return status;
    if (input.request.orders == PP_ORDERS_PLANNED)
        return pp_err_set(
            err, PP_USAGE, "--schedule",
            "--pareto compares planned orders with named schedules; remove the option");
    if ((status = find(args, &input, &pareto, err)) || (status = write_csv(args, pareto, err)))
        return status;
    if (pareto->stopped)
        pp_remark("the budget ended after %zu iteration%s; there may be faster rows",
                  pareto->simulated, pareto->simulated == 1 ? "" : "s");
    if (pp_args_has(args, "--json")) {
        pp_json_build build = { 0 };
        pp_json *json PP_CLEANUP(pp_json_free) = pp_pareto_write(pareto, &input.request, &build);
        status = pp_print_json(args, &build, json, err);
        if (status || !pp_prints_words(args))
            return status;
    }
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    print_table(pareto, &input.request, &text);
    return pp_print_answer(args, &text, err);
}
