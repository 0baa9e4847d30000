/* Finds how two files differ, and which differences are regressions. Both tables of quantities are
 * sorted, so that one merge pass pairs them. Measured values differ only if the intervals of their
 * repeats do not overlap; docs/reference/compare.md has the rules. */
#include "tools/ppsim/compare/judge.h"

#include "sim/analysis/memory.h"
#include "sim/base/alloc.h"
#include "tools/ppsim/base/option_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const verdict_words[] = {
#define PP_VERDICT_WORD(id, word) word,
    PP_VERDICT_MAP(PP_VERDICT_WORD)
#undef PP_VERDICT_WORD
};

const char *pp_verdict_word(pp_compare_verdict verdict)
{
    return verdict_words[verdict];
}

/* The result of comparing two documents: how many values they have, and how many differ. */
typedef struct whole {
    size_t values, differ;
    char first[96]; /* JSON pointer to the first that differs */
} whole;

static void compare_whole(const pp_json_at *a, const pp_json_at *b, const char *pointer, whole *w);

static void compare_child(const pp_json_at *a, const pp_json_at *b, const char *pointer, whole *w)
{
    char below[96];
    const pp_json_at *named = a ? a : b;
    int length = named->key ? snprintf(below, sizeof below, "%.60s/%.30s", pointer, named->key)
                            : snprintf(below, sizeof below, "%.60s/%zu", pointer, named->index);
    if (length >= 0)
        compare_whole(a, b, below, w);
}

static size_t children(const pp_json_at *at)
{
    size_t count = 0;
    pp_json_at ignored;
    pp_err err = PP_COMMAND_ERR;
    if (at && pp_json_kind_at(at) == PP_JSON_ARRAY && pp_json_count(at, &count, &err))
        return 0;
    while (at && pp_json_kind_at(at) == PP_JSON_OBJECT && pp_json_member(at, count, &ignored))
        count++;
    return count;
}

/* Finds the child of `at` with the key of `like`, or without `like` the index-th child. Elements of
 * arrays are found by index. Returns false if there is none. */
static bool child_of(const pp_json_at *at, const pp_json_at *like, size_t index, pp_json_at *child)
{
    pp_err err = PP_COMMAND_ERR;
    if (!at)
        return false;
    if (pp_json_kind_at(at) == PP_JSON_ARRAY)
        return index < children(at) && pp_json_item(at, index, child, &err) == PP_OK;
    if (pp_json_kind_at(at) != PP_JSON_OBJECT)
        return false;
    if (!like)
        return pp_json_member(at, index, child);
    return like->key && pp_json_has(at, like->key) &&
           pp_json_get(at, like->key, child, &err) == PP_OK;
}

static bool is_leaf(const pp_json_at *at)
{
    return !at || (pp_json_kind_at(at) != PP_JSON_ARRAY && pp_json_kind_at(at) != PP_JSON_OBJECT);
}

static bool same_leaf(const pp_json_at *a, const pp_json_at *b)
{
    const char *text[2] = { "", "" };
    double value[2] = { 0, 0 };
    bool truth[2] = { false, false };
    pp_err err = PP_COMMAND_ERR;
    if (!a || !b || pp_json_kind_at(a) != pp_json_kind_at(b))
        return false;
    switch (pp_json_kind_at(a)) {
    case PP_JSON_TEXT:
        return !pp_json_read_text(a, &text[0], &err) && !pp_json_read_text(b, &text[1], &err) &&
               strcmp(text[0], text[1]) == 0;
    case PP_JSON_BOOL:
        return !pp_json_read_bool(a, &truth[0], &err) && !pp_json_read_bool(b, &truth[1], &err) &&
               truth[0] == truth[1];
    case PP_JSON_NULL:
        return true;
    default:
        return !pp_json_read_double(a, -INFINITY, INFINITY, &value[0], &err) &&
               !pp_json_read_double(b, -INFINITY, INFINITY, &value[1], &err) &&
               value[0] == value[1];
    }
}

