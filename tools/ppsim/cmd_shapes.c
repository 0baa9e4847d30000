/* ppsim shapes: compares the cost of size protocols, that is of the ways in which receivers
 * learn the sizes of tensors. Each protocol is planned and simulated with the same setup. */
#include "sim/analysis/critical_path.h"
#include "sim/base/alloc.h"
#include "sim/base/file.h"
#include "sim/engine/comm_engine.h"
#include "sim/framework/registry.h"
#include "sim/plan/plan_read.h"
#include "sim/program/program_new.h"
#include "sim/program/transfer_costs.h"
#include "sim/schedule/registry.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/option_rows.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/base/words.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/input/exchange_args.h"
#include "tools/ppsim/plan/assumptions.h"
#include "tools/ppsim/plan/input.h"
#include "traces/read/gzip.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_FRAMEWORKS "megatron,deepspeed,colossalai"
#define DEFAULT_PROTOCOLS "plan,local,message,cached,padded,bucket:512"
#define DEFAULT_OF_PLANS "plan,local,message,cached,padded" /* buckets need a model */
#define DEFAULT_HOST "launch=5us,sync=10us,read=8us"
#define DEFAULT_SCHEDULE "1f1b"
#define NAMES_MAX 16

static const pp_option options[] = {
    { "--executors", "A,B,...", "who communicates; " DEFAULT_FRAMEWORKS, NULL, false },
    { "--protocols", "A,B,...", "shape protocols; " DEFAULT_PROTOCOLS, NULL, false },
    { "--host", "launch=T,sync=T,read=T",
      "of each rank's host, per op or group, sync, size read; " DEFAULT_HOST, NULL, false },
    { PP_OPTION_SHAPE_MESSAGE },
    { PP_OPTION_TENSORS_PER_BOUNDARY },
    { PP_OPTION_MODEL },
    { PP_OPTION_PP },
    { PP_OPTION_LENGTHS },
    { PP_OPTION_HW },
    { PP_OPTION_TP },
    { PP_OPTION_DP },
    { PP_OPTION_CP },
    { PP_OPTION_VPP },
    { "--seq-length", "N", "tokens per bin of --lengths; the model's maximum", NULL, false },
    { "--micro-batch-size", "N", "sequences, or bins, per microbatch; chosen when not given", NULL,
      false },
    { "--global-batch-size", "N", "sequences per step, without --lengths", NULL, false },
    { "--schedule", "NAME", "one of 'ppsim list schedules'; " DEFAULT_SCHEDULE, NULL, false },
    { PP_OPTION_MICROBATCH_GROUP_SIZE },
    { PP_OPTION_RECOMPUTE },
    { PP_OPTION_MEMORY_LIMIT },
    { NULL, NULL, NULL, NULL, false },
};

/* The result of one protocol under one framework. `reason` says why there are no numbers. */
typedef struct row {
    const pp_framework *framework;
    pp_size_protocol sizes;
    bool known;
    pp_ns step_ns;
    double bubble_fraction;
    int64_t moved_bytes, peak_recv_bytes; /* 0: not known */
    uint32_t distinct;                    /* number of distinct token counts; 0: not known */
    pp_critical critical;
    char reason[400];
} row;

/* The names in a list such as "A,B". */
typedef struct names {
    char text[NAMES_MAX][32];
    size_t count;
} names;

typedef struct table {
    names frameworks, protocols;
    const pp_framework *framework[NAMES_MAX]; /* [frameworks.count] */
    pp_size_protocol sizes[NAMES_MAX];        /* [protocols.count] */
    row row[NAMES_MAX * NAMES_MAX];
    size_t count;
    pp_host_costs host;
    pp_ns shape_message_ns;
    pp_status first_failure;
} table;

static pp_status read_names(const pp_args *args, const char *option, const char *otherwise,
                            names *out, pp_err *err)
{
    const char *text = pp_args_text(args, option);
    text = text ? text : otherwise;
    while (*text) {
        size_t bytes = strcspn(text, ",");
        if (bytes == 0 || bytes >= sizeof out->text[0] || out->count == NAMES_MAX)
            return pp_err_set(err, PP_USAGE, option, "'%.64s' is no list of up to %d names", text,
                              NAMES_MAX);
        snprintf(out->text[out->count++], sizeof out->text[0], "%.*s", (int)bytes, text);
        text += bytes + (text[bytes] == ',');
    }
    return PP_OK;
}

/* Parses the names. An unknown name is wrong usage, whereas a protocol that a framework cannot use
 * gives a row. */
