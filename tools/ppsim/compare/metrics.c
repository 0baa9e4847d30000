/* Holds the table of metrics: the key in a file, the unit, which direction is better, and whether a
 * worse value is a regression. The tolerances of the command line have the same index. */
#include "tools/ppsim/compare/metrics.h"

#include "sim/base/text.h"
#include "sim/base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LESS PP_BETTER_LESS
#define MORE PP_BETTER_MORE
#define NEITHER PP_BETTER_NEITHER

/* The columns are: name, kind of file, key, unit, better direction, judged, measured in runs, part
 * of. */
static const pp_metric metrics[] = {
    { "file", PP_COMPARE_OTHER, NULL, PP_METRIC_TEXT, NEITHER, true, false, NULL },

#define REPORT(name, key, unit, better, judged, timed, part_of)                        \
    {                                                                                  \
        name, PP_COMPARE_REPORT, key, PP_METRIC_##unit, better, judged, timed, part_of \
    }
    REPORT("step", "/step_ns", NS, LESS, true, true, NULL),
    REPORT("makespan", "/makespan_ns", NS, LESS, true, true, NULL),
    REPORT("period", "/period_ns", NS, LESS, true, true, NULL),
    REPORT("throughput", "/tokens_per_s", RATE, MORE, true, true, NULL),
    REPORT("mfu", "/model_flops_utilization", PART, MORE, true, true, NULL),
    REPORT("bubble-fraction", "/bubble_fraction", PART, LESS, true, true, NULL),
    REPORT("bubble-rate", "/bubble_rate", PART, LESS, true, true, NULL),
    REPORT("bound-gap", "/bound_gap", PART, LESS, false, true, NULL),
    REPORT("lower-bound", "/lower_bound_ns", NS, NEITHER, false, true, NULL),
    REPORT("bound-name", "/lower_bound", TEXT, NEITHER, false, true, NULL),
    REPORT("span", "/span_ns", NS, LESS, false, true, NULL),
    REPORT("step-low", "/step_low_ns", NS, NEITHER, false, false, "step"),
    REPORT("step-high", "/step_high_ns", NS, NEITHER, false, false, "step"),
    REPORT("compute-measured", "/compute_measured", TEXT, NEITHER, false, false, NULL),
    REPORT("interval-parts", "/uncertainty", WHOLE, NEITHER, false, false, NULL),
    REPORT("step-boundary", "/step_boundary_ns", NS, LESS, false, true, "step"),
    REPORT("boundary-part", "/step_boundary/*", NS, LESS, false, true, "step"),
    REPORT("peak-memory", "/peak_memory_bytes", BYTES, LESS, true, true, NULL),
    REPORT("peak-memory-rank", "/peak_memory_rank", INDEX, NEITHER, false, false, NULL),
    REPORT("memory-limit", "/memory_limit_bytes", BYTES, NEITHER, false, false, NULL),
    REPORT("graphs", "/graphs", NUMBER, LESS, true, false, NULL),
    REPORT("compile-time", "/compile_ns", NS, LESS, true, false, NULL),
    REPORT("schedule", "/schedule", TEXT, NEITHER, false, false, NULL),
    REPORT("executor", "/executor", TEXT, NEITHER, false, false, NULL),
    REPORT("ranks", "/ranks", NUMBER, NEITHER, false, false, NULL),
    REPORT("stages", "/stages", NUMBER, NEITHER, false, false, NULL),
    REPORT("microbatches", "/microbatches", NUMBER, NEITHER, false, false, NULL),
    REPORT("seed", "/seed", TEXT, NEITHER, false, false, NULL),
    REPORT("busy", "/per_rank/{rank}/busy_ns", NS, LESS, false, true, "makespan"),
    REPORT("idle-data", "/per_rank/{rank}/idle_ns/data", NS, LESS, false, true, "makespan"),
    REPORT("idle-buffer", "/per_rank/{rank}/idle_ns/buffer", NS, LESS, false, true, "makespan"),
    REPORT("idle-link", "/per_rank/{rank}/idle_ns/link", NS, LESS, false, true, "makespan"),
    REPORT("idle-host", "/per_rank/{rank}/idle_ns/host", NS, LESS, false, true, "makespan"),
    REPORT("idle-sync", "/per_rank/{rank}/idle_ns/sync", NS, LESS, false, true, "makespan"),
    REPORT("first-start", "/per_rank/{rank}/first_start_ns", NS, NEITHER, false, true, "makespan"),
    REPORT("last-end", "/per_rank/{rank}/last_end_ns", NS, NEITHER, false, true, "makespan"),
    REPORT("rank-memory", "/per_rank/{rank}/peak_memory_bytes", BYTES, LESS, false, true,
           "peak-memory"),
    REPORT("memory", "/per_rank/{rank}/memory_at_peak/*", BYTES, LESS, false, true, "peak-memory"),
    REPORT("recv-memory", "/per_rank/{rank}/peak_recv_bytes", BYTES, LESS, false, true,
           "peak-memory"),
    REPORT("send-memory", "/per_rank/{rank}/peak_send_bytes", BYTES, LESS, false, true,
           "peak-memory"),
    REPORT("live-activations", "/per_rank/{rank}/peak_live_activations", NUMBER, LESS, false, true,
           NULL),
    REPORT("peak-op", "/per_rank/{rank}/peak_op", TEXT, NEITHER, false, true, NULL),
    REPORT("peak-time", "/per_rank/{rank}/peak_at_ns", NS, NEITHER, false, true, "makespan"),
    REPORT("over-limit-op", "/per_rank/{rank}/over_limit_op", TEXT, NEITHER, false, true, NULL),
    REPORT("over-limit-time", "/per_rank/{rank}/over_limit_at_ns", NS, NEITHER, false, true,
           "makespan"),
    REPORT("over-limit-memory", "/per_rank/{rank}/over_limit_bytes", BYTES, LESS, false, true,
           "peak-memory"),
    REPORT("error", "/errors/*", PART, LESS, true, false, NULL), /* of predictions, relative */
    REPORT("jitter-p50", "/jitter/p50_ns", NS, LESS, true, false, NULL),
    REPORT("jitter-p95", "/jitter/p95_ns", NS, LESS, true, false, NULL),
    REPORT("jitter-p99", "/jitter/p99_ns", NS, LESS, true, false, NULL),
    REPORT("jitter-min", "/jitter/min_ns", NS, LESS, false, false, NULL),
    REPORT("jitter-max", "/jitter/max_ns", NS, LESS, false, false, NULL),
    REPORT("jitter-mean", "/jitter/mean_ns", NS, LESS, false, false, NULL),
    REPORT("jitter-deviation", "/jitter/deviation_ns", NS, LESS, false, false, NULL),
    REPORT("", "/jitter/twentieths_ns", SKIP, NEITHER, false, false, NULL), /* the spread */
    REPORT("jitter-of", "/jitter/*", TEXT, NEITHER, false, false, NULL),
    REPORT("jitter-of", "/jitter/*/*", TEXT, NEITHER, false, false, NULL),
    REPORT("sensitivity", "/sensitivity", WHOLE, NEITHER, false, false, NULL),
    REPORT("assumption", "/assumptions/*", TEXT, NEITHER, false, false, NULL),
    REPORT("prediction-error", "/execution/comparison/*", PART, NEITHER, false, true, NULL),
    REPORT("op-error", "/execution/comparison/op_error/*", PART, NEITHER, false, true, NULL),
    REPORT("sent", "/execution/traffic/*", NUMBER, LESS, false, false, NULL),
    REPORT("", "/execution/iterations", SKIP, NEITHER, false, false, NULL), /* the spread */
    REPORT("", "/execution/prediction", SKIP, NEITHER, false, false, NULL),
    REPORT("", "/execution/median_iteration", SKIP, NEITHER, false, false, NULL),
    REPORT("", "/execution/voided", SKIP, NEITHER, false, false, NULL),
    REPORT("", "/execution/agreement_ns", SKIP, NEITHER, false, false, NULL),
    REPORT("", "/execution/clock_error_ns", SKIP, NEITHER, false, false, NULL),
    REPORT("run-with", "/execution/*", TEXT, NEITHER, false, false, NULL),
    REPORT("", "/format", SKIP, NEITHER, false, false, NULL),
    REPORT("", "/version", SKIP, NEITHER, false, false, NULL),
    REPORT("", "/per_rank/{rank}/rank", SKIP, NEITHER, false, false, NULL),
    REPORT("", "/worst_blocked", SKIP, NEITHER, false, false, NULL), /* part of idle time */
    REPORT("other", NULL, TEXT, NEITHER, false, false, NULL),
#undef REPORT

#define PLAN(name, key, unit)                                                     \
    {                                                                             \
        name, PP_COMPARE_PLAN, key, PP_METRIC_##unit, NEITHER, false, false, NULL \
    }
    PLAN("model", "/model", TEXT),
    PLAN("hardware", "/hardware", TEXT),
    PLAN("schedule", "/schedule/name", TEXT),
    PLAN("order", "/schedule/ranks", WHOLE),
    PLAN("layout", "/partition/layout", TEXT),
    PLAN("layers", "/partition/layers/{stage}", NUMBER),
    PLAN("stack", "/stack/*", TEXT),
    PLAN("stack", "/stack/settings/*", TEXT),
    PLAN("recompute", "/recompute", TEXT),
    PLAN("recomputed", "/recomputed", WHOLE),
    PLAN("executor", "/executor", TEXT),
    PLAN("placement", "/placement", TEXT),
    PLAN("parallel", "/parallel/*", TEXT),
    PLAN("lengths", "/microbatches", WHOLE),
    PLAN("costs", "/costs", WHOLE),
    PLAN("memory-costs", "/memory_costs", WHOLE),
    PLAN("assumption", "/assumptions/*", TEXT),
    PLAN("version", "/provenance/version", TEXT),
    PLAN("", "/format", SKIP),
    PLAN("", "/version", SKIP),
    PLAN("", "/prediction", SKIP), /* it is a report */
    PLAN("", "/elsewhere", SKIP),
    PLAN("", "/interval", SKIP),
    PLAN("", "/provenance/command", SKIP),
    PLAN("prediction", NULL, TEXT), /* whether the prediction is the file's own */
    PLAN("other", NULL, TEXT),
#undef PLAN

    { "makespan", PP_COMPARE_TIMELINE, NULL, PP_METRIC_NS, LESS, true, true, NULL },
    { "op", PP_COMPARE_TIMELINE, NULL, PP_METRIC_NS, LESS, false, true, "makespan" },
    { "transfer", PP_COMPARE_TIMELINE, NULL, PP_METRIC_NS, LESS, false, true, "makespan" },
    { "recorded-op", PP_COMPARE_TIMELINE, NULL, PP_METRIC_NS, LESS, true, true, NULL },
    { "busy", PP_COMPARE_TIMELINE, NULL, PP_METRIC_NS, LESS, false, true, "makespan" },

    { "drift", PP_COMPARE_PROFILE, NULL, PP_METRIC_NS, LESS, true, true, NULL },
    { "form", PP_COMPARE_PROFILE, NULL, PP_METRIC_TEXT, NEITHER, false, true, NULL },
    { "not-fitted", PP_COMPARE_PROFILE, NULL, PP_METRIC_TEXT, NEITHER, false, true, NULL },
    { "parameter", PP_COMPARE_PROFILE, NULL, PP_METRIC_NUMBER, NEITHER, false, true, NULL },
    { "held-out-error", PP_COMPARE_PROFILE, NULL, PP_METRIC_PART, LESS, false, true, NULL },
    { "fit-error", PP_COMPARE_PROFILE, NULL, PP_METRIC_PART, LESS, false, true, NULL },
    { "max-error", PP_COMPARE_PROFILE, NULL, PP_METRIC_PART, LESS, false, true, NULL },
    { "slowdown", PP_COMPARE_PROFILE, NULL, PP_METRIC_NUMBER, LESS, false, true, NULL },
    { "device", PP_COMPARE_PROFILE, NULL, PP_METRIC_TEXT, NEITHER, false, false, NULL },
    { "processor", PP_COMPARE_PROFILE, NULL, PP_METRIC_TEXT, NEITHER, false, false, NULL },
};