static void compare_whole(const pp_json_at *a, const pp_json_at *b, const char *pointer, whole *w)
{
    if (children(a) + children(b) == 0) {
        bool same = is_leaf(a) && is_leaf(b) ? same_leaf(a, b) : is_leaf(a) == is_leaf(b);
        w->values++;
        if (!same && !w->differ++)
            snprintf(w->first, sizeof w->first, "%s", pointer);
        return;
    }
    for (int side = 0; side < 2; side++) {
        const pp_json_at *from = side ? b : a;
        size_t count = children(from);
        for (size_t i = 0; i < count; i++) {
            pp_json_at own;
            pp_json_at other;
            if (!child_of(from, NULL, i, &own))
                continue;
            bool both = child_of(side ? a : b, own.key ? &own : NULL, i, &other);
            if (side && !both)
                compare_child(NULL, &own, pointer, w);
            else if (!side)
                compare_child(&own, both ? &other : NULL, pointer, w);
        }
    }
}

static pp_status judge_whole(pp_difference *d, pp_err *err)
{
    whole w = { 0 };
    char detail[160];
    const pp_json_at base = pp_json_root(d->before->whole, "");
    const pp_json_at now = pp_json_root(d->after->whole, "");
    compare_whole(&base, &now, "", &w);
    d->verdict = w.differ ? PP_VERDICT_CHANGED : PP_VERDICT_SAME;
    if (!w.differ)
        return PP_OK;
    unsigned rank = 0;
    unsigned op = 0;
    const bool order = strcmp(d->metric->name, "order") == 0;
    if (order && sscanf(w.first, "/%u/%u", &rank, &op) == 2)
        snprintf(detail, sizeof detail, "%zu of %zu ops differ, the first is op %u of rank %u",
                 w.differ, w.values, op, rank);
    else
        snprintf(detail, sizeof detail, "%zu of %zu values differ, the first at %s", w.differ,
                 w.values, *w.first ? w.first : "/");
    d->detail = pp_compare_printable(detail);
    return d->detail ? PP_OK : pp_err_nomem(err);
}

static bool is_within(const pp_limit *limit, double base, double delta)
{
    double most = limit->relative ? limit->value * fabs(base) : limit->value;
    return limit->value > 0 && fabs(delta) <= most;
}

static bool noise(const pp_difference *d, bool *known)
{
    const pp_quantity *a = d->before;
    const pp_quantity *b = d->after;
    *known = (a->spread || !a->measured) && (b->spread || !b->measured);
    return *known && a->low <= b->high && b->low <= a->high;
}

static void judge_number(const pp_tolerances *tolerances, pp_difference *d)
{
    const pp_metric *m = d->metric;
    size_t index = (size_t)(m - pp_metric_at(0));
    double delta = d->after->value - d->before->value;
    const pp_limit *limit = delta > 0 ? &tolerances->up[index] : &tolerances->down[index];
    bool measured = d->before->measured || d->after->measured;
    bool known = true;
    bool worse = m->better == PP_BETTER_LESS ? delta > 0 : m->better == PP_BETTER_MORE && delta < 0;
    bool counts = pp_tolerance_judges(tolerances, m);
    bool judged = limit->given ? worse || limit->one_way || !m->better : worse && counts;
    if (delta == 0)
        d->verdict = PP_VERDICT_SAME;
    else if (measured && noise(d, &known))
        d->verdict = PP_VERDICT_NOISE;
    else if (is_within(limit, d->before->value, delta))
        d->verdict = PP_VERDICT_ALLOWED;
    else if (!known && !limit->given)
        d->verdict = PP_VERDICT_CHANGED;
    else if (judged)
        d->verdict = PP_VERDICT_WORSE;
    else if (!m->better || worse || !counts)
        d->verdict = PP_VERDICT_CHANGED;
    else
        d->verdict = PP_VERDICT_BETTER;
    d->fails = d->verdict == PP_VERDICT_WORSE ||
               (tolerances->strict && known && d->verdict < PP_VERDICT_ALLOWED);
}

/* Returns the difference relative to the base file's value of the metric that this one is part of,
 * or to its own value before. */
static double severity(const pp_difference *d, const pp_compare_file *base)
{
    const pp_metric *m = d->metric;
    double scale = fabs(d->before->value);
    if (m->part_of) {
        const pp_metric *of = pp_metric_find(m->kind, m->part_of);
        const pp_quantity *total = of ? pp_compare_find(base, of, "") : NULL;
        scale = total ? fabs(total->value) : scale;
    }
    double delta = fabs(d->after->value - d->before->value);
    return scale > 0 ? delta / scale : delta > 0 ? 1 : 0;
}

