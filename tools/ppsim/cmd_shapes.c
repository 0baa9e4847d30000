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
#include "tools/ppsim/base/colour.h"
#include "tools/ppsim/base/option_rows.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/base/words.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/input/exchange_args.h"
#include "tools/ppsim/plan/assumptions.h"
#include "tools/ppsim/plan/input.h"
#include "traces/read/gzip.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_FRAMEWORKS 3 /* number of executors that are compared unless some are named */
#define DEFAULT_PROTOCOLS "plan,local,message,cached,padded,padded-wire,bucket:512"
/* buckets, and the kernels of padded-wire, need a model */
#define DEFAULT_OF_PLANS "plan,local,message,cached,padded"
#define DEFAULT_HOST "launch=5us,sync=10us,read=8us"
#define DEFAULT_SCHEDULE "1f1b"
#define NAMES_MAX 16
#define NAME_COLUMNS 15 /* of the table: names of protocols */

static const pp_option options[] = {
    { PP_ROW("--executors", "A,B,...", FRAMEWORK, "executors to compare",
             "that of the plan, then others that run its schedule, three in all") },
    { PP_ROW("--protocols", "A,B,...", COMMUNICATION, "tensor-size protocols to compare",
             "all, with bucket:512") },
    { PP_ROW("--host", "launch=T,sync=T,read=T", COMMUNICATION,
             "host overhead: per launch, per device sync, per size read", DEFAULT_HOST) },
    { PP_OPTION_SHAPE_MESSAGE },
    { PP_OPTION_TENSORS_PER_BOUNDARY },
    { PP_OPTION_MODEL },
    { PP_ROW("--seq-length", "N", MODEL, "tokens per sequence, or per packed row of --lengths",
             "the model's maximum") },
    { PP_ROW("--micro-batch-size", "N", MODEL, "sequences, or packed rows, per microbatch",
             "chosen") },
    { PP_ROW("--global-batch-size", "N", MODEL, "without --lengths: sequences per step", NULL) },
    { PP_OPTION_LENGTHS },
    { PP_OPTION_TRUNCATE },
    { PP_OPTION_SPLIT_LONG },
    { PP_OPTION_HW },
    { PP_OPTION_MEMORY_LIMIT },
    { PP_OPTION_PP },
    { PP_OPTION_TP },
    { PP_OPTION_DP },
    { PP_OPTION_CP },
    { PP_ROW("--schedule", "NAME", SCHEDULE, "a name from 'ppsim list schedules'",
             DEFAULT_SCHEDULE) },
    { PP_OPTION_VPP },
    { PP_OPTION_MICROBATCH_GROUP_SIZE },
    { PP_OPTION_RECOMPUTE },
    { PP_OPTION_VERBOSE("also print the assumptions") },
    { PP_ROW_END },
};

/* The result of one protocol under one framework. `reason` explains why there are no numbers. */
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
    const pp_framework *framework[NAMES_MAX]; /* [frameworks] */
    size_t frameworks;
    pp_size_protocol sizes[NAMES_MAX]; /* [protocols] */
    size_t protocols;
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
    do {
        size_t bytes = strcspn(text, ",");
        if (bytes == 0 || bytes >= sizeof out->text[0] || out->count == NAMES_MAX)
            return pp_err_set(err, PP_USAGE, option, "'%.64s' must be a list of at most %d names",
                              text, NAMES_MAX);
        snprintf(out->text[out->count++], sizeof out->text[0], "%.*s", (int)bytes, text);
        text += bytes + (text[bytes] == ',');
    } while (*text);
    return PP_OK;
}

/* Reads the executors and protocols. An unknown name is wrong usage, whereas a protocol that a
 * framework cannot use gives a row. Without --executors none are read. */
static pp_status read_table(const pp_args *args, table *t, pp_err *err)
{
    names frameworks = { .count = 0 };
    names protocols = { .count = 0 };
    pp_status status = pp_args_has(args, "--executors")
                           ? read_names(args, "--executors", "", &frameworks, err)
                           : PP_OK;
    if (!status)
        status = read_names(args, "--protocols",
                            pp_args_word(args, 0) ? DEFAULT_OF_PLANS : DEFAULT_PROTOCOLS,
                            &protocols, err);
    for (; t->frameworks < frameworks.count && !status; t->frameworks++)
        status =
            pp_framework_get(frameworks.text[t->frameworks], &t->framework[t->frameworks], err);
    for (; t->protocols < protocols.count && !status; t->protocols++)
        status = pp_size_protocol_parse(protocols.text[t->protocols], &t->sizes[t->protocols], err);
    return status;
}

