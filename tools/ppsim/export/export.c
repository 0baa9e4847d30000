/* Carries out --emit and --trace: all texts are made first, then staged as temporary files, and
 * renamed last, so that a failure leaves nothing half written. */
#include "tools/ppsim/export/export.h"

#include "sim/analysis/report_json.h"
#include "sim/base/file.h"
#include "sim/plan/plan_write.h"
#include "sim/program/program_new.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/files.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/export/nearest.h"
#include "tools/ppsim/export/target_fit.h"
#include "traces/format/registry.h"
#include "traces/read/gzip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file to write. */
typedef struct export_file {
    char *path;
    pp_text text;
    pp_staged_file staged;
    bool companion; /* the second file of a format, whose name is not on the command line */
} export_file;

typedef struct export_files {
    export_file *file;
    size_t count, capacity;
} export_files;

static void free_exports(export_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->file[i].path);
        pp_file_discard(&files->file[i].staged);
        pp_text_free(&files->file[i].text);
    }
    free(files->file);
}

/* Adds a file. On success `text` is taken over and left empty. */
static pp_status add_file(export_files *files, const char *path, const char *suffix, pp_text *text,
                          pp_err *err)
{
    void *grown = files->file;
    pp_status status = pp_text_check(text, err);
    if (status ||
        (status = pp_grow(&grown, &files->capacity, files->count + 1, sizeof *files->file, err)))
        return status;
    files->file = grown;
    size_t room = strlen(path) + strlen(suffix) + 1;
    char *whole = malloc(room);
    if (!whole)
        return pp_err_nomem(err);
    snprintf(whole, room, "%s%s", path, suffix);
    if (pp_gzip_named(whole)) {
        pp_text packed = { 0 };
        if ((status = pp_gzip(text->data ? text->data : "", text->bytes, &packed.data,
                              &packed.bytes, err))) {
            free(whole);
            return status;
        }
        pp_text_free(text);
        *text = packed;
    }
    files->file[files->count++] =
        (export_file){ .path = whole, .text = *text, .companion = *suffix != '\0' };
    *text = (pp_text){ 0 };
    return PP_OK;
}

static pp_status json_text(pp_json_build *build, pp_json *json, pp_text *text, pp_err *err)
{
    pp_status status = pp_json_print(build, json, &text->data, &text->bytes, err);
    pp_json_free(&json);
    return status;
}

/* Prints the plan. A file with communication of its own is refused, because the framework of a plan
 * places its communication. */
static pp_status plan_text(const pp_export *data, pp_text *text, pp_err *err)
{
    pp_json_build build = { 0 };
    if (data->report && data->report->framework != data->plan->framework)
        return pp_err_set(
            err, PP_INFEASIBLE, "plan",
            "this file contains its own sends and receives, which a plan cannot hold; write "
            "pytorch-comms, or give a file with compute ops only (pytorch-csv)");
    return json_text(&build, pp_plan_write(data->plan, &build), text, err);
}

/* Makes the text of a format of ppsim itself, plan or report. Returns false when `name` is another
 * format. */
static bool own_format(const char *name, const pp_export *data, pp_text *text, pp_status *status,
                       pp_err *err)
{
    pp_json_build build = { 0 };
    if (strcmp(name, "plan") == 0)
        *status = plan_text(data, text, err);
    else if (strcmp(name, "report") == 0)
        *status = json_text(&build, pp_report_write(data->report, &build), text, err);
    else
        return false;
    return true;
}

static pp_status make_export(const char *request, const char *option, const pp_export *data,
                             export_files *files, pp_err *err)
{
    const bool emit = strcmp(option, "--emit") == 0;
    char name[64];
    const char *equals = strchr(request, '=');
    if (!equals || equals == request || !equals[1] || (size_t)(equals - request) >= sizeof name)
        return pp_err_set(err, PP_USAGE, option, "'%.64s' must be FORMAT=FILE", request);
    memcpy(name, request, (size_t)(equals - request));
    name[equals - request] = '\0';
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_status status = PP_OK;
    if (emit && strcmp(name, "report") != 0 &&
        (status = pp_order_one_rank(data->order, option, err)))
        return status;
    if (emit && own_format(name, data, &text, &status, err))
        return status ? status : add_file(files, equals + 1, "", &text, err);
    const pp_format *format;
    if ((status = pp_format_get(name, &format, err)))
        return status;
    if (!(emit ? format->emit != NULL : format->trace != NULL))
        return pp_err_set(err, PP_USAGE, option,
                          "'%s' is not a format for %s; 'ppsim list formats' shows the formats",
                          name, emit ? "schedules" : "timelines");
    pp_companion companion = { 0 };
    pp_export own = *data;
    own.path = equals + 1;
    const pp_target *target = pp_target_of_format(format);
    if (target && (status = pp_target_check_settings(target, data->plan, err)))
        return status;
    status = emit ? format->emit(&own, &text, &companion, err) : format->trace(&own, &text, err);
    if (!status && target)
        status = pp_target_check_fit(target, &own, err);
    if (status == PP_INFEASIBLE && emit)
        pp_add_nearest(format, &own, err);
    if (!status)
        status = add_file(files, equals + 1, "", &text, err);
    if (!status && companion.suffix && strcmp(equals + 1, "-") != 0 &&
        !pp_file_is_special(equals + 1))
        status = add_file(files, equals + 1, companion.suffix, &companion.text, err);
    pp_text_free(&companion.text);
    return status;
}