static pp_status parse_names(table *t, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; i < t->frameworks.count && !status; i++)
        status = pp_framework_get(t->frameworks.text[i], &t->framework[i], err);
    for (size_t i = 0; i < t->protocols.count && !status; i++)
        status = pp_size_protocol_parse(t->protocols.text[i], &t->sizes[i], err);
    return status;
}

static int64_t moved_bytes(const pp_program *program, const pp_costs *costs)
{
    int64_t sum = 0;
    for (size_t i = 0; program->comm && costs->has_memory && i < program->comm->transfer_count;
         i++) {
        const pp_transfer *t = &program->comm->transfer[i];
        if (pp_transfer_sends((pp_transfer_kind)t->kind))
            sum += pp_comm_bytes(program->comm, costs, t);
    }
    return sum;
}

static pp_status count_distinct(const pp_plan *plan, uint32_t *distinct_out, pp_err *err)
{
    pp_workload padded PP_CLEANUP(pp_workload_free) = { 0 };
    *distinct_out = 0;
    return plan->workload.length_count
               ? pp_workload_pad(&plan->sizes, &plan->workload, &padded, distinct_out, err)
               : PP_OK;
}

/* Simulates the plan and fills a row with the result. */
static pp_status fill_row(const pp_plan *plan, row *out, pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    const pp_costs *costs;
    pp_status status = pp_plan_simulate(plan, &program, &timeline, &costs, &report, err);
    if (status || (status = count_distinct(plan, &out->distinct, err)))
        return status;
    out->known = true;
    out->step_ns = report->step_ns;
    out->bubble_fraction = report->bubble_fraction;
    out->moved_bytes = moved_bytes(program, costs);
    for (uint32_t r = 0; r < report->ranks; r++) {
        if (report->per_rank[r].peak_recv_bytes > out->peak_recv_bytes)
            out->peak_recv_bytes = report->per_rank[r].peak_recv_bytes;
    }
    pp_critical_path(program, timeline, &out->critical);
    return PP_OK;
}

/* Ends a row. A protocol or framework that fails gives a row with its reason. */
static pp_status end_row(table *t, row *r, pp_status status, const pp_err *why, pp_err *err)
{
    if (status == PP_NOMEM)
        return pp_err_nomem(err);
    snprintf(r->reason, sizeof r->reason, "%.390s", status ? why->text : "");
    if (!t->first_failure)
        t->first_failure = status;
    t->count++;
    return PP_OK;
}

static row *open_row(table *t, size_t framework, size_t protocol)
{
    row *r = &t->row[t->count];
    *r = (row){ .framework = t->framework[framework], .sizes = t->sizes[protocol] };
    return r;
}

/* Fixes everything that the first plan chose, for the searches of the other rows. `layout` is
 * borrowed. */
static void pin(const pp_search_result *choice, const char *layout, pp_plan_request *request)
{
    const pp_candidate *chosen = &choice->candidate[0];
    request->parallel = chosen->parallel;
    request->micro_batch_size = chosen->micro_batch_size;
    request->schedule = chosen->schedule;
    request->group_size = chosen->group_size;
    request->switches.given.recompute = true;
    request->switches.value.recompute = chosen->recompute;
    request->partition = PP_PARTITION_LAYOUT;
    request->layout = layout;
}

/* Copies the notes except the one about the framework, which each row shows itself. */
static pp_status copy_notes(const pp_notes *from, pp_notes *to, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; i < from->count && !status; i++) {
        if (strcmp(from->note[i].key, "executor") != 0)
            status = pp_notes_add(to, err, from->note[i].key, "%s", from->note[i].value);
    }
    return status;
}

/* Limits recomputation to what the compared runtimes support: all microbatches alike. */
static pp_status limit_recompute(pp_plan_request *request, pp_err *err)
{
    if (request->switches.given.recompute &&
        request->switches.value.recompute == PP_RECOMPUTE_MICROBATCHES)
        return pp_err_set(err, PP_USAGE, "--recompute",
                          "the runtimes compared recompute all microbatches alike; give none, "
                          "selective, full, per-stage or auto, or a plan that has it");
    request->recompute_alike = true;
    return PP_OK;
}

static pp_status note_recompute(const pp_plan *plan, pp_notes *notes, pp_err *err)
{
    if (plan->recompute == PP_RECOMPUTE_STAGES)
        return pp_notes_add(notes, err, "recompute",
                            "per-stage, as many layers on every stage, for each row the least that "
                            "fits");
    return pp_notes_add(notes, err, "recompute", "%s", pp_recompute_name(plan->recompute));
}