static double component(const pp_compare_file *file, int c, double rank)
{
    char place[64];
    snprintf(place, sizeof place, "rank %.0f %s", rank, pp_memory_key((pp_memory_component)c));
    const pp_metric *memory = pp_metric_find(PP_COMPARE_REPORT, "memory");
    const pp_quantity *item = pp_compare_find(file, memory, place);
    return item ? item->value : 0;
}

/* Sets the detail of a peak: which rank has it, and which memory component changed most. */
static pp_status explain_memory(const pp_compare_file *base, const pp_compare_file *now,
                                pp_difference *d, pp_err *err)
{
    const pp_metric *metric = pp_metric_find(PP_COMPARE_REPORT, "peak-memory-rank");
    const pp_quantity *rank[2] = { pp_compare_find(base, metric, ""),
                                   pp_compare_find(now, metric, "") };
    int most = -1;
    double largest = 0;
    char bytes[32];
    char where[64];
    char what[96] = "";
    if (!rank[0] || !rank[1])
        return PP_OK;
    for (int c = 0; c < PP_MEMORY_COUNT; c++) {
        double delta = component(now, c, rank[1]->value) - component(base, c, rank[0]->value);
        if (fabs(delta) > fabs(largest)) {
            largest = delta;
            most = c;
        }
    }
    if (rank[0]->value == rank[1]->value)
        snprintf(where, sizeof where, "of rank %.0f", rank[0]->value);
    else
        snprintf(where, sizeof where, "of rank %.0f, was rank %.0f", rank[1]->value,
                 rank[0]->value);
    if (most >= 0)
        snprintf(what, sizeof what, "; most of it %s, %c%s",
                 pp_memory_key((pp_memory_component)most), largest < 0 ? '-' : '+',
                 pp_format_bytes(bytes, sizeof bytes, (int64_t)fabs(largest)));
    d->detail = malloc(sizeof where + sizeof what);
    if (!d->detail)
        return pp_err_nomem(err);
    snprintf(d->detail, sizeof where + sizeof what, "%s%s", where, what);
    return PP_OK;
}

/* Sets the detail of an interval that covers links only: it is narrow because compute was not
 * measured. */
static pp_status explain_interval(const pp_compare_file *base, const pp_compare_file *now,
                                  pp_difference *d, pp_err *err)
{
    static const char *const words[] = {
        "", "the interval before is of links only, compute is not measured",
        "the interval after is of links only, compute is not measured",
        "intervals of links only, compute is not measured"
    };
    const pp_metric *metric = pp_metric_find(PP_COMPARE_REPORT, "compute-measured");
    const pp_quantity *a = pp_compare_find(base, metric, "");
    const pp_quantity *b = pp_compare_find(now, metric, "");
    const int which = (a && strcmp(a->text, "off") == 0) + 2 * (b && strcmp(b->text, "off") == 0);
    if (!which)
        return PP_OK;
    d->detail = pp_copy_text(words[which]);
    return d->detail ? PP_OK : pp_err_nomem(err);
}

static pp_status judge_both(const pp_compare_file *base, const pp_compare_file *now,
                            const pp_tolerances *tolerances, pp_difference *d, pp_err *err)
{
    pp_status status = PP_OK;
    bool measured = d->before->measured || d->after->measured;
    if (d->metric->unit < PP_METRIC_TEXT) {
        judge_number(tolerances, d);
        d->severity = severity(d, base);
        if (d->verdict != PP_VERDICT_SAME && strcmp(d->metric->name, "peak-memory") == 0)
            status = explain_memory(base, now, d, err);
        if (d->verdict != PP_VERDICT_SAME &&
            (strcmp(d->metric->name, "step-low") == 0 || strcmp(d->metric->name, "step-high") == 0))
            status = explain_interval(base, now, d, err);
        return status;
    }
    d->severity =
        d->metric->timed ? 0 : INFINITY; /* settings explain numbers, so they come first */
    if (d->metric->unit == PP_METRIC_WHOLE)
        status = judge_whole(d, err);
    else
        d->verdict =
            strcmp(d->before->text, d->after->text) == 0 ? PP_VERDICT_SAME : PP_VERDICT_CHANGED;
    d->fails = tolerances->strict && !measured && d->verdict == PP_VERDICT_CHANGED;
    return status;
}

