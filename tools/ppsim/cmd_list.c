/* ppsim list: prints what this build has (models, hardware, schedules, executors, formats, ...)
 * from its registries. */
#include "calib/fit/form/form.h"
#include "calib/fit/form/registry.h"
#include "calib/import/registry.h"
#include "calib/profile/profile.h"
#include "calib/profile/profile_read.h"
#include "runtime/compute/registry.h"
#include "runtime/core/compute.h"
#include "runtime/core/transport.h"
#include "runtime/transport/registry.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/framework/registry.h"
#include "sim/job/hardware.h"
#include "sim/job/model.h"
#include "sim/job/stack.h"
#include "sim/schedule/registry.h"
#include "sim/schedule/schedule.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/base/words.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/compare/metrics.h"
#include "tools/ppsim/input/load.h"
#include "traces/format/registry.h"
#include "traces/plot/registry.h"
#include "traces/read/data.h"
#include "traces/target/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const pp_option options[] = {
    { PP_ROW_END },
};

/* One row: a name and a sentence. */
typedef struct row {
    const char *name;
    char summary[512];
} row;

typedef struct kind {
    const char *name;
    size_t (*count)(void);
    /* NULL: in the order of the indices. Else: writes the indices in order. order_out: [count()] */
    pp_status (*sort)(size_t *order_out, pp_err *err);
    pp_status (*read)(size_t index, row *row_out, pp_err *err);
    /* NULL: nothing but name and sentence. Else: prints an entry in one line, and puts its facts
     * into a JSON object. */
    pp_status (*print)(size_t index, pp_text *text, pp_err *err);
    pp_status (*put)(size_t index, pp_json_build *build, pp_json *object, pp_err *err);
} kind;

static size_t count_models(void)
{
    return pp_data_count(PP_DATA_MODEL);
}

static pp_status read_model(size_t index, row *row_out, pp_err *err)
{
    pp_model model;
    const pp_data_file *file = pp_data_at(PP_DATA_MODEL, index);
    pp_status status = pp_model_parse(file->text, file->bytes, file->name, &model, err);
    if (status)
        return status;
    row_out->name = file->name;
    snprintf(row_out->summary, sizeof row_out->summary,
             "%.4g B parameters, %" PRId64 " layers, hidden %" PRId64 ", seq %" PRId64,
             (double)pp_model_parameters(&model) * 1e-9, model.layers, model.hidden,
             model.max_seq_length);
    return PP_OK;
}

/* When a model was released, and its place in the alphabet. */
typedef struct dated {
    int64_t released;
    size_t index;
} dated;

/* The latest models come first; those without a date last. */
static int compare_dates(const void *a, const void *b)
{
    const dated *x = a, *y = b;
    if (x->released != y->released)
        return x->released < y->released ? 1 : -1;
    return x->index < y->index ? -1 : 1;
}

static void free_dates(dated **dates)
{
    free(*dates);
}

static pp_status sort_models(size_t *order_out, pp_err *err)
{
    const size_t count = count_models();
    dated *dates PP_CLEANUP(free_dates) = pp_alloc_array(count, sizeof *dates);
    if (!dates)
        return pp_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        pp_model model;
        const pp_data_file *file = pp_data_at(PP_DATA_MODEL, i);
        pp_status status = pp_model_parse(file->text, file->bytes, file->name, &model, err);
        if (status)
            return status;
        dates[i] = (dated){ model.released, i };
    }
    qsort(dates, count, sizeof *dates, compare_dates);
    for (size_t i = 0; i < count; i++)
        order_out[i] = dates[i].index;
    return PP_OK;
}

static size_t count_hardware(void)
{
    return pp_data_count(PP_DATA_HARDWARE);
}

static pp_status parse_hardware(size_t index, pp_hardware *hardware_out, pp_err *err)
{
    const pp_data_file *file = pp_data_at(PP_DATA_HARDWARE, index);
    return pp_hardware_parse(file->text, file->bytes, file->name, hardware_out, err);
}