static pp_status from_model(const pp_args *args, table *t, pp_notes *notes, pp_err *err)
{
    pp_plan_input input PP_CLEANUP(pp_plan_input_free) = { .request = { .seed = 0 } };
    pp_search_result *base PP_CLEANUP(pp_search_result_free) = NULL;
    pp_text layout PP_CLEANUP(pp_text_free) = { 0 };
    pp_status status = pp_plan_input_read(args, &input, err);
    if (status || (status = pp_host_costs_parse(DEFAULT_HOST, &input.request.exchange.host, err)) ||
        (status = pp_args_exchange(args, &input.request.exchange, err)))
        return status;
    pp_plan_request request = input.request;
    if ((status = limit_recompute(&request, err)))
        return status;
    if (!request.schedule && (status = pp_schedule_get(DEFAULT_SCHEDULE, &request.schedule, err)))
        return status;
    pp_plan_request first = request;
    first.exchange = (pp_exchange_options){ .tensors = 0 };
    if ((status = pp_plan_search(&first, &base, err)) ||
        (status = pp_plan_note_assumptions(base, &input.assumptions, err)) ||
        (status = copy_notes(&base->plan->assumptions, notes, err)) ||
        (status = note_recompute(base->plan, notes, err)))
        return status;
    pp_layout_print(base->plan->partition,
                    (uint32_t)(base->plan->parallel.pp * base->plan->parallel.vpp), &layout);
    if ((status = pp_text_check(&layout, err)))
        return status;
    pin(base, layout.data, &request);
    t->host = request.exchange.host;
    for (size_t e = 0; e < t->frameworks.count; e++) {
        for (size_t k = 0; k < t->protocols.count; k++) {
            pp_search_result *choice PP_CLEANUP(pp_search_result_free) = NULL;
            pp_err why = pp_err_like(err);
            row *r = open_row(t, e, k);
            request.framework = r->framework;
            request.exchange.shapes = r->sizes;
            status = pp_plan_search(&request, &choice, &why);
            if (!status && choice->plan->shape_message_ns)
                t->shape_message_ns = choice->plan->shape_message_ns;
            if (!status)
                status = fill_row(choice->plan, r, &why);
            if ((status = end_row(t, r, status, &why, err)))
                return status;
        }
    }
    return PP_OK;
}

/* Fills the row of a protocol for a plan. The plan is read again because padding changes its
 * costs. */
static pp_status plan_row(const pp_args *args, const pp_json *json, const char *path, row *r,
                          table *t, pp_err *err)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    char sizes[32];
    pp_status status = pp_plan_read(json, path, &plan, err);
    if (status)
        return status;
    pp_exchange_options x = pp_plan_exchange(plan);
    if (x.shapes.kind >= PP_SIZES_PADDED)
        return pp_err_set(err, PP_INPUT, path,
                          "was made with %s, its costs include the padding; make a plan with "
                          "--shapes plan",
                          pp_size_protocol_print(&plan->sizes, sizes, sizeof sizes));
    if (!x.host.launch_ns && !x.host.sync_ns && !x.host.read_ns &&
        (status = pp_host_costs_parse(DEFAULT_HOST, &x.host, err)))
        return status;
    if ((status = pp_args_exchange(args, &x, err)))
        return status;
    x.shapes = r->sizes;
    plan->framework = r->framework;
    plan->sizes = r->sizes;
    plan->host = t->host = x.host;
    plan->shape_message_ns = t->shape_message_ns = x.shape_message_ns;
    plan->tensors = x.tensors;
    status = pp_plan_pad(&x.shapes, plan, err);
    return status ? status : fill_row(plan, r, err);
}

static pp_status from_plan(const pp_args *args, const char *path, table *t, pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_status status = pp_gzip_json(path, &json, err);
    if (status || (status = pp_plan_read(json, path, &plan, err)))
        return status;
    for (const pp_option *o = options; o->name; o++) {
        bool fits = strcmp(o->name, "--executors") == 0 || strcmp(o->name, "--protocols") == 0 ||
                    strcmp(o->name, "--host") == 0 || strcmp(o->name, "--shape-message") == 0 ||
                    strcmp(o->name, "--tensors-per-boundary") == 0;
        if (!fits && pp_args_has(args, o->name))
            return pp_err_set(err, PP_USAGE, o->name,
                              "%.64s is a plan and brings its own; leave the option out", path);
    }
    for (size_t e = 0; e < t->frameworks.count; e++) {
        for (size_t k = 0; k < t->protocols.count; k++) {
            pp_err why = pp_err_like(err);
            row *r = open_row(t, e, k);
            status = plan_row(args, json, path, r, t, &why);
            if ((status = end_row(t, r, status, &why, err)))
                return status;
        }
    }
    return PP_OK;
}

