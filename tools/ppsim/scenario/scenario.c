/* Loads a scenario: a plan, a schedule file, or a named schedule with its costs, and the sizes that
 * the command line gives. */
#include "tools/ppsim/scenario/scenario.h"

#include "sim/base/alloc.h"
#include "sim/cost/costs_json.h"
#include "sim/framework/registry.h"
#include "sim/plan/plan_read.h"
#include "sim/schedule/registry.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/console.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/input/exchange_args.h"
#include "traces/format/registry.h"
#include "traces/read/comm_rows.h"
#include "traces/read/gzip.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Returns whether the first character that is not blank is a brace. */
static bool looks_like_json(const char *text, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && strchr(" \t\r\n", text[i]) && text[i])
        i++;
    return i < bytes && text[i] == '{';
}

static pp_status load_plan(const char *path, const char *text, size_t bytes, pp_plan **plan_out,
                           pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_status status = pp_json_parse(text, bytes, path, &json, err);
    return status ? status : pp_plan_read(json, path, plan_out, err);
}

/* Checks that a size on the command line, if given, is that of the file. */
static pp_status check_given(const pp_args *args, const char *option, int64_t found,
                             const char *path, pp_err *err)
{
    int64_t wanted = found;
    pp_status status = pp_args_int(args, option, 1, INT32_MAX, &wanted, err);
    if (!status && wanted != found)
        return pp_err_set(err, PP_USAGE, option,
                          "%" PRId64 " is not the value in %s, which is %" PRId64
                          "; remove the option",
                          wanted, path, found);
    return status;
}

/* Names a schedule after its file: "1f1b.csv" for "dir/1f1b.csv". */
static void name_after_file(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%.60s", slash ? slash + 1 : path);
}

static pp_status load_costs(const pp_args *args, uint32_t ranks, uint32_t stages,
                            uint32_t microbatches, pp_plan *plan, pp_err *err)
{
    const char *text = pp_args_text(args, "--costs");
    const char *file = pp_args_text(args, "--costs-file");
    pp_status status;
    if (!text && !file && !plan->costs)
        return PP_OK; /* no costs are needed */
    if (!text == !file)
        return pp_err_set(err, PP_USAGE, "--costs",
                          "give either --costs F=1ms,I=1ms,W=1ms,comm=0 "
                          "or --costs-file FILE");
    if (file) {
        pp_json *json PP_CLEANUP(pp_json_free) = NULL;
        if ((status = pp_gzip_json(file, &json, err)))
            return status;
        pp_json_at root = pp_json_root(json, file);
        status = pp_costs_read(&root, ranks, stages, microbatches, &plan->costs[0], err);
    } else {
        pp_uniform_costs uniform;
        if ((status = pp_uniform_costs_parse(text, &uniform, err)))
            return status;
        status = pp_costs_uniform(&uniform, ranks, stages, microbatches, &plan->costs[0], err);
    }
    if (status)
        return status;
    plan->costs_count = 1;
    if (!plan->has_memory_costs || !plan->memory_costs.in_bytes)
        return PP_OK;
    if (plan->costs[0]->has_memory)
        return pp_err_set(err, PP_USAGE, "--memory-costs",
                          "%.64s already gives the memory of its ops; remove the option, or give "
                          "activations instead of bytes",
                          file);
    pp_costs_set_memory(plan->costs[0], &plan->memory_costs);
    return plan->costs[0]->late ? pp_costs_add_late(plan->costs[0], err) : PP_OK;
}

/* Reads a schedule file. When it has communication of its own, `written_out` receives its program,
 * which is run unchanged. */
