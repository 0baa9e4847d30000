/* Recognises the inputs of ppsim report by their content, and adds what each holds to the page. */
#include "tools/ppsim/page/inputs.h"

#include "planner/bound/bound.h"
#include "sim/base/alloc.h"
#include "sim/schedule/registry.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/colour.h"
#include "tools/ppsim/plot/candidates.h"
#include "tools/ppsim/plot/gnuplot.h"
#include "tools/ppsim/plot/heat.h"
#include "tools/ppsim/plot/profile.h"
#include "tools/ppsim/scenario/scenario_run.h"
#include "tools/ppsim/scenario/simulate_answer.h"
#include "tools/ppsim/sweep/file.h"
#include "traces/read/events.h"
#include "traces/read/gzip.h"
#include "traces/read/recording.h"

#include <stdio.h>
#include <string.h>

/* Simulates a plan or schedule. */
static pp_status add_scenario(const pp_args *args, const char *source, pp_page *page, pp_err *err)
{
    pp_scenario s PP_CLEANUP(pp_scenario_free) = { 0 };
    pp_text answer PP_CLEANUP(pp_text_free) = { 0 };
    const char *framework = pp_args_text(args, "--executor");
    if (framework && strcmp(framework, "all") == 0)
        return pp_err_set(err, PP_USAGE, "--executor",
                          "a page shows one executor; name it instead of all");
    pp_status status = pp_scenario_read(args, source, &s, err);
    if (status || (status = pp_scenario_predict(&s, err)))
        return status;
    pp_report *report = s.plan->prediction;
    const pp_order *order = pp_scenario_order(&s);
    if ((status = pp_bound_report(s.costs, order, true, report, err)) ||
        (status = pp_report_add_worst(report, s.program, s.timeline, PP_PAGE_WAITS, err)) ||
        (status = pp_report_why(report, s.program, s.timeline, s.costs, NULL, &report->why, err)))
        return status;
    report->has_why = true;
    pp_simulate_answer_print(&s, &report->why, &answer);
    pp_colour_strip(&answer);
    if ((status = pp_text_check(&answer, err)))
        return status;
    const pp_export data = { .plan = s.plan,
                             .order = order,
                             .program = s.program,
                             .timeline = s.timeline,
                             .costs = s.costs,
                             .report = report };
    return pp_page_add_plan(page, pp_plot_base_name(source), &data, answer.data, NULL, err);
}

static pp_status add_recording(const char *source, pp_page *page, pp_err *err)
{
    pp_recording found PP_CLEANUP(pp_recording_free) = { 0 };
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_err own = pp_err_like(err);
    pp_status status = pp_recording_read(&source, 1, SIZE_MAX, &found, &own);
    if (status == PP_INPUT)
        return pp_err_set(err, status, own.where,
                          "%.600s; if this is one rank of several, join them with 'ppsim convert "
                          "RANK0 RANK1 ... --to chrome -o step.json' and give that",
                          own.text);
    if (status) {
        *err = own;
        return status;
    }
    if ((status = pp_plan_new(&plan, err)))
        return status;
    snprintf(plan->schedule, sizeof plan->schedule, "%s", found.schedule);
    const pp_export data = { .plan = plan,
                             .order = found.order,
                             .program = found.program,
                             .timeline = found.timeline,
                             .recorded = &found.recorded,
                             .measured = found.measured };
    return pp_page_add_timeline(page, pp_plot_base_name(source), &data, err);
}

/* Adds the lines of a sweep, of which the first describes it. */
static pp_status add_sweep(const char *text, size_t bytes, const char *source, pp_page *page,
                           pp_err *err)
{
    pp_sweep sweep PP_CLEANUP(pp_sweep_free) = { 0 }; /* checked as other commands do */
    pp_sweep_lines lines PP_CLEANUP(pp_sweep_lines_free) = { 0 };
    pp_status status = pp_sweep_parse(text, bytes, source, &sweep, &lines, err);
    if (status)
        return status;
    pp_json *list = pp_json_new_array(&page->build);
    while (*text && !status) {
        size_t length = strcspn(text, "\n");
        pp_json *line = NULL;
        if (length)
            status = pp_json_parse(text, length, source, &line, err);
        if (line)
            pp_json_add(&page->build, list, line);
        text += length + (text[length] == '\n');
    }
    if (!status)
        return pp_page_add_other(page, pp_plot_base_name(source), "sweep", "points", list, err);
    pp_json_free(&list);
    return status;
}

/* Checks the keys of a report without which the page says nothing. */
static pp_status check_report(const pp_json_at *root, pp_err *err)
{
    const char *schedule;
    int64_t number;
    pp_json_at list;
    size_t count;
    pp_status status = pp_json_check_format(root, "ppsim.report", 1, err);
    if (status || (status = pp_json_get_text(root, "schedule", &schedule, err)) ||
        (status = pp_json_get_int(root, "step_ns", 0, PP_NS_MAX, &number, err)) ||
        (status = pp_json_get_int(root, "ranks", 1, PP_RANKS_MAX, &number, err)) ||
        (status = pp_json_get(root, "per_rank", &list, err)) ||
        (status = pp_json_count(&list, &count, err)))
        return status;
    return (int64_t)count == number
               ? PP_OK
               : pp_json_fail(&list, err, "must have an entry for each of the %lld ranks",
                              (long long)number);
}