/* Refuses to write one order where each replica has its own. A picture or timeline of one replica
 * is of use nevertheless. */
static pp_status check_replicas(const char *request, const pp_export *data, pp_err *err)
{
    char name[64];
    const pp_format *format;
    pp_err ignored = { 0 };
    snprintf(name, sizeof name, "%.*s", (int)strcspn(request, "="), request);
    if (data->plan->order_count < 2 || pp_format_get(name, &format, &ignored) || format->trace)
        return PP_OK;
    return pp_err_set(err, PP_INFEASIBLE, "--emit",
                      "the %" PRIu32 " replicas of this plan have different orders, and %s holds "
                      "one; --emit plan=FILE holds all, and --schedule NAME plans one for all",
                      data->plan->order_count, name);
}

static const char *content(const export_file *file)
{
    return file->text.data ? file->text.data : "";
}

/* Refuses a second file of a format that would overwrite another file. */
static pp_status check_companion(const pp_args *args, const export_files *files, size_t at,
                                 pp_err *err)
{
    const char *path = files->file[at].path;
    for (size_t i = 0; i < at; i++) {
        if (files->file[i].companion && pp_files_same(files->file[i].path, path))
            return pp_err_set(err, PP_USAGE, path,
                              "is the target of two outputs; choose another file");
    }
    return pp_files_check_product(args, path, err);
}

static pp_status check_companions(const pp_args *args, const export_files *files, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; i < files->count && !status; i++) {
        if (files->file[i].companion)
            status = check_companion(args, files, i, err);
    }
    return status;
}

/* Stages all files before the first is renamed, so that all are written or none. */
static pp_status write_files(export_files *files, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; i < files->count && !status; i++) {
        export_file *file = &files->file[i];
        if (strcmp(file->path, "-") != 0)
            status =
                pp_output_stage(file->path, content(file), file->text.bytes, &file->staged, err);
    }
    for (size_t i = 0; i < files->count && !status; i++) {
        export_file *file = &files->file[i];
        status = strcmp(file->path, "-") == 0
                     ? pp_print_stdout(content(file), file->text.bytes, err)
                     : pp_output_commit(&file->staged, content(file), file->text.bytes, err);
    }
    return status;
}

pp_status pp_write_export(const pp_args *args, const char *option, const char *request,
                          const pp_export *data, pp_err *err)
{
    export_files files PP_CLEANUP(free_exports) = { 0 };
    pp_status status = make_export(request, option, data, &files, err);
    if (!status)
        status = check_companions(args, &files, err);
    return status ? status : write_files(&files, err);
}

/* Reads --ranks, the ranks of a timeline to write. */
static pp_status read_ranks(const pp_args *args, pp_export *data, pp_err *err)
{
    int64_t low = 0;
    int64_t high = 0;
    if (!pp_args_has(args, "--ranks"))
        return PP_OK;
    if (!pp_args_has(args, "--trace"))
        return pp_err_set(err, PP_USAGE, "--ranks",
                          "chooses the ranks that --trace writes; add --trace FORMAT=FILE");
    pp_status status = pp_args_range(args, "--ranks", &low, &high, err);
    if (!status && high >= (int64_t)data->program->ranks)
        status = pp_err_set(err, PP_USAGE, "--ranks", "there are only ranks 0 to %" PRIu32,
                            data->program->ranks - 1);
    data->first_rank = (uint32_t)low;
    data->ranks = (uint32_t)(high - low + 1);
    return status;
}

pp_status pp_write_exports(const pp_args *args, const pp_export *all, pp_err *err)
{
    pp_export part = *all;
    const pp_export *data = &part;
    pp_status ranks = read_ranks(args, &part, err);
    if (ranks)
        return ranks;
    static const char *const options[] = { "--emit", "--trace" };
    export_files files PP_CLEANUP(free_exports) = { 0 };
    for (size_t o = 0; o < sizeof options / sizeof options[0]; o++) {
        const char *request;
        for (size_t i = 0; (request = pp_args_each(args, options[o], i)); i++) {
            pp_status status = o == 0 ? check_replicas(request, data, err) : PP_OK;
            if (status || (status = make_export(request, options[o], data, &files, err)))
                return status;
        }
    }
    pp_status status = check_companions(args, &files, err);
    return status ? status : write_files(&files, err);
}

pp_status pp_write_plan_exports(const pp_args *args, const pp_plan *plan, pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    const pp_costs *costs;
    bool compiled = false;
    if (!pp_args_has(args, "--emit") && !pp_args_has(args, "--trace") &&
        !pp_args_has(args, "--ranks"))
        return PP_OK;
    pp_status status = pp_args_switch(args, "--torch-compile", &compiled, err);
    if (!status)
        status = pp_plan_simulate(plan, &program, &timeline, &costs, &report, err);
    if (status)
        return status;
    const pp_export data = { .plan = plan,
                             .order = plan->order[0],
                             .program = program,
                             .timeline = timeline,
                             .costs = costs,
                             .report = plan->prediction,
                             .columns = 80,
                             .compiled = compiled };
    return pp_write_exports(args, &data, err);
}