static pp_status schedule_from_file(const pp_args *args, const char *path, const char *text,
                                    size_t bytes, pp_plan *plan, pp_program **written_out,
                                    pp_err *err)
{
    const char *comm = pp_args_text(args, "--comm");
    pp_rows_grouping grouping =
        comm && strcmp(comm, "batched") == 0 ? PP_ROWS_BATCHED : PP_ROWS_SINGLE;
    pp_order *order = NULL;
    pp_status status =
        pp_comm_rows_recognise(text, bytes)
            ? pp_comm_rows_read(text, bytes, path, grouping, false, &order, written_out, err)
            : pp_format_read(text, bytes, path, &order, err);
    if (status)
        return status;
    if (*written_out && pp_args_has(args, "--executor"))
        status = pp_err_set(err, PP_USAGE, "--executor",
                            "%.64s contains its own sends and receives, which are run as they are; "
                            "remove the option",
                            path);
    if (!status && pp_args_has(args, "--microbatch-group-size"))
        status = pp_err_set(err, PP_USAGE, "--microbatch-group-size",
                            "%.64s already gives the order of the ops; remove the option", path);
    plan->order[0] = order;
    plan->order_count = 1;
    name_after_file(pp_console_name(path), plan->schedule, sizeof plan->schedule);
    if (order->stages % order->ranks == 0)
        plan->parallel.vpp = order->stages / order->ranks;
    plan->parallel.pp = order->ranks;
    if (status || (status = check_given(args, "--pp", order->ranks, path, err)) ||
        (status = check_given(args, "--microbatches", order->microbatches, path, err)))
        return status;
    if ((status = check_given(args, "--vpp", plan->parallel.vpp, path, err)))
        return status;
    if ((status = pp_args_int(args, "--pipeline-runs", 1, PP_RUNS_MAX, &plan->runs, err)))
        return status;
    if (plan->runs > 1 && *written_out)
        return pp_err_set(err, PP_USAGE, "--pipeline-runs",
                          "%.64s contains its own sends and receives, which are run as they are; "
                          "remove the option",
                          path);
    const uint64_t microbatches =
        (uint64_t)order->microbatches * (uint64_t)(plan->runs + !plan->runs);
    if (microbatches > PP_MICROBATCHES_MAX)
        return pp_err_set(err, PP_USAGE, "--pipeline-runs",
                          "%" PRId64 " runs of %" PRIu32 " microbatches are more than %" PRId64
                          " microbatches; give fewer",
                          plan->runs, order->microbatches, PP_MICROBATCHES_MAX);
    return load_costs(args, order->ranks, order->stages, (uint32_t)microbatches, plan, err);
}

static pp_status read_shape(const pp_args *args, const char *name, const pp_schedule **schedule_out,
                            pp_schedule_params *shape_out, pp_err *err)
{
    const pp_schedule *schedule;
    int64_t pp = 0;
    int64_t m = 0;
    int64_t group = 0;
    pp_status status = pp_schedule_get(name, &schedule, err);
    if (status)
        return status;
    if ((status = pp_args_int(args, "--pp", 1, PP_RANKS_MAX, &pp, err)))
        return status;
    int64_t v = pp_schedule_chunks(schedule, (uint32_t)pp);
    if ((status = pp_args_int(args, "--microbatches", 1, PP_MICROBATCHES_MAX, &m, err)) ||
        (status = pp_args_int(args, "--vpp", 1, PP_STAGES_MAX, &v, err)) ||
        (status =
             pp_args_int(args, "--microbatch-group-size", 1, PP_MICROBATCHES_MAX, &group, err)))
        return status;
    if (!pp || !m)
        return pp_err_set(err, PP_USAGE, pp ? "--microbatches" : "--pp",
                          "is missing; a named "
                          "schedule needs --pp P and --microbatches M");
    if (!v)
        return pp_err_set(err, PP_USAGE, "--vpp",
                          "is missing; %s needs the number of stages per "
                          "rank, for example --vpp 2",
                          schedule->name);
    *schedule_out = schedule;
    *shape_out = (pp_schedule_params){ .ranks = (uint32_t)pp,
                                       .chunks = (uint32_t)v,
                                       .microbatches = (uint32_t)m,
                                       .group_size = (uint32_t)group };
    return PP_OK;
}

