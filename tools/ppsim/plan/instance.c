/* ppsim plan --instance and --costs-file: searches an order for the ops of a given scheduling
 * problem, or of a schedule with given costs, and prints it with its distance from a lower bound.
 * Of a schedule the search keeps the placement of the stages, whether backwards are split, and the
 * memory: if the costs have none, then as many activations as each rank holds at its peak. */
#include "tools/ppsim/plan/instance.h"

#include "planner/order/problem_costs.h"
#include "planner/order/problem_read.h"
#include "planner/order/search.h"
#include "runtime/core/clock.h"
#include "sim/base/alloc.h"
#include "sim/base/processors.h"
#include "sim/program/program_new.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/export/export.h"
#include "tools/ppsim/plan/input.h"
#include "tools/ppsim/plan/interrupt.h"
#include "tools/ppsim/scenario/scenario.h"
#include "traces/read/gzip.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_BUDGET_NS ((pp_ns)1000000000)

/* One search. */
typedef struct run {
    const pp_args *args;
    pp_order_problem *instance;
    pp_plan *plan;   /* of --costs-file; else NULL */
    uint32_t *start; /* the order of its schedule, as the search takes it */
    bool split;      /* its backwards are split */
    pp_ns named_ns;  /* its makespan */
    pp_order_bounds limits;
    int64_t iterations; /* 0: time_ns counts */
    pp_ns time_ns, begin_ns, took_ns;
    bool shows; /* progress */
    const pp_console *console;
    pp_found_order *found;
} run;

static void run_free(run *r)
{
    pp_order_problem_free(&r->instance);
    pp_plan_free(&r->plan);
    free(r->start);
    pp_found_order_free(&r->found);
}

static double spent(void *context)
{
    const run *r = context;
    if (pp_interrupted(r->console))
        return 1;
    pp_ns gone_ns = r->iterations ? 0 : pp_clock_now_ns() - r->begin_ns;
    return r->time_ns > 0 ? (double)gone_ns / (double)r->time_ns : 1;
}

static double gap(const run *r, int64_t makespan)
{
    return r->limits.ticks ? (double)makespan / (double)r->limits.ticks - 1 : 0;
}

static void show(void *context, int64_t makespan)
{
    const run *r = context;
    char left[32] = "";
    const pp_ns gone_ns = pp_clock_now_ns() - r->begin_ns;
    if (!r->iterations && gone_ns < r->time_ns)
        snprintf(left, sizeof left, ", %.0f s left", (double)(r->time_ns - gone_ns) * 1e-9);
    char line[160];
    snprintf(line, sizeof line, "%.2f s%s: %" PRId64 ", bound %" PRId64 ", gap %.3f %%",
             (double)gone_ns * 1e-9, left, makespan, r->limits.ticks, 100 * gap(r, makespan));
    if (r->console)
        pp_console_progress(r->console, line);
    else if (r->shows)
        pp_remark("%s", line);
}

static pp_status refuse_others(const pp_args *args, const pp_option *options, pp_err *err)
{
    static const char *const known[] = { "--instance", "--budget", "--seed", "--threads", NULL };
    static const char *const of_costs[] = { "--costs-file",   "--schedule",
                                            "--pp",           "--vpp",
                                            "--microbatches", "--microbatch-group-size",
                                            "--memory-limit", "--emit",
                                            "--budget",       "--seed",
                                            "--threads",      NULL };
    const char *mode = pp_args_has(args, "--instance") ? "--instance" : "--costs-file";
    for (; options->name; options++) {
        const char *const *fits = strcmp(mode, "--instance") == 0 ? known : of_costs;
        while (*fits && strcmp(options->name, *fits) != 0)
            fits++;
        if (!*fits && pp_args_has(args, options->name))
            return pp_err_set(err, PP_USAGE, options->name,
                              "cannot be combined with %s, which has its own costs", mode);
    }
    return PP_OK;
}

/* Gives every rank room for as many activations as the start order holds at its peak, each from the
 * start of its F to the end of its B or W. */
static void limit_activations(run *r)
{
    pp_order_problem *x = r->instance;
    const uint16_t last = r->split ? PP_TASK_W : PP_TASK_B;
    for (uint32_t k = 0; k < x->ops; k++) {
        const int64_t change = x->task[k].kind == PP_TASK_F ? 1 : x->task[k].kind == last ? -1 : 0;
        x->memory[k] = (pp_task_memory){ change > 0, change };
    }
    int64_t held = 0;
    for (uint32_t k = 0; k < x->ops; k++) {
        const uint32_t rank = x->task[r->start[k]].rank;
        if (k == 0 || x->task[r->start[k - 1]].rank != rank)
            held = x->room[rank] = 0;
        held += x->memory[r->start[k]].delta;
        x->room[rank] = held > x->room[rank] ? held : x->room[rank];
    }
}

