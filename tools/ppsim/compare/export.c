/* Writes differences for programs: JUnit XML and JSON. */
#include "tools/ppsim/compare/export.h"

#include "sim/base/text.h"
#include "tools/ppsim/compare/answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Escapes `words` for an attribute or for text. Characters that XML 1.0 does not allow were
 * replaced when the file was read. */
static void add_xml(const char *words, pp_text *text)
{
    for (; *words; words++) {
        const char *entity = *words == '&'    ? "&amp;"
                             : *words == '<'  ? "&lt;"
                             : *words == '>'  ? "&gt;"
                             : *words == '"'  ? "&quot;"
                             : *words == '\'' ? "&apos;"
                                              : NULL;
        if (entity)
            pp_text_add(text, "%s", entity);
        else
            pp_text_add_bytes(text, words, 1);
    }
}

static void add_attribute(const char *name, const char *words, pp_text *text)
{
    pp_text_add(text, " %s=\"", name);
    add_xml(words, text);
    pp_text_add(text, "\"");
}

static int by_file(const void *left, const void *right)
{
    const pp_difference *a = *(const pp_difference *const *)left;
    const pp_difference *b = *(const pp_difference *const *)right;
    int order = strcmp(a->file, b->file);
    if (!order && a->metric != b->metric)
        order = a->metric < b->metric ? -1 : 1;
    return order ? order : (a > b) - (a < b); /* rows are sorted already, worst first */
}

static bool one_case(const pp_difference *a, const pp_difference *b)
{
    return a->metric == b->metric && strcmp(a->file, b->file) == 0;
}

static void add_words(const pp_text *words, pp_text *text)
{
    text->failed |= words->failed;
    if (words->data)
        add_xml(words->data, text);
}

static void add_line(const pp_difference *row, pp_text *text)
{
    pp_text line PP_CLEANUP(pp_text_free) = { 0 };
    pp_text_add(&line, "%s: ", pp_verdict_word(row->verdict));
    pp_compare_add_change(row, &line);
    pp_text_add(&line, "%s%.200s\n", row->detail ? "; " : "", row->detail ? row->detail : "");
    add_words(&line, text);
}

/* Writes what a test case says first: its worst value. */
static void add_message(const pp_difference *worst, size_t fails, size_t count, pp_text *text)
{
    pp_text message PP_CLEANUP(pp_text_free) = { 0 };
    pp_compare_add_change(worst, &message);
    if (worst->before && worst->after)
        pp_text_add(&message, ": %s", pp_verdict_word(worst->verdict));
    if (count > 1)
        pp_text_add(&message, "; %zu of %zu values %s", fails, count,
                    fails == 1 ? "fails" : "fail");
    pp_text_add(text, " message=\"");
    add_words(&message, text);
    pp_text_add(text, "\"");
}

/* Writes a test case: one metric of one file, with its worst values. */
static void add_case(const pp_difference *const *rows, size_t count, pp_text *text)
{
    enum { VALUES = 10 };
    size_t fails = 0;
    for (size_t i = 0; i < count; i++)
        fails += rows[i]->fails;
    pp_text_add(text, "    <testcase");
    add_attribute("classname", rows[0]->file, text);
    add_attribute("name", rows[0]->metric->name, text);
    if (!fails) {
        pp_text_add(text, "/>\n");
        return;
    }
    pp_text_add(text, ">\n      <failure");
    add_message(rows[0], fails, count, text);
    add_attribute("type", pp_verdict_word(rows[0]->verdict), text);
    pp_text_add(text, ">");
    for (size_t i = 0; i < count && i < VALUES && rows[i]->fails; i++)
        add_line(rows[i], text);
    pp_text_add(text, "</failure>\n    </testcase>\n");
}

static size_t count_cases(const pp_difference *const *rows, size_t count, size_t *failed)
{
    size_t cases = 0;
    *failed = 0;
    for (size_t i = 0; i < count; i++) {
        bool first = i == 0 || !one_case(rows[i - 1], rows[i]);
        cases += first;
        *failed += first && rows[i]->fails; /* the first row is the worst */
    }
    return cases;
}

/* Writes the first line of the comparison as the output of the suite. */
static void add_headline(const pp_compare_print *print, pp_text *text)
{
    pp_text line PP_CLEANUP(pp_text_free) = { 0 };
    const pp_difference **order = pp_compare_reading_order(print);
    if (!order) {
        text->failed = 1;
        return;
    }
    pp_compare_add_headline(print, order, &line);
    free(order);
    pp_text_add(text, "    <system-out>");
    add_words(&line, text);
    pp_text_add(text, "</system-out>\n");
}