static pp_status read_hardware(size_t index, row *row_out, pp_err *err)
{
    pp_hardware hardware;
    pp_status status = parse_hardware(index, &hardware, err);
    if (status)
        return status;
    row_out->name = pp_data_at(PP_DATA_HARDWARE, index)->name;
    snprintf(row_out->summary, sizeof row_out->summary, "%s", hardware.summary);
    return PP_OK;
}

/* Names the parts of a machine that were measured, two that belong together by one word:
 * "kernels, collectives". */
static void add_measured(const pp_hardware *hardware, pp_text *text)
{
    static const struct {
        pp_hardware_part first, last;
        const char *both;
    } groups[] = { { PP_PART_GEMM, PP_PART_ATTENTION, "kernels" },
                   { PP_PART_COLLECTIVES, PP_PART_MESSAGES, "links" },
                   { PP_PART_STEPS, PP_PART_STEPS, "steps" } };
    const char *comma = "";
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        const bool first = pp_hardware_is_measured(hardware, groups[i].first);
        const bool last = pp_hardware_is_measured(hardware, groups[i].last);
        if (!first && !last)
            continue;
        pp_text_add(text, "%s%s", comma,
                    first && last
                        ? groups[i].both
                        : pp_hardware_part_name(first ? groups[i].first : groups[i].last));
        comma = ", ";
    }
    pp_text_add(text, "%s", *comma ? "\n" : "data sheet only\n");
}

static double card_gigabits_per_s(const pp_hardware *hardware)
{
    return 8e-9 * hardware->network_bytes_per_s / hardware->gpus_per_node;
}

/* Prints "h100-80g  86 GB  989 TFLOP/s  8 x 400 Gb/s  kernels, links, steps". */
static pp_status print_hardware(size_t index, pp_text *text, pp_err *err)
{
    pp_hardware hw;
    pp_status status = parse_hardware(index, &hw, err);
    if (status)
        return status;
    pp_text_add(text, "%-13s %4.0f GB %4.0f TFLOP/s %4d x %4g Gb/s  ",
                pp_data_at(PP_DATA_HARDWARE, index)->name, 1e-9 * (double)hw.memory_bytes,
                1e-12 * hw.peak_flops_per_s, hw.gpus_per_node, card_gigabits_per_s(&hw));
    add_measured(&hw, text);
    return PP_OK;
}

static pp_status put_hardware(size_t index, pp_json_build *build, pp_json *object, pp_err *err)
{
    pp_hardware hw;
    pp_status status = parse_hardware(index, &hw, err);
    if (status)
        return status;
    pp_json *measured = pp_json_new_object(build);
    pp_json_put_int(build, object, "memory_bytes", hw.memory_bytes);
    pp_json_put_double(build, object, "peak_flops_per_s", hw.peak_flops_per_s);
    pp_json_put_int(build, object, "gpus_per_node", hw.gpus_per_node);
    pp_json_put_int(build, object, "gpus_per_tray", hw.gpus_per_tray);
    pp_json_put_double(build, object, "network_gigabits_per_s", card_gigabits_per_s(&hw));
    for (int part = 0; part < PP_PART_COUNT; part++)
        pp_json_put_bool(build, measured, pp_hardware_part_name((pp_hardware_part)part),
                         pp_hardware_is_measured(&hw, (pp_hardware_part)part));
    pp_json_put(build, object, "measured", measured);
    return PP_OK;
}

static size_t count_stacks(void)
{
    return pp_data_count(PP_DATA_STACK);
}

static pp_status read_stack(size_t index, row *row_out, pp_err *err)
{
    pp_stack stack;
    const pp_data_file *file = pp_data_at(PP_DATA_STACK, index);
    pp_status status = pp_load_stack(file->name, NULL, &stack, err);
    if (status)
        return status;
    row_out->name = file->name;
    snprintf(row_out->summary, sizeof row_out->summary, "%s", stack.summary);
    return PP_OK;
}

