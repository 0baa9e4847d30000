/* Recognises the inputs of ppsim plot by their content, and adds what each shows to the picture. */
#include "tools/ppsim/plot/load.h"

#include "sim/base/alloc.h"
#include "sim/schedule/registry.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/plot/candidates.h"
#include "tools/ppsim/plot/gnuplot.h"
#include "tools/ppsim/plot/heat.h"
#include "tools/ppsim/plot/pareto.h"
#include "tools/ppsim/plot/profile.h"
#include "tools/ppsim/scenario/scenario_run.h"
#include "traces/format/registry.h"
#include "traces/read/chrome_read.h"
#include "traces/read/gzip.h"
#include "traces/read/memory_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pp_status add_bar(const char *schedule, const char *source, const pp_report *report,
                         pp_picture *picture, pp_err *err)
{
    pp_bar *bar = pp_picture_add_bar(picture, err);
    if (!bar)
        return PP_NOMEM;
    const char *file = pp_plot_base_name(source);
    bool same = strcmp(file, schedule) == 0;
    snprintf(bar->name, sizeof bar->name, "%.60s%s%.60s%s", schedule, same ? "" : " (",
             same ? "" : file, same ? "" : ")");
    bar->step_ns = report->step_ns;
    bar->bubble_fraction = report->bubble_fraction;
    bar->peak_bytes = report->has_memory ? report->peak_memory_bytes : -1;
    return PP_OK;
}

/* Adds a prediction. It is drawn from the trace that it would write, so that both give the same
 * picture. */
static pp_status add_prediction(const pp_scenario *s, pp_picture *picture, pp_err *err)
{
    const pp_format *chrome;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_track track PP_CLEANUP(pp_track_free) = { 0 };
    const pp_export data = { .plan = s->plan,
                             .order = pp_scenario_order(s),
                             .program = s->program,
                             .timeline = s->timeline,
                             .costs = s->costs,
                             .report = s->plan->prediction };
    pp_status status = pp_format_get("chrome", &chrome, err);
    if (status || (status = chrome->trace(&data, &text, err)) ||
        (status = pp_chrome_read(text.data, text.bytes, "prediction", &track, err)))
        return status;
    pp_picture_add_track(picture, &track);
    return PP_OK;
}

static pp_status add_study(const pp_args *args, const char *source, pp_picture *picture,
                           pp_err *err)
{
    pp_scenario s PP_CLEANUP(pp_scenario_free) = { 0 };
    const char *framework = pp_args_text(args, "--executor");
    if (framework && strcmp(framework, "all") == 0)
        return pp_err_set(err, PP_USAGE, "--executor",
                          "a picture shows one executor; name it instead of all");
    pp_status status = pp_scenario_read(args, source, &s, err);
    if (status || (status = pp_scenario_predict(&s, err)) ||
        (status = add_prediction(&s, picture, err)))
        return status;
    if (s.plan->memory_limit_bytes)
        picture->memory_limit_bytes = s.plan->memory_limit_bytes;
    status = add_bar(s.plan->schedule, source, s.plan->prediction, picture, err);
    if (!status && *s.plan->model) {
        pp_bar *bar = &picture->bar[picture->bar_count - 1];
        pp_plan_describe(s.plan, bar->about, sizeof bar->about);
    }
    return status;
}

/* Reads the 5 % quantiles. Reports of versions before 0.2 do not have them. */
static pp_status read_twentieths(const pp_json_at *jitter, pp_jitter_result *j, pp_err *err)
{
    pp_json_at list;
    size_t count = 0;
    pp_ns least_ns = j->min_ns;
    if (!pp_json_has(jitter, "twentieths_ns"))
        return PP_OK;
    pp_status status = pp_json_get(jitter, "twentieths_ns", &list, err);
    if (status || (status = pp_json_count(&list, &count, err)))
        return status;
    if (count != PP_JITTER_TWENTIETHS)
        return pp_json_fail(&list, err, "must hold %d percentiles", PP_JITTER_TWENTIETHS);
    for (size_t i = 0; i < count; i++) {
        pp_json_at at;
        if ((status = pp_json_item(&list, i, &at, err)) ||
            (status = pp_json_read_int(&at, least_ns, j->max_ns, &j->twentieth_ns[i], err)))
            return status;
        least_ns = j->twentieth_ns[i];
    }
    return PP_OK;
}