/* Returns the step time of the first row of this framework, or 0 if that row has none. */
static pp_ns reference(const table *t, const row *r)
{
    size_t i = 0;
    while (t->row[i].framework != r->framework)
        i++;
    return t->row[i].known ? t->row[i].step_ns : 0;
}

static void print_row(const table *t, const row *r, pp_text *text)
{
    char step[32];
    char bytes[2][32] = { "-", "-" };
    char more[32] = "-";
    char shapes[16] = "-";
    char sizes[32];
    pp_text_add(text, "%-11s %-12s", r->framework->name,
                pp_size_protocol_print(&r->sizes, sizes, sizeof sizes));
    if (!r->known) {
        pp_text_add(text, " no: %.*s\n", pp_first_clause(r->reason), r->reason);
        return;
    }
    if (r->moved_bytes)
        pp_format_bytes(bytes[0], sizeof bytes[0], r->moved_bytes);
    if (r->peak_recv_bytes)
        pp_format_bytes(bytes[1], sizeof bytes[1], r->peak_recv_bytes);
    pp_ns base = reference(t, r);
    if (base)
        snprintf(more, sizeof more, "%+.2f %%", 100.0 * ((double)r->step_ns / (double)base - 1.0));
    if (r->distinct)
        snprintf(shapes, sizeof shapes, "%" PRIu32, r->distinct);
    pp_text_add(text, " %10s %9s %6.2f %% %10s %10s %5zu %5zu %5zu %5s\n",
                pp_format_duration(step, sizeof step, r->step_ns), more, 100.0 * r->bubble_fraction,
                bytes[0], bytes[1], r->critical.syncs, r->critical.reads, r->critical.messages,
                shapes);
}

static void print_subject(const pp_args *args, pp_text *text)
{
    const char *schedule = pp_args_text(args, "--schedule");
    if (pp_args_word(args, 0))
        pp_text_add(text, "%s\n\n", pp_args_word(args, 0));
    else
        pp_text_add(text, "%s, pp %s, %s\n\n", pp_args_text(args, "--model"),
                    pp_args_text(args, "--pp"), schedule ? schedule : "1f1b");
}

static pp_status print_text(const pp_args *args, const table *t, const pp_notes *notes, pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    char host[4][32];
    print_subject(args, &text);
    pp_text_add(&text, "%-11s %-12s %10s %9s %8s %10s %10s %5s %5s %5s %5s\n", "executor", "shapes",
                "step", "more", "bubble", "bytes", "peak recv", "syncs", "reads", "msgs", "sizes");
    for (size_t i = 0; i < t->count; i++)
        print_row(t, &t->row[i], &text);
    pp_text_add(
        &text,
        "\nsimulated. more: than the executor's first row. bytes: sent by all ranks. syncs, "
        "reads, messages: on\nthe critical path. sizes: distinct token counts. hosts "
        "(assumed unless measured): launch %s,\nsync %s, read %s; a message about a shape "
        "takes %s\n",
        pp_format_duration(host[0], sizeof host[0], t->host.launch_ns),
        pp_format_duration(host[1], sizeof host[1], t->host.sync_ns),
        pp_format_duration(host[2], sizeof host[2], t->host.read_ns),
        pp_format_duration(host[3], sizeof host[3], t->shape_message_ns));
    for (size_t i = 0; i < notes->count; i++)
        pp_text_add(&text, "%s: %s\n", notes->note[i].key, notes->note[i].value);
    pp_status status = pp_text_check(&text, err);
    return status ? status : pp_print_product(args, text.data, text.bytes, err);
}

static void put_known(pp_json_build *build, pp_json *object, const char *key, int64_t value)
{
    if (value)
        pp_json_put_int(build, object, key, value);
    else
        pp_json_put_null(build, object, key);
}

