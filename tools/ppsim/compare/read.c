/* Reads a file to compare. It is recognised by its content and turned into quantities: reports and
 * plans by a walk over their JSON (plans are simulated first), timelines and profiles by their own
 * readers. */
#include "tools/ppsim/compare/read.h"

#include "calib/profile/profile.h"
#include "planner/bound/bound.h"
#include "sim/analysis/report_json.h"
#include "sim/base/alloc.h"
#include "sim/base/file.h"
#include "sim/plan/plan.h"
#include "sim/plan/plan_read.h"
#include "tools/ppsim/compare/profile.h"
#include "tools/ppsim/compare/timeline.h"
#include "traces/read/events.h"
#include "traces/read/gzip.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX 9007199254740992.0 /* 2^53: a double holds whole numbers up to here exactly */

/* The state of a traversal of a report or plan. */
typedef struct walk {
    pp_compare_file *file;
    pp_compare_kind kind;
    char pointer[512];
} walk;

static char *scalar_text(const pp_json_at *at)
{
    char number[40];
    const char *text = number;
    int64_t whole = 0;
    double real = 0;
    bool truth = false;
    pp_err ignored = { 0 };
    if (pp_json_kind_at(at) == PP_JSON_INT &&
        !pp_json_read_int(at, INT64_MIN, INT64_MAX, &whole, &ignored))
        snprintf(number, sizeof number, "%" PRId64, whole);
    else if (pp_json_kind_at(at) == PP_JSON_REAL &&
             !pp_json_read_double(at, -DBL_MAX, DBL_MAX, &real, &ignored))
        snprintf(number, sizeof number, "%.17g", real);
    else if (pp_json_kind_at(at) == PP_JSON_BOOL && !pp_json_read_bool(at, &truth, &ignored))
        text = truth ? "on" : "off";
    else if (pp_json_kind_at(at) != PP_JSON_TEXT || pp_json_read_text(at, &text, &ignored))
        text = "null";
    return pp_compare_printable(text);
}

static pp_status add_leaf(walk *w, const pp_json_at *at, const pp_metric *metric, const char *place,
                          pp_err *err)
{
    pp_quantity *item = NULL;
    double value = 0;
    bool exact = metric->unit == PP_METRIC_NS || metric->unit == PP_METRIC_BYTES;
    double most = exact ? EXACT_MAX : DBL_MAX;
    int64_t whole = 0;
    pp_status status = PP_OK;
    if (exact && pp_json_kind_at(at) == PP_JSON_INT)
        status = pp_json_read_int(at, -PP_NS_MAX, PP_NS_MAX, &whole, err);
    if (!status && metric->unit < PP_METRIC_TEXT)
        status = pp_json_read_double(at, -most, most, &value, err);
    if (status || (status = pp_compare_add(w->file, metric, place, value, &item, err)))
        return status;
    item->measured = w->file->measured && metric->timed;
    if (metric->unit == PP_METRIC_TEXT && !(item->text = scalar_text(at)))
        return pp_err_nomem(err);
    return PP_OK;
}

static pp_status add_whole(walk *w, const pp_json_at *at, const pp_metric *metric,
                           const char *place, pp_err *err)
{
    pp_quantity *item = NULL;
    pp_status status = pp_compare_add(w->file, metric, place, 0, &item, err);
    if (!status)
        item->whole = at->value;
    return status;
}

static pp_status visit(walk *w, const pp_json_at *at, pp_err *err);

/* Visits a child. The first `used` bytes of w->pointer are the pointer of its parent, 0 for the
 * root. */
static pp_status visit_child(walk *w, const pp_json_at *child, size_t used, pp_err *err)
{
    size_t room = sizeof w->pointer - used;
    int length = child->key ? snprintf(w->pointer + used, room, "/%s", child->key)
                            : snprintf(w->pointer + used, room, "/%zu", child->index);
    if (length < 0 || (size_t)length >= room)
        return pp_json_fail(child, err, "lies deeper than any key of a %s",
                            w->kind == PP_COMPARE_PLAN ? "plan" : "report");
    pp_status status = visit(w, child, err);
    w->pointer[used] = '\0';
    return status;
}