pp_status pp_scenario_check_words(const pp_args *args, pp_err *err)
{
    const char *name = pp_args_text(args, "--schedule");
    const char *framework = pp_args_text(args, "--executor");
    const char *costs = pp_args_text(args, "--costs");
    const pp_schedule *schedule;
    const pp_framework *ignored;
    pp_uniform_costs uniform;
    pp_schedule_params shape;
    pp_status status = PP_OK;
    if (!name)
        return pp_err_set(
            err, PP_USAGE, "--schedule",
            "is missing; give a name from 'ppsim list schedules', or a schedule file");
    if (pp_schedule_find(name) || !strpbrk(name, "./"))
        status = read_shape(args, name, &schedule, &shape, err);
    if (!status && framework)
        status = pp_framework_get(framework, &ignored, err);
    if (!status && costs)
        status = pp_uniform_costs_parse(costs, &uniform, err);
    return status;
}

/* Builds a named schedule, and loads the costs first because some schedules depend on them. */
static pp_status schedule_from_name(const pp_args *args, const char *name, pp_plan *plan,
                                    pp_err *err)
{
    const pp_schedule *schedule = NULL;
    pp_schedule_params shape = { 0 };
    pp_status status = read_shape(args, name, &schedule, &shape, err);
    if (status || (status = pp_args_int(args, "--pipeline-runs", 1, PP_RUNS_MAX, &plan->runs, err)))
        return status;
    const uint32_t microbatches = shape.microbatches;
    const uint32_t runs = plan->runs ? (uint32_t)plan->runs : 1;
    if (microbatches % runs)
        return pp_err_set(err, PP_USAGE, "--pipeline-runs",
                          "%" PRIu32 " does not divide --microbatches %" PRIu32
                          ", of which each run has as many; give a number that does",
                          runs, microbatches);
    shape.microbatches /= runs;
    shape.memory = plan->has_memory_costs ? &plan->memory_costs : NULL;
    if ((status = pp_schedule_check(schedule, &shape, err)) ||
        (status =
             load_costs(args, shape.ranks, shape.ranks * shape.chunks, microbatches, plan, err)))
        return status;
    shape.costs = plan->costs[0];
    if ((status = pp_schedule_build(schedule, &shape, &plan->order[0], err)))
        return status;
    plan->order_count = 1;
    plan->parallel.pp = shape.ranks;
    plan->parallel.vpp = shape.chunks;
    snprintf(plan->schedule, sizeof plan->schedule, "%s", schedule->name);
    return PP_OK;
}

/* Makes an empty plan. With `with_costs` it has room for costs, so that they have to be given. */
static pp_status new_plan(const pp_args *args, bool with_costs, pp_plan **plan_out, pp_err *err)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_status status = pp_plan_new(&plan, err);
    if (status)
        return status;
    plan->parallel = (pp_parallel){ 1, 1, 1, 1, 1, 1, 0 };
    plan->order = pp_alloc_array(1, sizeof *plan->order);
    plan->costs = with_costs ? pp_alloc_array(1, sizeof *plan->costs) : NULL;
    plan->command = pp_args_command(args);
    if (!plan->order || (with_costs && !plan->costs) || !plan->command)
        return pp_err_nomem(err);
    plan->framework = &pp_framework_ideal;
    snprintf(plan->version, sizeof plan->version, "%s", PPSIM_VERSION);
    const char *memory = pp_args_text(args, "--memory-costs");
    if (memory) {
        if ((status = pp_memory_costs_parse(memory, &plan->memory_costs, err)))
            return status;
        plan->has_memory_costs = true;
    }
    *plan_out = plan;
    plan = NULL; /* the caller owns it now */
    return PP_OK;
}