static pp_status put_stack(size_t index, pp_json_build *build, pp_json *object, pp_err *err)
{
    pp_stack stack;
    pp_status status = pp_load_stack(pp_data_at(PP_DATA_STACK, index)->name, NULL, &stack, err);
    if (status)
        return status;
    pp_json *precisions = pp_json_new_array(build);
    pp_json *speeds = pp_json_new_object(build);
    for (size_t k = 0; k < PP_PRECISIONS; k++) {
        if (stack.has.precision[k])
            pp_json_add_text(build, precisions, pp_precision_names()[k]);
    }
    for (size_t i = 0; i < stack.gpu_count; i++) {
        const pp_stack_gpu *gpu = &stack.gpu[i];
        pp_json *speed = pp_json_new_object(build);
        if (gpu->sustained > 0)
            pp_json_put_double(build, speed, "sustained", gpu->sustained);
        if (gpu->sustained_low > 0)
            pp_json_put_double(build, speed, "sustained_low", gpu->sustained_low);
        if (gpu->growth > 0)
            pp_json_put_double(build, speed, "growth", gpu->growth);
        if (gpu->power_limit > 0)
            pp_json_put_double(build, speed, "power_limit", gpu->power_limit);
        if (gpu->step_offset_s > 0)
            pp_json_put_double(build, speed, "step_offset_s", gpu->step_offset_s);
        pp_json_put(build, speeds, gpu->architecture, speed);
    }
    pp_json_put_text(build, object, "stands_for", stack.stands_for[0] ? stack.stands_for : NULL);
    pp_json_put(build, object, "precisions", precisions);
    pp_json_put(build, object, "speeds", speeds);
    return PP_OK;
}

static size_t count_profiles(void)
{
    return pp_data_count(PP_DATA_PROFILE);
}

/* Describes a profile with the mean errors of its classes: "NVIDIA A100; mean error of the fits:
 * all_reduce 6.3 %". */
static pp_status read_profile(size_t index, row *row_out, pp_err *err)
{
    pp_profile *profile PP_CLEANUP(pp_profile_free) = NULL;
    const pp_data_file *file = pp_data_at(PP_DATA_PROFILE, index);
    pp_status status = pp_profile_parse(file->text, file->bytes, file->name, &profile, err);
    if (status)
        return status;
    row_out->name = file->name;
    size_t used = (size_t)snprintf(row_out->summary, sizeof row_out->summary,
                                   "%.60s; mean error of the fits:", profile->samples.device);
    for (size_t i = 0; i < profile->count && used < sizeof row_out->summary; i++) {
        const pp_profile_entry *e = &profile->entry[i];
        used += (size_t)snprintf(row_out->summary + used, sizeof row_out->summary - used,
                                 "%s %s%s %.1f %%", i ? "," : "", e->class_name,
                                 e->spans ? " between nodes" : "", 100 * e->choice.fit.mape);
    }
    return PP_OK;
}