static pp_status add(const char *name, const pp_metric *metric, const pp_quantity *before,
                     const pp_quantity *after, pp_differences *all, pp_difference **added,
                     pp_err *err)
{
    void *rows = all->row;
    pp_status status = pp_grow(&rows, &all->capacity, all->count + 1, sizeof *all->row, err);
    if (status)
        return status;
    all->row = rows;
    *added = &all->row[all->count++];
    **added = (pp_difference){ .file = name,
                               .metric = metric,
                               .place = before  ? before->place
                                        : after ? after->place
                                                : "",
                               .before = before,
                               .after = after };
    return PP_OK;
}

/* Judges a quantity that only one file has. A judged metric of the whole file that is missing in
 * the new file fails. */
static void judge_one(const pp_tolerances *tolerances, pp_difference *d, bool gone)
{
    bool measured = (d->before && d->before->measured) || (d->after && d->after->measured);
    d->verdict = gone ? PP_VERDICT_GONE : PP_VERDICT_NEW;
    bool judged =
        gone && d->metric->judged && pp_tolerance_judges(tolerances, d->metric) && !*d->place;
    bool any = isinf(tolerances->up[d->metric - pp_metric_at(0)].value);
    d->fails = !any && (judged || (tolerances->strict && !measured));
}

static int order_of(const pp_quantity *a, const pp_quantity *b)
{
    if (!a || !b)
        return a ? -1 : 1;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    return strcmp(a->place, b->place);
}

pp_status pp_compare_judge(const char *name, const pp_compare_file *base,
                           const pp_compare_file *now, const pp_tolerances *tolerances,
                           pp_differences *differences, pp_err *err)
{
    pp_difference *d = NULL;
    pp_status status = PP_OK;
    if (!base || !now) {
        const pp_metric *file = pp_metric_find(PP_COMPARE_OTHER, "file");
        if (!(status = add(name, file, NULL, NULL, differences, &d, err)))
            judge_one(tolerances, d, now == NULL);
        return status;
    }
    if (base->kind != now->kind || base->kind == PP_COMPARE_OTHER)
        return pp_err_set(err, PP_USAGE, name,
                          "%.300s is %s, but %.300s is %s; give two plans, reports, timelines or "
                          "profiles",
                          base->name, pp_compare_kind_name(base), now->name,
                          pp_compare_kind_name(now));
    for (size_t i = 0, k = 0; i < base->count || k < now->count;) {
        const pp_quantity *a = i < base->count ? &base->item[i] : NULL;
        const pp_quantity *b = k < now->count ? &now->item[k] : NULL;
        int order = order_of(a, b);
        const pp_quantity *before = order <= 0 ? a : NULL;
        const pp_quantity *after = order >= 0 ? b : NULL;
        if ((status = add(name, before ? before->metric : after->metric, before, after, differences,
                          &d, err)))
            return status;
        if (!before || !after)
            judge_one(tolerances, d, before != NULL);
        else if ((status = judge_both(base, now, tolerances, d, err)))
            return status;
        i += before != NULL;
        k += after != NULL;
    }
    return PP_OK;
}

static size_t place_in_file(const pp_difference *d)
{
    return d->before ? d->before->order : d->after ? d->after->order : 0;
}

static int compare_rows(const void *left, const void *right)
{
    const pp_difference *a = left;
    const pp_difference *b = right;
    if (a->fails != b->fails)
        return a->fails ? -1 : 1;
    if (a->verdict != b->verdict)
        return a->verdict < b->verdict ? -1 : 1;
    if (a->severity != b->severity)
        return a->severity > b->severity ? -1 : 1;
    int order = strcmp(a->file, b->file);
    if (!order && a->metric != b->metric)
        order = a->metric < b->metric ? -1 : 1;
    return order ? order
                 : (place_in_file(a) > place_in_file(b)) - (place_in_file(a) < place_in_file(b));
}

void pp_differences_sort(pp_differences *differences)
{
    if (differences->count)
        qsort(differences->row, differences->count, sizeof *differences->row, compare_rows);
    for (size_t i = 0; i < differences->count; i++) {
        differences->verdicts[differences->row[i].verdict]++;
        differences->fails += differences->row[i].fails;
    }
}

void pp_differences_free(pp_differences *differences)
{
    for (size_t i = 0; i < differences->count; i++)
        free(differences->row[i].detail);
    free(differences->row);
    *differences = (pp_differences){ 0 };
}