static pp_status read_jitter(const pp_json_at *root, const pp_bar *bar, pp_picture *picture,
                             pp_err *err)
{
    pp_json_at jitter;
    pp_spread *spread = pp_picture_add_spread(picture, err);
    if (!spread)
        return PP_NOMEM;
    snprintf(spread->name, sizeof spread->name, "%s", bar->name);
    snprintf(spread->about, sizeof spread->about, "%s", bar->about);
    spread->step_ns = bar->step_ns;
    pp_jitter_result *j = &spread->jitter;
    pp_status status = pp_json_get(root, "jitter", &jitter, err);
    if (status || (status = pp_json_get_int(&jitter, "min_ns", 0, PP_NS_MAX, &j->min_ns, err)) ||
        (status = pp_json_get_int(&jitter, "p50_ns", j->min_ns, PP_NS_MAX, &j->p50_ns, err)) ||
        (status = pp_json_get_int(&jitter, "p95_ns", j->p50_ns, PP_NS_MAX, &j->p95_ns, err)) ||
        (status = pp_json_get_int(&jitter, "p99_ns", j->p95_ns, PP_NS_MAX, &j->p99_ns, err)) ||
        (status = pp_json_get_int(&jitter, "max_ns", j->p99_ns, PP_NS_MAX, &j->max_ns, err)) ||
        (status = pp_json_get_double(&jitter, "mean_ns", 0, (double)PP_NS_MAX, &j->mean_ns, err)) ||
        (status = read_twentieths(&jitter, j, err)))
        return status;
    return pp_json_get_int(&jitter, "scenarios", 1, INT64_MAX, &j->spec.scenarios, err);
}

/* Prints the size of a report's step. A report names neither model nor batch. */
static pp_status describe_report(const pp_json_at *root, pp_bar *bar, pp_err *err)
{
    int64_t ranks = 0;
    int64_t microbatches = 0;
    if (!pp_json_has(root, "ranks") || !pp_json_has(root, "microbatches"))
        return PP_OK;
    pp_status status = pp_json_get_int(root, "ranks", 1, PP_RANKS_MAX, &ranks, err);
    if (status ||
        (status = pp_json_get_int(root, "microbatches", 1, INT64_MAX, &microbatches, err)))
        return status;
    snprintf(bar->about, sizeof bar->about, "%" PRId64 " pipeline rank%s, %" PRId64 " microbatch%s",
             ranks, ranks == 1 ? "" : "s", microbatches, microbatches == 1 ? "" : "es");
    return PP_OK;
}

/* Reads those keys of a report that are drawn, and checks no others. */
static pp_status add_report(const pp_json_at *root, const char *source, pp_picture *picture,
                            pp_err *err)
{
    const char *schedule = "";
    pp_report report = { 0 };
    pp_status status = pp_json_check_format(root, "ppsim.report", 1, err);
    if (status || (status = pp_json_get_text(root, "schedule", &schedule, err)) ||
        (status = pp_json_get_int(root, "step_ns", 0, PP_NS_MAX, &report.step_ns, err)) ||
        (status = pp_json_get_double(root, "bubble_fraction", 0, 1, &report.bubble_fraction, err)))
        return status;
    report.has_memory = pp_json_has(root, "peak_memory_bytes");
    if (report.has_memory && (status = pp_json_get_int(root, "peak_memory_bytes", 0, PP_BYTES_MAX,
                                                       &report.peak_memory_bytes, err)))
        return status;
    if (pp_json_has(root, "memory_limit_bytes") &&
        (status = pp_json_get_int(root, "memory_limit_bytes", 0, PP_BYTES_MAX,
                                  &picture->memory_limit_bytes, err)))
        return status;
    if ((status = add_bar(schedule, source, &report, picture, err)) ||
        (status = describe_report(root, &picture->bar[picture->bar_count - 1], err)) ||
        !pp_json_has(root, "jitter"))
        return status;
    return read_jitter(root, &picture->bar[picture->bar_count - 1], picture, err);
}