/* Defines the readers of registries whose entries have a name and a summary. */
#define READ_ENTRY(id)                                                                           \
    static pp_status read_##id(size_t index, row *row_out, pp_err *err)                          \
    {                                                                                            \
        (void)err;                                                                               \
        row_out->name = pp_##id##_at(index)->name;                                               \
        snprintf(row_out->summary, sizeof row_out->summary, "%s", pp_##id##_at(index)->summary); \
        return PP_OK;                                                                            \
    }
READ_ENTRY(schedule)
READ_ENTRY(framework)
READ_ENTRY(compute)
READ_ENTRY(import)
READ_ENTRY(form)
#undef READ_ENTRY

static pp_status read_probe(size_t index, row *row_out, pp_err *err)
{
    const pp_probe *probe = pp_probe_at(index);
    row_out->name = probe->name;
    snprintf(row_out->summary, sizeof row_out->summary, "%s%s%s", probe->summary,
             probe->setting ? " " : "", probe->setting ? pp_err_name(err, probe->setting) : "");
    return PP_OK;
}

/* The formats of ppsim itself, in addition to those of traces/formats.def. */
static const row own_formats[] = {
    { "plan",
      "--emit           read  the plan: everything that describes a step, for the other commands" },
    { "report", "--emit                 the report as JSON" },
};

enum { OWN_FORMATS = sizeof own_formats / sizeof own_formats[0] };

static size_t count_formats(void)
{
    return OWN_FORMATS + pp_format_count();
}

static pp_status read_format(size_t index, row *row_out, pp_err *err)
{
    (void)err;
    if (index < OWN_FORMATS) {
        *row_out = own_formats[index];
        return PP_OK;
    }
    index -= OWN_FORMATS;
    const pp_format *format = pp_format_at(index);
    row_out->name = format->name;
    snprintf(row_out->summary, sizeof row_out->summary, "%-8s%-9s%-6s%s",
             format->emit ? "--emit" : "", format->trace ? "--trace" : "",
             format->read ? "read" : "", format->summary);
    return PP_OK;
}

static pp_status read_transport(size_t index, row *row_out, pp_err *err)
{
    const pp_transport *transport = pp_transport_at(index);
    pp_err reason = pp_err_like(err);
    (void)err;
    row_out->name = transport->name;
    if (transport->available(&reason))
        snprintf(row_out->summary, sizeof row_out->summary, "not here: %.160s", reason.text);
    else
        snprintf(row_out->summary, sizeof row_out->summary, "%s", transport->summary);
    return PP_OK;
}

/* The kinds as the help shows them, in the order of the table. */
#define KINDS                                                                                  \
    "models|hardware|profiles|stacks|schedules|executors|formats|transports|computes|imports|" \
    "probes|"                                                                                  \
    "forms|metrics|plots|targets"

/* Returns the index-th metric that is compared, or NULL if there are fewer. */
static const pp_metric *metric_at(size_t index)
{
    for (size_t i = 0; i < pp_metric_count(); i++) {
        if (pp_metric_at(i)->unit != PP_METRIC_SKIP && index-- == 0)
            return pp_metric_at(i);
    }
    return NULL;
}

static size_t count_metrics(void)
{
    size_t count = 0;
    while (metric_at(count))
        count++;
    return count;
}

static pp_status read_metric(size_t index, row *row_out, pp_err *err)
{
    const pp_metric *metric = metric_at(index);
    (void)err;
    row_out->name = metric->name;
    pp_metric_describe(metric, row_out->summary, sizeof row_out->summary);
    return PP_OK;
}

static pp_status read_plot(size_t index, row *row_out, pp_err *err)
{
    (void)err;
    row_out->name = pp_plot_at(index)->name;
    snprintf(row_out->summary, sizeof row_out->summary, "%s", pp_plot_at(index)->summary);
    return PP_OK;
}

/* Appends the number formats of a set, which has at least one. */
static void add_precisions(unsigned set, pp_text *text)
{
    const char *before = "";
    for (int k = 0; k < PP_PRECISIONS; k++) {
        if (!(set >> k & 1))
            continue;
        pp_text_add(text, "%s%s", before, pp_recipe_of((pp_precision)k)->name);
        before = ", ";
    }
}

static pp_status read_target(size_t index, row *row_out, pp_err *err)
{
    const pp_target_limits *limits = &pp_target_at(index)->limits;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_text_add(&text, "%s; number formats: ", limits->rules);
    add_precisions(limits->precisions | 1U << PP_PRECISION_BF16, &text);
    if (limits->dense_precisions) {
        pp_text_add(&text, ", and without experts ");
        add_precisions(limits->dense_precisions, &text);
    }
    row_out->name = limits->name;
    snprintf(row_out->summary, sizeof row_out->summary, "%s", text.data ? text.data : "");
    return pp_text_check(&text, err);
}

static const kind kinds[] = {
    { "models", count_models, sort_models, read_model, NULL, NULL },
    { "hardware", count_hardware, NULL, read_hardware, print_hardware, put_hardware },
    { "profiles", count_profiles, NULL, read_profile, NULL, NULL },
    { "stacks", count_stacks, NULL, read_stack, NULL, put_stack },
    { "schedules", pp_schedule_count, NULL, read_schedule, NULL, NULL },
    { "executors", pp_framework_count, NULL, read_framework, NULL, NULL },
    { "formats", count_formats, NULL, read_format, NULL, NULL },
    { "transports", pp_transport_count, NULL, read_transport, NULL, NULL },
    { "computes", pp_compute_count, NULL, read_compute, NULL, NULL },
    { "imports", pp_import_count, NULL, read_import, NULL, NULL },
    { "probes", pp_probe_count, NULL, read_probe, NULL, NULL },
    { "forms", pp_form_count, NULL, read_form, NULL, NULL },
    { "metrics", count_metrics, NULL, read_metric, NULL, NULL },
    { "plots", pp_plot_count, NULL, read_plot, NULL, NULL },
    { "targets", pp_target_count, NULL, read_target, NULL, NULL },
};

enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static void free_order(size_t **order)
{
    free(*order);
}

static pp_status order_of(const kind *k, size_t **order_out, pp_err *err)
{
    size_t *order = pp_alloc_array(k->count() + 1, sizeof *order);
    if (!order)
        return pp_err_nomem(err);
    for (size_t i = 0; i < k->count(); i++)
        order[i] = i;
    *order_out = order;
    return k->sort ? k->sort(order, err) : PP_OK;
}

static pp_status list_json(const pp_args *args, const kind *k, pp_err *err)
{
    size_t *order PP_CLEANUP(free_order) = NULL;
    pp_status status = order_of(k, &order, err);
    if (status)
        return status;
    pp_json_build build = { 0 };
    pp_json *array PP_CLEANUP(pp_json_free) = pp_json_new_array(&build);
    for (size_t i = 0; i < k->count(); i++) {
        row r = { 0 };
        status = k->read(order[i], &r, err);
        if (status)
            return status;
        pp_json *object = pp_json_new_object(&build);
        pp_json_add(&build, array, object);
        pp_json_put_text(&build, object, "name", r.name);
        pp_json_put_text(&build, object, "summary", r.summary);
        status = k->put ? k->put(order[i], &build, object, err) : PP_OK;
        if (status)
            return status;
    }
    return pp_print_json(args, &build, array, err);
}

#define SUMMARY_COLUMN 23

/* Prints a line for each entry. On a terminal, lines are broken at 80 columns. */
static pp_status list_text(const pp_args *args, const kind *k, pp_err *err)
{
    bool wraps = !pp_args_has(args, "-o") && isatty(STDOUT_FILENO) == 1;
    size_t *order PP_CLEANUP(free_order) = NULL;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_status status = order_of(k, &order, err);
    if (status)
        return status;
    for (size_t i = 0; i < k->count(); i++) {
        row r = { 0 };
        status = k->print ? k->print(order[i], &text, err) : k->read(order[i], &r, err);
        if (status)
            return status;
        if (k->print)
            continue;
        pp_text_add(&text, "%-22s ", r.name);
        if (wraps)
            pp_print_words(&text, r.summary, SUMMARY_COLUMN, SUMMARY_COLUMN);
        else
            pp_text_add(&text, "%s\n", r.summary);
    }
    status = pp_text_check(&text, err);
    return status ? status : pp_print_product(args, text.data, text.bytes, err);
}

static pp_status list(const pp_args *args, pp_err *err)
{
    const char *word = pp_args_word(args, 0);
    const char *names[KIND_COUNT + 1] = { NULL };
    for (size_t i = 0; i < KIND_COUNT; i++) {
        names[i] = kinds[i].name;
        if (word && !pp_args_word(args, 1) && strcmp(word, kinds[i].name) == 0)
            return pp_args_has(args, "--json") ? list_json(args, &kinds[i], err)
                                               : list_text(args, &kinds[i], err);
    }
    const char *near = word ? pp_text_nearest(word, names) : NULL;
    return pp_err_set(err, PP_USAGE, NULL, "give one of " KINDS "%s%s%s",
                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

const pp_command pp_command_list = {
    .name = "list",
    .arguments = KINDS,
    .summary = "list the models, hardware, schedules and other names you can use",
    .options = options,
    .examples = "ppsim list models\nppsim list schedules --json\n",
    .run = list,
};