/* Simulates the plan under another framework that has messages, if `tight` within its memory limit.
 * Fails: as pp_plan_simulate, USAGE when the framework has none, INFEASIBLE beyond the limit. */
static pp_status try_framework(const pp_framework *framework, bool tight, pp_plan *plan,
                               pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    const pp_costs *costs;
    const pp_framework *own = plan->framework;
    uint32_t rank;
    if (!framework->size_protocols)
        return pp_err_set(err, PP_USAGE, "--executors", "%s has no messages", framework->name);
    plan->framework = framework;
    pp_status status = pp_plan_simulate(plan, &program, &timeline, &costs, &report, err);
    plan->framework = own;
    if (!status && tight && pp_report_excess(report, report->memory_limit_bytes, &rank) > 0)
        status = pp_err_set(err, PP_INFEASIBLE, "--executors", "%s does not fit", framework->name);
    return status;
}

static bool has_framework(const table *t, const pp_framework *framework)
{
    for (size_t i = 0; i < t->frameworks; i++) {
        if (t->framework[i] == framework)
            return true;
    }
    return false;
}

/* Chooses the executors to compare, unless they are named: that of the plan, then those that run
 * its schedule, first three that receive other shapes in different ways. They must fit into the
 * memory, unless none does. */
static pp_status choose_frameworks(bool own_first, pp_plan *plan, table *t, pp_err *err)
{
    const pp_framework *first[] = { own_first ? plan->framework : NULL,
                                    pp_framework_find("megatron"), pp_framework_find("deepspeed"),
                                    pp_framework_find("colossalai"), plan->framework };
    const size_t ahead = sizeof first / sizeof *first;
    const size_t count = ahead + pp_framework_count();
    const bool named = t->frameworks > 0;
    pp_err why = pp_err_like(err);
    for (int tight = 1; tight >= 0 && !named && !t->frameworks; tight--) {
        for (size_t i = 0; i < count && t->frameworks < DEFAULT_FRAMEWORKS; i++) {
            const pp_framework *next = i < ahead ? first[i] : pp_framework_at(i - ahead);
            if (!next || has_framework(t, next))
                continue;
            const pp_status status = try_framework(next, tight, plan, &why);
            if (status == PP_NOMEM)
                return pp_err_nomem(err);
            if (!status)
                t->framework[t->frameworks++] = next;
        }
    }
    return t->frameworks ? PP_OK
                         : pp_err_set(err, why.status, "--executors",
                                      "no executor with messages runs this plan; %.400s", why.text);
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

/* Limits the request to what all the compared runtimes support: microbatches that recompute alike,
 * and layers on every stage. */
static pp_status limit_request(pp_plan_request *request, pp_err *err)
{
    if (request->switches.given.recompute &&
        request->switches.value.recompute == PP_RECOMPUTE_MICROBATCHES)
        return pp_err_set(
            err, PP_USAGE, "--recompute",
            "the compared runtimes recompute all microbatches alike; give none, selective, full, "
            "per-stage or auto, or a plan that recomputes per microbatch");
    request->recompute_alike = true;
    request->bare_ends = PP_BARE_ENDS_OFF;
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
    if ((status = limit_request(&request, err)))
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
    if ((status = choose_frameworks(false, base->plan, t, err)))
        return status;
    pin(base, layout.data, &request);
    t->host = request.exchange.host;
    for (size_t e = 0; e < t->frameworks; e++) {
        for (size_t k = 0; k < t->protocols; k++) {
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
        return pp_err_set(
            err, PP_INPUT, path,
            "was made with %s, so its costs include padding; make a plan with --shapes plan",
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
                    strcmp(o->name, "--tensors-per-boundary") == 0 ||
                    strcmp(o->name, "--verbose") == 0;
        if (!fits && pp_args_has(args, o->name))
            return pp_err_set(err, PP_USAGE, o->name,
                              "%.64s is a plan and already has this setting; remove the option",
                              path);
    }
    if ((status = choose_frameworks(true, plan, t, err)))
        return status;
    for (size_t e = 0; e < t->frameworks; e++) {
        for (size_t k = 0; k < t->protocols; k++) {
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

/* Returns how much longer the step of a row is than another one, in percent. */
static double percent_longer(const row *r, pp_ns than_ns)
{
    return 100.0 * ((double)r->step_ns / (double)than_ns - 1.0);
}

/* Writes the names of those protocols of an executor whose step is as long as `step_ns` in the two
 * decimals that are printed: "plan, local and cached". Returns their number. */
static size_t name_alike(const table *t, const pp_framework *framework, pp_ns step_ns,
                         pp_text *words)
{
    const row *alike[NAMES_MAX];
    size_t count = 0;
    char sizes[32];
    for (size_t i = 0; i < t->count; i++) {
        const row *r = &t->row[i];
        if (r->framework == framework && r->known && fabs(percent_longer(r, step_ns)) < 0.005)
            alike[count++] = r;
    }
    for (size_t i = 0; i < count; i++)
        pp_text_add(words, "%s%s",
                    i == 0           ? ""
                    : i + 1 == count ? " and "
                                     : ", ",
                    pp_size_protocol_print(&alike[i]->sizes, sizes, sizeof sizes));
    return count;
}

/* Writes which protocols are the cheapest with an executor, and what the dearest ones cost. */
static void print_answer(const table *t, size_t first, pp_text *text)
{
    const pp_framework *framework = t->row[first].framework;
    const row *best = NULL;
    const row *worst = NULL;
    char step[32];
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    for (size_t i = first; i < t->count && t->row[i].framework == framework; i++) {
        const row *r = &t->row[i];
        best = r->known && (!best || r->step_ns < best->step_ns) ? r : best;
        worst = r->known && (!worst || r->step_ns > worst->step_ns) ? r : worst;
    }
    if (!best) {
        pp_print_line(text, framework->name, "%snone of these protocols works%s",
                      pp_colour_begin(PP_COLOUR_BAD), pp_colour_end(PP_COLOUR_BAD));
        return;
    }
    pp_format_duration(step, sizeof step, best->step_ns);
    pp_text_add(&words, "%s", pp_colour_begin(PP_COLOUR_ANSWER));
    const size_t count = name_alike(t, framework, best->step_ns, &words);
    pp_text_add(&words, "%s %s cheapest, with a step of %s", pp_colour_end(PP_COLOUR_ANSWER),
                count > 1 ? "are" : "is", step);
    if (percent_longer(worst, best->step_ns) >= 0.005) {
        pp_text_add(&words, "; ");
        const bool several = name_alike(t, framework, worst->step_ns, &words) > 1;
        pp_text_add(&words, " %s %.2f %% longer", several ? "take" : "takes",
                    percent_longer(worst, best->step_ns));
    }
    pp_print_labelled(text, framework->name, &words);
}

static void print_row(const table *t, const row *r, pp_text *text)
{
    char step[32];
    char bytes[2][32] = { "-", "-" };
    char more[32] = "-";
    char shapes[16] = "-";
    char sizes[32];
    pp_size_protocol_print(&r->sizes, sizes, sizeof sizes);
    if (!r->known) {
        char reason[sizeof r->reason + 8];
        snprintf(reason, sizeof reason, "no: %.*s", pp_first_clause(r->reason), r->reason);
        pp_text_add(text, "  %-12s ", sizes);
        pp_print_words(text, reason, NAME_COLUMNS, NAME_COLUMNS);
        return;
    }
    if (r->moved_bytes)
        pp_format_bytes(bytes[0], sizeof bytes[0], r->moved_bytes);
    if (r->peak_recv_bytes)
        pp_format_bytes(bytes[1], sizeof bytes[1], r->peak_recv_bytes);
    pp_ns base = reference(t, r);
    if (base)
        snprintf(more, sizeof more, "%+.2f", percent_longer(r, base));
    if (r->distinct)
        snprintf(shapes, sizeof shapes, "%" PRIu32, r->distinct);
    pp_text_add(text, "  %-12s%9s %6s %6.2f %9s %9s %5zu %5zu %4zu %5s\n", sizes,
                pp_format_duration(step, sizeof step, r->step_ns), more, 100.0 * r->bubble_fraction,
                bytes[0], bytes[1], r->critical.syncs, r->critical.reads, r->critical.messages,
                shapes);
}

/* Writes the rows of all executors, each below its name. */
static void print_rows(const table *t, pp_text *text)
{
    for (size_t i = 0; i < t->count; i++) {
        const char *name = t->row[i].framework->name;
        if (i == 0 || t->row[i].framework != t->row[i - 1].framework)
            pp_text_add(text, "\n%-*s%*s %6s %6s %9s %9s %5s %5s %4s %5s\n", NAME_COLUMNS - 1, name,
                        (int)(NAME_COLUMNS + 8 -
                              (strlen(name) < NAME_COLUMNS - 1 ? NAME_COLUMNS - 1 : strlen(name))),
                        "step", "more", "bubble", "sent", "buffers", "syncs", "reads", "msgs",
                        "sizes");
        print_row(t, &t->row[i], text);
    }
}

static void print_subject(const pp_args *args, pp_text *text)
{
    const char *schedule = pp_args_text(args, "--schedule");
    if (pp_args_word(args, 0))
        pp_text_add(text, "%s\n", pp_args_word(args, 0));
    else
        pp_text_add(text, "%s, pp %s, %s\n", pp_args_text(args, "--model"),
                    pp_args_text(args, "--pp"), schedule ? schedule : "1f1b");
}

/* Writes what the columns mean, and on which figures they rest. */
static void print_legend(const table *t, pp_text *text)
{
    char host[4][32];
    pp_text_add(text, "\n");
    pp_print_line(text, "columns",
                  "more: percent longer than the executor's first row; bubble: percent of rank "
                  "time; sent: bytes of all ranks; buffers: most bytes of receive buffers on a "
                  "rank; syncs, reads, msgs (messages): on the critical path; sizes: distinct "
                  "token counts");
    pp_print_line(text, "hosts",
                  "launch %s, sync %s, read %s; a message about a shape takes %s (assumed unless "
                  "measured)",
                  pp_format_duration(host[0], sizeof host[0], t->host.launch_ns),
                  pp_format_duration(host[1], sizeof host[1], t->host.sync_ns),
                  pp_format_duration(host[2], sizeof host[2], t->host.read_ns),
                  pp_format_duration(host[3], sizeof host[3], t->shape_message_ns));
}

static void print_notes(const pp_notes *notes, pp_text *text)
{
    for (size_t i = 0; i < notes->count; i++) {
        pp_text line PP_CLEANUP(pp_text_free) = { 0 };
        pp_text_add(&line, "%s: %s", notes->note[i].key, notes->note[i].value);
        text->failed |= line.failed;
        if (line.data)
            pp_print_words(text, line.data, 0, 2);
    }
}

static pp_status print_text(const pp_args *args, const table *t, const pp_notes *notes, pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    print_subject(args, &text);
    for (size_t i = 0; i < t->count; i += t->protocols)
        print_answer(t, i, &text);
    print_rows(t, &text);
    print_legend(t, &text);
    if (pp_args_has(args, "--verbose"))
        print_notes(notes, &text);
    else if (notes->count)
        pp_print_line(&text, "next", "--verbose: %zu assumptions", notes->count);
    return pp_print_answer(args, &text, err);
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
        return pp_err_set(err, PP_USAGE, NULL,
                          "give one plan, or --model and --pp; see 'ppsim shapes --help'");
    pp_status status = read_table(args, t, err);
    if (status || (status = path ? from_plan(args, path, t, err) : from_model(args, t, notes, err)))
        return status;
    for (size_t i = 0; i < t->count; i++) {
        if (t->row[i].known)
            return PP_OK;
    }
    const row *first = &t->row[0];
    char sizes[32];
    return pp_err_set(err, t->first_failure, "--executors",
                      "no executor works with any of the protocols; %s with %s: %s",
                      first->framework->name,
                      pp_size_protocol_print(&first->sizes, sizes, sizeof sizes), first->reason);
}

static pp_status shapes(const pp_args *args, pp_err *err)
{
    table *t = pp_alloc_array(1, sizeof *t);
    pp_notes notes PP_CLEANUP(pp_notes_free) = { 0 };
    if (!t)
        return pp_err_nomem(err);
    pp_status status = make(args, t, &notes, err);
    if (!status && pp_args_word(args, 0) && !t->shape_message_ns)
        pp_remark("warning: the plan does not give the time of a tensor-size message, so such "
                  "messages take no time; give --shape-message, for example 30us");
    if (!status)
        status = pp_args_has(args, "--json") ? print_json(args, t, &notes, err)
                                             : print_text(args, t, &notes, err);
    free(t);
    return status;
}

/* The options that --help shows. */
static const char *const everyday[] = {
    "--model",    "--lengths",   "--seq-length", "--hw",   "--memory-limit",  "--pp",   "--tp",
    "--schedule", "--executors", "--protocols",  "--host", "--shape-message", "--json", "-o",
    NULL
};

const pp_command pp_command_shapes = {
    .name = "shapes",
    .arguments = "PLAN.json [options]\n"
                 "--model M --pp P [--lengths FILE] [options]",
    .summary = "compare what each tensor-size protocol costs",
    .options = options,
    .everyday = everyday,
    .details =
        "A plan keeps its recomputation. With --model, all stages and microbatches "
        "recompute the same layers.\n"
        "padded:MAX, padded-wire:MAX and bucket:N need --model if no microbatch of the plan has "
        "that length. Without --model, padded-wire charges transfers, and pad and unpad kernels "
        "cost nothing.\n",
    .examples = "ppsim shapes --model llama3-70b --pp 8 --lengths lengths.txt --seq-length 8192\n"
                "ppsim shapes plan.json --executors megatron,deepspeed\n",
    .run = shapes,
};