void pp_compare_junit(const pp_compare_print *print, pp_text *text)
{
    const pp_differences *d = print->differences;
    const pp_difference **rows = malloc((d->count + 1) * sizeof *rows);
    size_t failed = 0;
    if (!rows) {
        text->failed = 1;
        return;
    }
    for (size_t i = 0; i < d->count; i++)
        rows[i] = &d->row[i];
    qsort(rows, d->count, sizeof *rows, by_file);
    size_t cases = count_cases(rows, d->count, &failed);
    pp_text_add(text,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%zu\" "
                "failures=\"%zu\">\n  <testsuite name=\"ppsim compare\" tests=\"%zu\" "
                "failures=\"%zu\">\n",
                cases, failed, cases, failed);
    for (size_t first = 0, i = 1; i <= d->count; i++) {
        if (i < d->count && one_case(rows[first], rows[i]))
            continue;
        add_case(rows + first, i - first, text);
        first = i;
    }
    add_headline(print, text);
    pp_text_add(text, "  </testsuite>\n</testsuites>\n");
    free(rows);
}

static void put_side(pp_json_build *build, pp_json *object, const char *key,
                     const pp_quantity *side)
{
    if (!side || side->whole)
        pp_json_put_null(build, object, key);
    else if (side->text)
        pp_json_put_text(build, object, key, side->text);
    else if (side->metric->unit < PP_METRIC_PART && side->value == nearbyint(side->value))
        pp_json_put_int(build, object, key, (int64_t)side->value);
    else
        pp_json_put_double(build, object, key, side->value);
}

static void put_bound(pp_json_build *build, pp_json *object, const char *key, double value)
{
    if (isfinite(value))
        pp_json_put_double(build, object, key, value);
    else
        pp_json_put_null(build, object, key); /* nothing bounds it */
}

static pp_json *json_row(const pp_difference *row, pp_json_build *build)
{
    static const char *const units[] = { "ns",     "bytes",  "fraction", "number",
                                         "number", "number", "text",     "values" };
    pp_json *object = pp_json_new_object(build);
    pp_json_put_text(build, object, "file", row->file);
    pp_json_put_text(build, object, "metric", row->metric->name);
    pp_json_put_text(build, object, "place", *row->place ? row->place : NULL);
    pp_json_put_text(build, object, "unit", units[row->metric->unit]);
    pp_json_put_text(build, object, "verdict", pp_verdict_word(row->verdict));
    pp_json_put_bool(build, object, "fails", row->fails);
    put_side(build, object, "before", row->before);
    put_side(build, object, "after", row->after);
    if (row->before && row->before->spread) {
        put_bound(build, object, "before_low", row->before->low);
        put_bound(build, object, "before_high", row->before->high);
    }
    if (row->after && row->after->spread) {
        put_bound(build, object, "after_low", row->after->low);
        put_bound(build, object, "after_high", row->after->high);
    }
    pp_json_put_text(build, object, "detail", row->detail);
    return object;
}

pp_json *pp_compare_json(const pp_compare_print *print, pp_json_build *build)
{
    const pp_differences *d = print->differences;
    pp_json *object = pp_json_new_object(build);
    pp_json *counts = pp_json_new_object(build);
    pp_json *rows = pp_json_new_array(build);
    pp_json_put_text(build, object, "format", "ppsim.comparison");
    pp_json_put_int(build, object, "version", 1);
    pp_json_put_text(build, object, "base", print->base);
    pp_json_put_text(build, object, "new", print->now);
    pp_json_put_text(build, object, "platform",
                     print->pairs->platform[0] ? print->pairs->platform : NULL);
    pp_json_put_bool(build, object, "regression", d->fails > 0);
    pp_json_put_int(build, object, "fails", (int64_t)d->fails);
    for (int v = 0; v < PP_VERDICT_COUNT; v++)
        pp_json_put_int(build, counts, pp_verdict_word((pp_compare_verdict)v),
                        (int64_t)d->verdicts[v]);
    pp_json_put(build, object, "verdicts", counts);
    for (size_t i = 0; i < d->count; i++) {
        if (d->row[i].verdict != PP_VERDICT_SAME)
            pp_json_add(build, rows, json_row(&d->row[i], build));
    }
    pp_json_put(build, object, "rows", rows);
    return object;
}