static pp_status check_front(const pp_json_at *root, pp_err *err)
{
    pp_json_at points;
    pp_json_at point;
    int64_t number;
    size_t count = 0;
    pp_status status = pp_json_check_format(root, "ppsim.pareto", 1, err);
    if (status || (status = pp_json_get(root, "points", &points, err)) ||
        (status = pp_json_count(&points, &count, err)))
        return status;
    if (!count)
        return pp_json_fail(&points, err, "has no point, so there is nothing to show");
    for (size_t i = 0; i < count; i++) {
        if ((status = pp_json_item(&points, i, &point, err)) ||
            (status = pp_json_get_int(&point, "step_ns", 0, PP_NS_MAX, &number, err)) ||
            (status = pp_json_get_int(&point, "peak_memory_bytes", 0, PP_BYTES_MAX, &number, err)))
            return status;
    }
    return PP_OK;
}

static pp_status add_candidates(const char *text, const char *source, pp_page *page, pp_err *err)
{
    pp_picture picture PP_CLEANUP(pp_picture_free) = { 0 }; /* which is not drawn */
    pp_status status = pp_candidates_read(text, source, &picture, err);
    if (status)
        return status;
    pp_json *list = pp_json_new_array(&page->build);
    pp_json_add_text(&page->build, list, text);
    return pp_page_add_other(page, pp_plot_base_name(source), "candidates", "csv", list, err);
}

/* Adds a profile, with the points of its curves as `ppsim plot` draws them in place of the samples:
 * lists of place on the axis, measured and fitted seconds. */
static pp_status add_profile(const char *text, size_t bytes, const char *source, pp_json *json,
                             pp_page *page, pp_err *err)
{
    pp_picture picture PP_CLEANUP(pp_picture_free) = { 0 };
    pp_status status = pp_plot_add_profile(text, bytes, source, NULL, &picture, err);
    if (status) {
        pp_json_free(&json);
        return status;
    }
    pp_json *curves = pp_json_new_array(&page->build);
    for (size_t c = 0, i = 0; c < picture.curve_count; c++) {
        pp_json *curve = pp_json_new_object(&page->build);
        pp_json *points = pp_json_new_array(&page->build);
        pp_json_put_text(&page->build, curve, "name", picture.curve[c].name);
        pp_json_put_text(&page->build, curve, "axis", picture.curve[c].axis);
        for (; i < picture.fitted_count && picture.fitted[i].curve == c; i++) {
            pp_json *point = pp_json_new_array(&page->build);
            pp_json_add_double(&page->build, point, picture.fitted[i].at);
            pp_json_add_double(&page->build, point, picture.fitted[i].measured_s);
            pp_json_add_double(&page->build, point, picture.fitted[i].fitted_s);
            pp_json_add(&page->build, points, point);
        }
        pp_json_put(&page->build, curve, "points", points);
        pp_json_add(&page->build, curves, curve);
    }
    pp_json_drop(json, "series");
    pp_json_put(&page->build, json, "curves", curves);
    return pp_page_add_other(page, pp_plot_base_name(source), "profile", "profile", json, err);
}

/* Adds a JSON file of a known format. *mine_out receives false, and nothing is added, when it is
 * another one and may be a plan. */
static pp_status add_json(const char *text, size_t bytes, const char *source, pp_page *page,
                          bool *mine_out, pp_err *err)
{
    pp_json *json = NULL;
    const char *format = "";
    pp_json_at at;
    pp_status status = pp_json_parse(text, bytes, source, &json, err);
    if (status)
        return status;
    pp_json_at root = pp_json_root(json, source);
    if (pp_json_kind_at(&root) == PP_JSON_OBJECT && pp_json_has(&root, "format") &&
        !pp_json_get(&root, "format", &at, NULL) && pp_json_kind_at(&at) == PP_JSON_TEXT)
        status = pp_json_read_text(&at, &format, err);
    if (!status && strcmp(format, "ppsim.report") == 0) {
        status = check_report(&root, err);
        if (!status)
            return pp_page_add_report(page, pp_plot_base_name(source), json, NULL, err);
    }
    if (!status && strcmp(format, "ppsim.pareto") == 0)
        status = check_front(&root, err);
    if (!status && strcmp(format, "ppsim.profile") == 0)
        return add_profile(text, bytes, source, json, page, err);
    if (!status && strcmp(format, "ppsim.pareto") == 0)
        return pp_page_add_other(page, pp_plot_base_name(source), "pareto", "pareto", json, err);
    pp_json_free(&json);
    *mine_out = false;
    return status;
}

pp_status pp_page_load(const pp_args *args, const char *source, pp_page *page, pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    bool is_events = false;
    bool mine = true;
    if (pp_schedule_find(source))
        return add_scenario(args, source, page, err);
    pp_status status = pp_events_recognise(source, &is_events, err);
    if (status || is_events)
        return status ? status : add_recording(source, page, err);
    status = pp_gzip_read(source, &text, &bytes, err);
    if (status)
        return status;
    if (pp_candidates_recognise(text, bytes))
        return add_candidates(text, source, page, err);
    if (pp_heat_recognise(text))
        return add_sweep(text, bytes, source, page, err);
    if (text[strspn(text, " \t\r\n")] == '{')
        status = add_json(text, bytes, source, page, &mine, err);
    else
        mine = false;
    return status || mine ? status : add_scenario(args, source, page, err);
}