static pp_json *write_row(const row *r, pp_json_build *build)
{
    char sizes[32];
    pp_json *object = pp_json_new_object(build);
    pp_json_put_text(build, object, "executor", r->framework->name);
    pp_json_put_text(build, object, "shapes",
                     pp_size_protocol_print(&r->sizes, sizes, sizeof sizes));
    pp_json_put_text(build, object, "reason", r->known ? NULL : r->reason);
    if (!r->known)
        return object;
    pp_json_put_int(build, object, "step_ns", r->step_ns);
    pp_json_put_double(build, object, "bubble_fraction", r->bubble_fraction);
    put_known(build, object, "moved_bytes", r->moved_bytes);
    put_known(build, object, "peak_recv_bytes", r->peak_recv_bytes);
    put_known(build, object, "distinct_sizes", r->distinct);
    pp_json *path = pp_json_new_object(build);
    pp_json_put_int(build, path, "syncs", (int64_t)r->critical.syncs);
    pp_json_put_int(build, path, "reads", (int64_t)r->critical.reads);
    pp_json_put_int(build, path, "messages", (int64_t)r->critical.messages);
    pp_json_put_int(build, path, "tensors", (int64_t)r->critical.tensors);
    pp_json_put(build, object, "critical_path", path);
    return object;
}

static pp_status print_json(const pp_args *args, const table *t, const pp_notes *notes, pp_err *err)
{
    pp_json_build build = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    pp_json_put_text(&build, json, "format", "ppsim.shapes");
    pp_json_put_int(&build, json, "version", 1);
    pp_json *host = pp_json_new_object(&build);
    pp_json_put_int(&build, host, "launch_ns", t->host.launch_ns);
    pp_json_put_int(&build, host, "sync_ns", t->host.sync_ns);
    pp_json_put_int(&build, host, "read_ns", t->host.read_ns);
    pp_json_put(&build, json, "host", host);
    pp_json_put_int(&build, json, "shape_message_ns", t->shape_message_ns);
    pp_json *rows = pp_json_new_array(&build);
    for (size_t i = 0; i < t->count; i++)
        pp_json_add(&build, rows, write_row(&t->row[i], &build));
    pp_json_put(&build, json, "rows", rows);
    pp_json *assumptions = pp_json_new_object(&build);
    for (size_t i = 0; i < notes->count; i++)
        pp_json_put_text(&build, assumptions, notes->note[i].key, notes->note[i].value);
    pp_json_put(&build, json, "assumptions", assumptions);
    return pp_print_json(args, &build, json, err);
}

static pp_status make(const pp_args *args, table *t, pp_notes *notes, pp_err *err)
{
    const char *path = pp_args_word(args, 0);
    if (path && pp_args_word(args, 1))
        return pp_err_set(err, PP_USAGE, NULL, "give one plan; see 'ppsim shapes --help'");
    pp_status status = read_names(args, "--executors", DEFAULT_FRAMEWORKS, &t->frameworks, err);
    if (status ||
        (status = read_names(args, "--protocols", path ? DEFAULT_OF_PLANS : DEFAULT_PROTOCOLS,
                             &t->protocols, err)) ||
        (status = parse_names(t, err)) ||
        (status = path ? from_plan(args, path, t, err) : from_model(args, t, notes, err)))
        return status;
    for (size_t i = 0; i < t->count; i++) {
        if (t->row[i].known)
            return PP_OK;
    }
    return pp_err_set(err, t->first_failure, NULL, "none of these works; the first: %s",
                      t->count ? t->row[0].reason : "");
}

static pp_status shapes(const pp_args *args, pp_err *err)
{
    table *t = pp_alloc_array(1, sizeof *t);
    pp_notes notes PP_CLEANUP(pp_notes_free) = { 0 };
    if (!t)
        return pp_err_nomem(err);
    pp_status status = make(args, t, &notes, err);
    if (!status && pp_args_word(args, 0) && !t->shape_message_ns)
        pp_remark("warning: the plan does not say what a message about a shape takes, so it costs "
                  "nothing here; give --shape-message, for example 30us");
    if (!status)
        status = pp_args_has(args, "--json") ? print_json(args, t, &notes, err)
                                             : print_text(args, t, &notes, err);
    free(t);
    return status;
}

const pp_command pp_command_shapes = {
    .name = "shapes",
    .arguments = "PLAN.json | --model M --pp P [--lengths FILE] [...]",
    .summary = "what each way of telling receivers their sizes costs",
    .options = options,
    .details = "Padded lengths that do not occur need a model; a plan knows its longest\n"
               "microbatch. A plan keeps its recomputation; with a model all stages and\n"
               "microbatches recompute alike.\n"
               "example:\n"
               "  ppsim shapes --model llama3-70b --pp 8 --lengths lengths.txt --seq-length 8192\n",
    .run = shapes,
};