/* Refuses options that set what a plan file already holds. */
static pp_status refuse_with_plan(const pp_args *args, const char *path, pp_err *err)
{
    static const char *const own[] = {
        "--costs", "--costs-file",   "--memory-costs",          "--pp",
        "--vpp",   "--microbatches", "--microbatch-group-size", "--pipeline-runs",
        NULL
    };
    for (size_t i = 0; own[i]; i++) {
        if (pp_args_has(args, own[i]))
            return pp_err_set(err, PP_USAGE, own[i],
                              "%.64s is a plan and already has this setting; remove the option",
                              path);
    }
    return PP_OK;
}

/* Loads a plan file, or makes a plan of a schedule with the costs of the command line. */
static pp_status load_source(const pp_args *args, const char *source, bool with_costs,
                             pp_plan **plan_out, pp_program **written_out, pp_err *err)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status;
    bool named = pp_schedule_find(source) != NULL;
    bool file_like = strchr(source, '/') || strchr(source, '.');
    if (!named && (file_like || pp_args_word(args, 0))) {
        if ((status = pp_gzip_read(source, &text, &bytes, err)))
            return status;
        if (looks_like_json(text, bytes)) {
            status = refuse_with_plan(args, source, err);
            return status ? status : load_plan(source, text, bytes, plan_out, err);
        }
    }
    if ((status = new_plan(args, with_costs, &plan, err)))
        return status;
    if (text)
        status = schedule_from_file(args, source, text, bytes, plan, written_out, err);
    else
        status = schedule_from_name(args, source, plan, err);
    if (status)
        return status;
    *plan_out = plan;
    plan = NULL; /* the caller owns it now */
    return PP_OK;
}

/* Removes the backward ops from every order of the plan. */
static pp_status drop_backwards(pp_plan *plan, pp_err *err)
{
    for (uint32_t i = 0; i < plan->order_count; i++) {
        pp_order *kept = NULL;
        pp_status status = pp_order_drop_backward(plan->order[i], &kept, err);
        if (status)
            return status;
        pp_order_free(&plan->order[i]);
        plan->order[i] = kept;
    }
    return PP_OK;
}

pp_status pp_scenario_forward_only(const pp_args *args, const pp_program *written, pp_plan *plan,
                                   pp_err *err)
{
    static const char key[] = "forward_only";
    pp_status status = PP_OK;
    if (pp_args_has(args, "--forward-only") && written)
        return pp_err_set(err, PP_USAGE, "--forward-only",
                          "this file contains its own sends and receives, which are run as they "
                          "are; give a file with compute ops only (pytorch-csv)");
    if (pp_args_has(args, "--forward-only"))
        status = drop_backwards(plan, err);
    if (status || !pp_order_forward_only(plan->order[0]))
        return status;
    for (size_t i = 0; i < plan->assumptions.count; i++) {
        if (strcmp(plan->assumptions.note[i].key, key) == 0)
            return PP_OK; /* the plan has this assumption already */
    }
    return pp_notes_add(&plan->assumptions, err, key,
                        "an evaluation: activations are freed at the end of F, no gradients, "
                        "optimizer or end of the step");
}

/* Adds padding to the costs. A plan that was made with another padding is refused, because its
 * costs include that. */
static pp_status pad(const pp_size_protocol *wanted, pp_plan *plan, pp_err *err)
{
    const pp_size_protocol *had = &plan->sizes;
    char sizes[32];
    if (wanted->kind == had->kind && wanted->tokens == had->tokens)
        return PP_OK;
    if (had->kind >= PP_SIZES_PADDED)
        return pp_err_set(err, PP_USAGE, "--shapes",
                          "the plan was made with %s, so its costs include padding; make another "
                          "plan with 'ppsim plan'",
                          pp_size_protocol_print(had, sizes, sizeof sizes));
    return pp_plan_pad(wanted, plan, err);
}

/* Of PyTorch's settings, those of the command line are refused where they cannot have an effect,
 * and a remark says that those of the plan have none. `--executor all` shows what each has. */