enum { METRICS = sizeof metrics / sizeof metrics[0] };
_Static_assert((int)METRICS <= (int)PP_METRICS_MAX, "tolerances have a place for every metric");

size_t pp_metric_count(void)
{
    return METRICS;
}

const pp_metric *pp_metric_at(size_t index)
{
    return &metrics[index];
}

const pp_metric *pp_metric_find(pp_compare_kind kind, const char *name)
{
    for (size_t i = 0; i < METRICS; i++) {
        if (metrics[i].kind == kind && strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    }
    return NULL;
}

void pp_metric_describe(const pp_metric *metric, char *text, size_t size)
{
    static const char *const files[] = { "plan", "report", "timeline", "profile", "folder" };
    static const char *const units[] = { "time",     "bytes", "fraction", "number",
                                         "tokens/s", "rank",  "text",     "many values" };
    static const char *const better[] = { "", "; lower is better", "; higher is better" };
    snprintf(text, size, "%-9s%s%s%s%s", files[metric->kind], units[metric->unit],
             better[metric->better], metric->judged ? "; a worse value is a regression" : "",
             metric->timed ? "; ppsim run measures it" : "");
}

/* Returns whether the segment of a key is a wildcard. */
static bool is_wild(const char *segment)
{
    return *segment == '*' || *segment == '{';
}

/* Appends what one wildcard matched: "rank 3" first, then "rank 3 activations". */
static void add_place(const char *segment, size_t wild, const char *found, size_t length,
                      char *place, size_t size)
{
    size_t used = strlen(place);
    const char *blank = used ? " " : "";
    if (*segment == '{')
        snprintf(place + used, size - used, "%s%.*s %.*s", blank, (int)wild - 2, segment + 1,
                 (int)length, found);
    else
        snprintf(place + used, size - used, "%s%.*s", blank, (int)length, found);
}

static bool match(const char *key, const char *pointer, char *place, size_t size)
{
    place[0] = '\0';
    while (*key == '/' && *pointer == '/') {
        size_t wanted = strcspn(++key, "/");
        size_t length = strcspn(++pointer, "/");
        if (is_wild(key))
            add_place(key, wanted, pointer, length, place, size);
        else if (wanted != length || memcmp(key, pointer, length) != 0)
            return false;
        key += wanted;
        pointer += length;
    }
    return !*key && !*pointer;
}

const pp_metric *pp_metric_match(pp_compare_kind kind, const char *pointer, char *place,
                                 size_t size)
{
    for (size_t i = 0; i < METRICS; i++) {
        if (metrics[i].kind == kind && metrics[i].key &&
            match(metrics[i].key, pointer, place, size))
            return &metrics[i];
    }
    return NULL;
}

/* Parses "1%", "any", or a quantity in the metric's unit. A number without a unit is accepted for
 * metrics that have none, and 0 for every metric. */
static pp_status read_limit(const char *text, const pp_metric *metric, const char *argument,
                            pp_limit *limit, pp_err *err)
{
    char *end = NULL;
    if (strcmp(text, "any") == 0) {
        *limit = (pp_limit){ .value = INFINITY };
        return PP_OK;
    }
    pp_err inner = pp_err_like(err);
    int64_t whole = 0;
    pp_status status = PP_INPUT;
    double value = strchr("0123456789.", *text) ? strtod(text, &end) : NAN;
    limit->relative = value >= 0 && strcmp(end, "%") == 0;
    if (limit->relative || (value >= 0 && !*end && (value == 0 || metric->unit >= PP_METRIC_PART)))
        status = PP_OK;
    else if (metric->unit == PP_METRIC_NS)
        status = pp_parse_duration(text, argument, &whole, &inner);
    else if (metric->unit == PP_METRIC_BYTES)
        status = pp_parse_bytes(text, argument, &whole, &inner);
    if (status || !isfinite(value))
        return pp_err_set(err, PP_USAGE, "--tolerance",
                          "'%.64s': '%.32s' is not a limit for %s; give, for example, 1%%%s",
                          argument, text, metric->name,
                          metric->unit == PP_METRIC_NS      ? " or 20us"
                          : metric->unit == PP_METRIC_BYTES ? " or 64MiB"
                          : metric->unit < PP_METRIC_TEXT   ? " or 0.001"
                                                            : "");
    limit->value = limit->relative ? value / 100 : whole ? (double)whole : value;
    return PP_OK;
}

static void set_limit(size_t index, char sign, bool by_name, pp_limit limit, pp_tolerances *t)
{
    limit.given = by_name;
    limit.one_way = sign != '\0';
    if (sign != '-' && (by_name || !t->up[index].given))
        t->up[index] = limit;
    if (sign != '+' && (by_name || !t->down[index].given))
        t->down[index] = limit;
}

static pp_status unknown_metric(const char *argument, const char *name, pp_err *err)
{
    const char *names[METRICS + 1] = { NULL };
    size_t count = 0;
    for (size_t i = 0; i < METRICS; i++) {
        if (metrics[i].unit < PP_METRIC_TEXT)
            names[count++] = metrics[i].name;
    }
    char hint[PP_TEXT_HINT_BYTES];
    pp_text_nearest_hint("metric", name, names, hint);
    return pp_err_set(
        err, PP_USAGE, "--tolerance",
        "'%.64s': there is no metric '%.40s'%s%s 'ppsim list metrics' shows the metrics", argument,
        name, hint, pp_text_hint_end(hint));
}

pp_status pp_tolerance_add(const char *argument, bool all, pp_tolerances *tolerances, pp_err *err)
{
    char name[64];
    const char *equals = strchr(argument, '=');
    if (!equals || equals == argument || (size_t)(equals - argument) >= sizeof name)
        return pp_err_set(err, PP_USAGE, "--tolerance", "'%.64s' must be METRIC=LIMIT", argument);
    snprintf(name, sizeof name, "%.*s", (int)(equals - argument), argument);
    bool every = strcmp(name, "all") == 0;
    if (every != all)
        return PP_OK;
    const char *text = equals + 1;
    char sign = *text == '+' || *text == '-' ? *text++ : '\0';
    bool known = false;
    for (size_t i = 0; i < METRICS; i++) {
        pp_limit limit = { 0 };
        if (every ? metrics[i].unit >= PP_METRIC_TEXT : strcmp(metrics[i].name, name) != 0)
            continue;
        known = true;
        if (metrics[i].unit >= PP_METRIC_TEXT)
            return pp_err_set(
                err, PP_USAGE, "--tolerance",
                "%s is not a number and takes no limit; --strict fails on any difference", name);
        pp_status status = read_limit(text, &metrics[i], argument, &limit, err);
        if (status)
            return status;
        if (every && !limit.relative && limit.value != 0 && isfinite(limit.value))
            return pp_err_set(err, PP_USAGE, "--tolerance",
                              "'%.64s': a limit for all metrics must be in %%", argument);
        set_limit(i, sign, !every, limit, tolerances);
        tolerances->all = tolerances->all || every;
        tolerances->named = tolerances->named || (!every && isfinite(limit.value));
    }
    return known ? PP_OK : unknown_metric(argument, name, err);
}

bool pp_tolerance_judges(const pp_tolerances *tolerances, const pp_metric *metric)
{
    const size_t index = (size_t)(metric - metrics);
    if (tolerances->up[index].given || tolerances->down[index].given)
        return true;
    return metric->judged &&
           (tolerances->all || !tolerances->named || metric->unit >= PP_METRIC_TEXT);
}