/* Makes the problem from a schedule and its costs. */
static pp_status load_costs(run *r, pp_err *err)
{
    const char *name = pp_args_text(r->args, "--schedule");
    pp_program *written PP_CLEANUP(pp_program_free) = NULL;
    int64_t limit_bytes = 0;
    pp_status status = pp_scenario_check_words(r->args, err);
    if (status || (status = pp_args_bytes(r->args, "--memory-limit", &limit_bytes, err)) ||
        (status = pp_scenario_load_source(r->args, name, &r->plan, &written, err)) ||
        (status = pp_order_one_rank(r->plan->order[0], "--schedule", err)))
        return status;
    const pp_order *order = r->plan->order[0];
    const pp_costs *costs = r->plan->costs[0];
    if (costs->sharded)
        return pp_err_set(err, PP_USAGE, "--costs-file",
                          "sharded parameters (unshard_ns, reduce_grad_ns) are no part of this "
                          "search; leave them out");
    size_t backwards = 0;
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++) {
        r->split = r->split || order->ops[i].kind == PP_OP_I;
        backwards += order->ops[i].kind == PP_OP_I || order->ops[i].kind == PP_OP_B;
    }
    if (written || backwards != (size_t)order->stages * order->microbatches)
        return pp_err_set(err, PP_USAGE, "--schedule",
                          "%.64s must have compute ops only, with a backward for every forward",
                          name);
    if (limit_bytes && !costs->has_memory)
        return pp_err_set(err, PP_USAGE, "--memory-limit",
                          "needs memory in the costs file; without it ranks hold as many "
                          "activations as in the schedule");
    if ((status = pp_plan_simulate(r->plan, NULL, NULL, NULL, &r->plan->prediction, err)) ||
        (status = pp_order_problem_from_costs(costs, order->stage_rank, r->split, limit_bytes,
                                              &r->instance, err)))
        return status;
    r->named_ns = r->plan->prediction->makespan_ns;
    r->start = pp_alloc_array(r->instance->ops, sizeof *r->start);
    if (!r->start)
        return pp_err_nomem(err);
    pp_order_problem_from_order(r->instance, order, r->start);
    if (!costs->has_memory)
        limit_activations(r);
    return pp_order_bounds_find(r->instance, &r->limits, err);
}

/* Writes the files of --emit, with the order that was found. */
static pp_status write_plan(run *r, pp_err *err)
{
    pp_plan *plan = r->plan;
    pp_order *order = NULL;
    pp_status status = pp_order_problem_to_order(r->instance, r->found->ops, r->split, &order, err);
    if (status)
        return status;
    pp_order_free(&plan->order[0]);
    plan->order[0] = order;
    snprintf(plan->schedule, sizeof plan->schedule, "planned");
    pp_report_free(&plan->prediction);
    status = pp_plan_simulate(plan, NULL, NULL, NULL, &plan->prediction, err);
    return status ? status : pp_write_plan_exports(r->args, plan, err);
}

static pp_status load(run *r, pp_err *err)
{
    if (!pp_args_has(r->args, "--instance"))
        return load_costs(r, err);
    const char *path = pp_args_text(r->args, "--instance");
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_status status = pp_gzip_json(path, &json, err);
    if (status)
        return status;
    pp_json_at root = pp_json_root(json, path);
    status = pp_order_problem_read(&root, &r->instance, err);
    return status ? status : pp_order_bounds_find(r->instance, &r->limits, err);
}

static pp_status search(run *r, pp_err *err)
{
    int64_t threads = pp_processors();
    int64_t seed = 0;
    pp_status status = pp_args_int(r->args, "--seed", 0, INT64_MAX, &seed, err);
    if (status ||
        (status = pp_args_int(r->args, "--threads", 1, PP_ORDER_SEARCH_THREADS_MAX, &threads, err)))
        return status;
    const pp_order_search_options budget = { .iterations = r->iterations,
                                             .spent = spent,
                                             .found = show,
                                             .context = r,
                                             .start = r->start,
                                             .seed = (uint64_t)seed,
                                             .threads = (uint32_t)threads };
    struct sigaction before;
    pp_interrupt_begin(false, &before);
    r->shows = isatty(STDERR_FILENO) == 1;
    status = pp_order_search(r->instance, r->limits.ticks, &budget, &r->found, err);
    if (!status)
        pp_order_bounds_raise(&r->limits, r->found->bound);
    pp_interrupt_end(&before);
    r->took_ns = pp_clock_now_ns() - r->begin_ns;
    return status;
}