static pp_status visit_children(walk *w, const pp_json_at *at, pp_err *err)
{
    size_t used = strlen(w->pointer);
    pp_status status = PP_OK;
    pp_json_at child;
    size_t count = 0;
    if (pp_json_kind_at(at) == PP_JSON_OBJECT) {
        for (size_t i = 0; !status && pp_json_member(at, i, &child); i++)
            status = visit_child(w, &child, used, err);
        return status;
    }
    status = pp_json_count(at, &count, err);
    for (size_t i = 0; !status && i < count; i++) {
        if (!(status = pp_json_item(at, i, &child, err)))
            status = visit_child(w, &child, used, err);
    }
    return status;
}

/* Returns whether this text in a plan's prediction repeats one that the plan has itself. */
static bool is_told(const walk *w, const pp_metric *metric)
{
    return w->file->kind == PP_COMPARE_PLAN && w->kind == PP_COMPARE_REPORT &&
           metric->unit == PP_METRIC_TEXT && pp_metric_find(PP_COMPARE_PLAN, metric->name);
}

static pp_status visit(walk *w, const pp_json_at *at, pp_err *err)
{
    char place[512];
    pp_json_kind kind = pp_json_kind_at(at);
    bool leaf = kind != PP_JSON_ARRAY && kind != PP_JSON_OBJECT;
    const pp_metric *metric = pp_metric_match(w->kind, w->pointer, place, sizeof place);
    if (kind == PP_JSON_NULL || (metric && (metric->unit == PP_METRIC_SKIP || is_told(w, metric))))
        return PP_OK;
    if (metric && metric->unit == PP_METRIC_WHOLE)
        return add_whole(w, at, metric, place, err);
    if (!leaf)
        return visit_children(w, at, err);
    if (!metric)
        return add_leaf(w, at, pp_metric_find(w->kind, "other"), w->pointer, err);
    return add_leaf(w, at, metric, place, err);
}

static void free_values(double **values)
{
    free(*values);
}

/* Sets the spread of a run's step time or makespan, taken over its iterations. */
static pp_status add_spread(const pp_json_at *list, const char *key, const char *metric,
                            pp_compare_file *file, pp_err *err)
{
    const pp_metric *row = pp_metric_find(PP_COMPARE_REPORT, metric);
    size_t count = 0;
    size_t kept = 0;
    pp_status status = pp_json_count(list, &count, err);
    double *values PP_CLEANUP(free_values) = NULL;
    if (status)
        return status;
    if (!(values = pp_alloc_array(2 * count + 1, sizeof *values)))
        return pp_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        pp_json_at item;
        bool is_void = false;
        if ((status = pp_json_item(list, i, &item, err)) ||
            (status = pp_json_get_double(&item, key, 0, EXACT_MAX, &values[count + i], err)) ||
            (status = pp_json_get_bool(&item, "void", &is_void, err)))
            return status;
        if (!is_void)
            values[kept++] = values[count + i];
    }
    for (size_t i = 0; i < file->count && count; i++) {
        if (file->item[i].metric == row)
            pp_compare_spread(kept ? values : values + count, kept ? kept : count, &file->item[i]);
    }
    return PP_OK;
}

static pp_status read_report(const pp_json_at *root, pp_compare_file *file, pp_err *err)
{
    walk w = { .file = file, .kind = PP_COMPARE_REPORT };
    pp_json_at execution;
    pp_json_at list;
    int64_t step_ns = 0;
    pp_status status = pp_json_check_format(root, "ppsim.report", 1, err);
    if (status || (status = pp_json_get_int(root, "step_ns", 0, PP_NS_MAX, &step_ns, err)))
        return status;
    file->measured = pp_json_has(root, "execution");
    status = visit_children(&w, root, err);
    if (status || !file->measured)
        return status;
    if ((status = pp_json_get(root, "execution", &execution, err)) ||
        (status = pp_json_get(&execution, "iterations", &list, err)) ||
        (status = add_spread(&list, "step_ns", "step", file, err)))
        return status;
    return add_spread(&list, "makespan_ns", "makespan", file, err);
}

/* Reads a report that was just simulated. It goes through its JSON text, so that it has the same
 * quantities as a report that was read from a file. */