static bool has_format(const pp_json_at *root, const char *format)
{
    pp_json_at at;
    const char *found;
    return pp_json_kind_at(root) == PP_JSON_OBJECT && pp_json_has(root, "format") &&
           !pp_json_get(root, "format", &at, NULL) && pp_json_kind_at(&at) == PP_JSON_TEXT &&
           !pp_json_read_text(&at, &found, NULL) && strcmp(found, format) == 0;
}

static pp_status add_trace(const char *text, size_t bytes, const char *source, pp_picture *picture,
                           pp_err *err)
{
    pp_track track PP_CLEANUP(pp_track_free) = { 0 };
    const pp_status status = pp_chrome_read(text, bytes, source, &track, err);
    if (!status)
        pp_picture_add_track(picture, &track);
    return status;
}

/* Adds a JSON file of a known kind. *mine_out receives false, and nothing is added, when it is
 * another kind and may be a scenario. */
static pp_status add_json(const pp_args *args, const char *text, size_t bytes, const char *source,
                          pp_picture *picture, bool *mine_out, pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_track track PP_CLEANUP(pp_track_free) = { 0 };
    pp_status status = pp_json_parse(text, bytes, source, &json, err);
    if (status)
        return status;
    pp_json_at root = pp_json_root(json, source);
    if (has_format(&root, "ppsim.report"))
        return add_report(&root, source, picture, err);
    if (has_format(&root, "ppsim.pareto"))
        return pp_plot_add_pareto(&root, source, picture, err);
    if (has_format(&root, "ppsim.profile"))
        return pp_plot_add_profile(text, bytes, source, pp_args_text(args, "--class"), picture,
                                   err);
    if (has_format(&root, "ppsim.memory"))
        status = pp_memory_json_read(&root, &track, err);
    else
        *mine_out = false;
    if (!status && *mine_out)
        pp_picture_add_track(picture, &track);
    return status;
}

/* Adds the settings that all bars of earlier inputs share to their names, since bars of another
 * input follow. */
static void name_shared(pp_picture *picture)
{
    for (size_t i = 0; i < picture->bar_count && *picture->bars_share; i++) {
        size_t used = strlen(picture->bar[i].name);
        snprintf(picture->bar[i].name + used, sizeof picture->bar[i].name - used, " %s",
                 picture->bars_share);
    }
    *picture->bars_share = '\0';
}

pp_status pp_plot_load(const pp_args *args, const char *source, pp_picture *picture, pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    bool mine = true;
    picture->inputs++;
    name_shared(picture);
    if (pp_schedule_find(source))
        return add_study(args, source, picture, err);
    pp_status status = pp_gzip_read(source, &text, &bytes, err);
    if (status)
        return status;
    if (pp_candidates_recognise(text, bytes))
        return pp_candidates_read(text, source, picture, err);
    if (pp_memory_csv_recognise(text, bytes)) {
        pp_track track PP_CLEANUP(pp_track_free) = { 0 };
        status = pp_memory_csv_read(text, source, &track, err);
        if (!status)
            pp_picture_add_track(picture, &track);
        return status;
    }
    if (pp_heat_recognise(text))
        return pp_heat_read(args, text, bytes, source, picture, err);
    if (pp_chrome_recognise(text, bytes))
        return add_trace(text, bytes, source, picture, err);
    if (text[strspn(text, " \t\r\n")] == '{')
        status = add_json(args, text, bytes, source, picture, &mine, err);
    else
        mine = false;
    return status || mine ? status : add_study(args, source, picture, err);
}