static void add_orders(const run *r, pp_json_build *build, pp_json *root)
{
    const pp_order_problem *x = r->instance;
    pp_json *orders = pp_json_new_array(build);
    uint32_t k = 0;
    for (uint32_t rank = 0; rank < x->ranks; rank++) {
        pp_json *row = pp_json_new_array(build);
        for (; k < x->ops && x->task[r->found->ops[k]].rank == rank; k++) {
            char token[PP_ORDER_PROBLEM_TOKEN_BYTES];
            pp_json_add_text(build, row,
                             pp_order_problem_token(x, r->found->ops[k], token, sizeof token));
        }
        pp_json_add(build, orders, row);
    }
    pp_json_put(build, root, "orders", orders);
}

static pp_status print_json(const run *r, pp_text *text, pp_err *err)
{
    pp_json_build build = { 0 };
    pp_json *root PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    pp_json *parts = pp_json_new_object(&build);
    for (int k = 0; k < PP_ORDER_BOUND_COUNT; k++)
        pp_json_put_int(&build, parts, pp_order_bound_key((pp_order_bound_part)k),
                        r->limits.part[k]);
    pp_json_put_text(&build, root, "format", "ppsim.instance-result");
    pp_json_put_int(&build, root, "version", 1);
    pp_json_put_text(&build, root, "name", r->instance->name);
    pp_json_put_int(&build, root, "makespan", r->found->makespan);
    pp_json_put_int(&build, root, "lower_bound", r->limits.ticks);
    pp_json_put(&build, root, "bound_parts", parts);
    pp_json_put_double(&build, root, "gap", gap(r, r->found->makespan));
    add_orders(r, &build, root);
    if (!r->iterations)
        pp_json_put_double(&build, root, "seconds", (double)r->took_ns * 1e-9);
    return pp_json_print(&build, root, &text->data, &text->bytes, err);
}

static void print_words(const run *r, pp_text *text)
{
    char named[32];
    char planned[32];
    if (r->plan)
        pp_text_add(text, "%s takes %s, the order found %s; times below are in ns\n",
                    pp_args_text(r->args, "--schedule"),
                    pp_format_duration(named, sizeof named, r->named_ns),
                    pp_format_duration(planned, sizeof planned, r->found->makespan));
    pp_text_add(text, "%s: makespan %" PRId64 "%s\n", r->instance->name, r->found->makespan,
                r->found->proved ? ", optimal (meets the bound)" : "");
    pp_text_add(text, "lower bound %" PRId64 " (%s), gap %.3f %%\n\n", r->limits.ticks,
                pp_order_bound_key(r->limits.largest), 100 * gap(r, r->found->makespan));
    pp_text_add(text, "bounds, each for every order of these ops on this placement, partition and "
                      "packing:\n");
    for (int k = 0; k < PP_ORDER_BOUND_COUNT; k++)
        pp_text_add(text, "  %-10s %16" PRId64 "  %s\n", pp_order_bound_key((pp_order_bound_part)k),
                    r->limits.part[k], pp_order_bound_text((pp_order_bound_part)k));
}

/* The orders go to -o, everything else to stdout. */
static pp_status print(const run *r, pp_err *err)
{
    pp_text json PP_CLEANUP(pp_text_free) = { 0 };
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    pp_text orders PP_CLEANUP(pp_text_free) = { 0 };
    const bool is_json = pp_args_has(r->args, "--json");
    const char *path = pp_args_text(r->args, "-o");
    pp_status status = is_json ? print_json(r, &json, err) : PP_OK;
    print_words(r, &words);
    pp_order_problem_print_orders(r->instance, r->found->ops, &orders);
    if (status || (status = pp_text_check(&orders, err)))
        return status;
    if (path &&
        ((status = pp_write_text(path, orders.data, orders.bytes, err)) || strcmp(path, "-") == 0))
        return status;
    if (is_json)
        status = pp_print_beside(true, &json, err);
    return status || !pp_prints_words(r->args) ? status : pp_print_beside(false, &words, err);
}

pp_status pp_plan_instance(const pp_args *args, const pp_option *options, pp_err *err)
{
    run r PP_CLEANUP(run_free) = { .args = args, .time_ns = DEFAULT_BUDGET_NS };
    r.begin_ns = pp_args_begin_ns(args);
    r.console = pp_console_current();
    pp_status status = refuse_others(args, options, err);
    if (status || (status = pp_budget_read(args, &r.iterations, &r.time_ns, err)) ||
        (status = load(&r, err)) || (status = search(&r, err)) ||
        (r.plan && (status = write_plan(&r, err))))
        return status;
    if (pp_interrupted(r.console))
        pp_remark("interrupted after %.1f s; this is the best order found until then",
                  (double)r.took_ns * 1e-9);
    return print(&r, err);
}