static pp_status read_simulated(const pp_report *report, pp_compare_file *file, pp_err *err)
{
    pp_json_build build = { 0 };
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_json *again PP_CLEANUP(pp_json_free) = NULL;
    pp_json *json PP_CLEANUP(pp_json_free) = pp_report_write(report, &build);
    pp_status status = pp_json_print(&build, json, &text, &bytes, err);
    if (status || (status = pp_json_parse(text, bytes, file->name, &again, err)))
        return status;
    const pp_json_at root = pp_json_root(again, file->name);
    return read_report(&root, file, err);
}

/* Adds whether the prediction is the file's own or had to be simulated because the file's was
 * stale. */
static pp_status add_origin(pp_compare_file *file, pp_err *err)
{
    const pp_metric *metric = pp_metric_find(PP_COMPARE_PLAN, "prediction");
    pp_quantity *item = NULL;
    pp_status status = pp_compare_add(file, metric, "", 0, &item, err);
    if (status)
        return status;
    item->text = pp_compare_printable(file->stale_step_ns ? "computed again" : "of the file");
    return item->text ? PP_OK : pp_err_nomem(err);
}

/* Reads a plan. It is simulated as well, because it may have no prediction or may have been edited
 * after it was predicted. */
static pp_status read_plan(const pp_json_at *root, pp_compare_file *file, pp_err *err)
{
    walk w = { .file = file, .kind = PP_COMPARE_PLAN };
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    pp_json_at prediction;
    const pp_costs *costs;
    pp_status status = pp_plan_read(file->json, file->name, &plan, err); /* checks the whole plan */
    if (status || (status = visit_children(&w, root, err)) ||
        (status = pp_plan_simulate(plan, NULL, NULL, &costs, &report, err)))
        return status;
    file->stale_step_ns = pp_plan_is_stale(plan, report) ? plan->predicted_in_file_ns : 0;
    if ((status = add_origin(file, err)))
        return status;
    if (file->stale_step_ns || !pp_json_has(root, "prediction")) {
        uint32_t replica = 0;
        while (pp_plan_costs(plan, replica) != costs)
            replica++;
        status = pp_bound_report(costs, plan->order[plan->order_count > 1 ? replica : 0], true,
                                 report, err);
        return status ? status : read_simulated(report, file, err);
    }
    status = pp_json_get(root, "prediction", &prediction, err);
    return status ? status : read_report(&prediction, file, err);
}

static bool format_is(const pp_json_at *root, const char *format)
{
    const char *text = NULL;
    pp_err ignored = { 0 };
    return pp_json_kind_at(root) == PP_JSON_OBJECT && pp_json_has(root, "format") &&
           pp_json_get_text(root, "format", &text, &ignored) == PP_OK && strcmp(text, format) == 0;
}

static pp_status read_kind(const char *text, size_t bytes, pp_compare_file *file, pp_err *err)
{
    const pp_json_at root = pp_json_root(file->json, file->name);
    if (format_is(&root, "ppsim.plan")) {
        file->kind = PP_COMPARE_PLAN;
        return read_plan(&root, file, err);
    }
    if (format_is(&root, "ppsim.report")) {
        file->kind = PP_COMPARE_REPORT;
        return read_report(&root, file, err);
    }
    if (format_is(&root, "ppsim.profile")) {
        file->kind = PP_COMPARE_PROFILE;
        return pp_compare_read_profile(text, bytes, file, err);
    }
    return PP_OK;
}

pp_status pp_compare_parse(const char *text, size_t bytes, const char *name, pp_compare_file *file,
                           pp_err *err)
{
    char *unpacked PP_CLEANUP(pp_free_text) = NULL;
    pp_status status = PP_OK;
    file->kind = PP_COMPARE_OTHER;
    if (!(file->name = pp_compare_printable(name)))
        return pp_err_nomem(err);
    if (pp_gzip_recognise(text, bytes)) {
        size_t size = 0;
        if ((status = pp_gunzip(text, bytes, PP_FILE_BYTES_MAX, name, &unpacked, &size, err)))
            return status;
        text = unpacked;
        bytes = size;
    }
    pp_span events;
    if (pp_events_find(text, bytes, "traceEvents", &events)) {
        file->kind = PP_COMPARE_TIMELINE;
        status = pp_compare_read_timeline(text, bytes, file, err);
    } else if (!(status = pp_json_parse(text, bytes, name, &file->json, err))) {
        status = read_kind(text, bytes, file, err);
    }
    if (status)
        return status;
    return pp_compare_sort(file, err);
}