static pp_status check_pytorch(const pp_args *args, bool written, const pp_plan *plan,
                               const pp_pytorch_settings *settings, pp_err *err)
{
    const char *executor = pp_args_text(args, "--executor");
    const char *option = pp_args_has(args, "--max-outstanding-sends") ? "--max-outstanding-sends"
                         : pp_args_has(args, "--unshard-lookahead")   ? "--unshard-lookahead"
                                                                      : NULL;
    const bool set =
        settings->max_outstanding_sends || settings->unshard_lookahead != PP_LOOKAHEAD_FULL;
    if (option && written)
        return pp_err_set(err, PP_USAGE, option,
                          "the file contains its own sends and receives, which are run as they "
                          "are; remove the option");
    if (plan->framework == &pp_framework_ideal && plan->costs && plan->costs[0] &&
        plan->costs[0]->sharded && !written && !executor)
        pp_remark("executor ideal gathers and reduces in no time, unlike torch-2.15 (--executor)");
    if ((executor && strcmp(executor, "all") == 0) || !plan->framework ||
        plan->framework->lower_set)
        return PP_OK;
    if (option && set)
        return pp_err_set(err, PP_USAGE, option,
                          "is an argument of PyTorch 2.15; choose --executor torch-2.15, or leave "
                          "it out");
    if (set)
        pp_remark("executor %s has no max_outstanding_sends and unshard_lookahead, which the plan "
                  "sets",
                  plan->framework->name);
    return PP_OK;
}

pp_status pp_scenario_exchange(const pp_args *args, pp_plan *plan, bool written, pp_err *err)
{
    pp_exchange_options exchange = pp_plan_exchange(plan);
    pp_status status = pp_args_exchange(args, &exchange, err);
    if (status)
        return status;
    /* new lengths and new costs are padded when they are computed */
    const bool made = pp_args_has(args, "--lengths") || pp_args_has(args, "--recost");
    if (!made && (status = pad(&exchange.shapes, plan, err)))
        return status;
    bool messages = exchange.shapes.kind > PP_SIZES_PLAN && exchange.shapes.kind < PP_SIZES_PADDED;
    if (written && (messages || exchange.tensors > 1))
        return pp_err_set(err, PP_USAGE, messages ? "--shapes" : "--tensors-per-boundary",
                          "the file contains its own sends and receives, which are run as they "
                          "are; remove the option");
    if ((status = check_pytorch(args, written, plan, &exchange.pytorch, err)))
        return status;
    plan->pytorch = exchange.pytorch;
    plan->host = exchange.host;
    plan->shape_message_ns = exchange.shape_message_ns;
    plan->tensors = exchange.tensors;
    plan->sizes = exchange.shapes;
    plan->has_sizes |= pp_args_has(args, "--shapes");
    return PP_OK;
}

pp_status pp_scenario_source(const pp_args *args, const char *command, const char **source_out,
                             pp_err *err)
{
    const char *word = pp_args_word(args, 0);
    const char *source = word ? word : pp_args_text(args, "--schedule");
    if (!source || (word && (pp_args_has(args, "--schedule") || pp_args_word(args, 1))))
        return pp_err_set(err, PP_USAGE, NULL,
                          "give one plan, one schedule file, or --schedule NAME; see 'ppsim %s "
                          "--help'",
                          command);
    *source_out = source;
    return PP_OK;
}

pp_status pp_scenario_load_source(const pp_args *args, const char *source, pp_plan **plan_out,
                                  pp_program **written_out, pp_err *err)
{
    return load_source(args, source, true, plan_out, written_out, err);
}

pp_status pp_scenario_load_schedule(const pp_args *args, const char *path, pp_plan **plan_out,
                                    pp_program **written_out, pp_err *err)
{
    return load_source(args, path, false, plan_out, written_out, err);
}

pp_status pp_scenario_load(const pp_args *args, const char *command, pp_plan **plan_out,
                           pp_program **written_out, pp_err *err)
{
    const char *source;
    pp_status status = pp_scenario_source(args, command, &source, err);
    return status ? status : pp_scenario_load_source(args, source, plan_out, written_out, err);
}
