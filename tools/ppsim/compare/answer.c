/* Chooses what a comparison says first. Of two files it is the step, then the worst value that
 * fails; of folders it is the latter. Numbers that follow from others, such as the busy time of a
 * rank, come after those that people decide by. */
#include "tools/ppsim/compare/answer.h"

#include "tools/ppsim/compare/cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A difference and its place in the reading order. */
typedef struct ranked {
    const pp_difference *row;
    bool first; /* of folders: it fails */
    size_t file, care;
} ranked;

/* The place of a metric: 0 comes first. */
static size_t care(const pp_difference *d)
{
    static const char *const names[] = { "file", "step",        "throughput",
                                         "mfu",  "peak-memory", "bubble-fraction" };
    enum { NAMES = sizeof names / sizeof names[0] };
    if (d->verdict == PP_VERDICT_SAME)
        return NAMES + 2;
    for (size_t i = 0; i < NAMES; i++) {
        if (strcmp(d->metric->name, names[i]) == 0)
            return i;
    }
    if (d->metric->kind == PP_COMPARE_TIMELINE && strcmp(d->metric->name, "makespan") == 0)
        return 1;
    return d->metric->unit >= PP_METRIC_TEXT && !d->metric->timed ? NAMES : NAMES + 1;
}

static int compare_ranked(const void *left, const void *right)
{
    const ranked *a = left;
    const ranked *b = right;
    if (a->first != b->first)
        return a->first ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->care != b->care)
        return a->care < b->care ? -1 : 1;
    if (a->row->fails != b->row->fails)
        return a->row->fails ? -1 : 1;
    if (a->row->severity != b->row->severity)
        return a->row->severity > b->row->severity ? -1 : 1;
    if (a->row->metric != b->row->metric)
        return a->row->metric < b->row->metric ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Returns the first row of the same file: files are read in the order of their worst values. */
static size_t first_of_file(const pp_differences *d, size_t row)
{
    for (size_t i = 0; i < row; i++) {
        if (strcmp(d->row[i].file, d->row[row].file) == 0)
            return i;
    }
    return row;
}

static void free_ranked(ranked **all)
{
    free(*all);
}

const pp_difference **pp_compare_reading_order(const pp_compare_print *print)
{
    const pp_differences *d = print->differences;
    ranked *all PP_CLEANUP(free_ranked) = malloc((d->count + 1) * sizeof *all);
    const pp_difference **rows = malloc((d->count + 1) * sizeof *rows);
    if (!all || !rows) {
        free(rows);
        return NULL;
    }
    for (size_t i = 0; i < d->count; i++)
        all[i] = (ranked){ .row = &d->row[i],
                           .first = print->pairs->folders && d->row[i].fails,
                           .file = print->pairs->folders ? first_of_file(d, i) : 0,
                           .care = care(&d->row[i]) };
    if (d->count)
        qsort(all, d->count, sizeof *all, compare_ranked);
    for (size_t i = 0; i < d->count; i++)
        rows[i] = all[i].row;
    return rows;
}

static int64_t degree(const pp_compare_file *file, const char *name)
{
    const pp_quantity *item =
        pp_compare_find(file, pp_metric_find(PP_COMPARE_PLAN, "parallel"), name);
    return item && item->text ? strtoll(item->text, NULL, 10) : 0;
}

/* The GPUs of a plan. */
typedef struct gpus {
    int64_t count; /* 0: not known */
    const char *type;
} gpus;

static gpus gpus_of(const pp_compare_file *file)
{
    const pp_quantity *item =
        pp_compare_find(file, pp_metric_find(PP_COMPARE_PLAN, "hardware"), "");
    return (gpus){ .count = degree(file, "pp") * degree(file, "tp") * degree(file, "cp") *
                            degree(file, "dp"),
                   .type = item && item->text ? item->text : "GPU" };
}

/* Finds the GPUs of two plans. Returns whether they are known and differ. */
static bool gpus_differ(const pp_compare_print *print, gpus *before, gpus *after)
{
    if (print->pairs->count != 1 || !print->pairs->pair[0].has_base ||
        !print->pairs->pair[0].has_now)
        return false;
    *before = gpus_of(&print->pairs->pair[0].base);
    *after = gpus_of(&print->pairs->pair[0].now);
    return before->count && after->count &&
           (before->count != after->count || strcmp(before->type, after->type) != 0);
}

void pp_compare_add_gpus(const pp_compare_print *print, pp_text *text)
{
    gpus a;
    gpus b;
    if (!gpus_differ(print, &a, &b))
        return;
    const pp_metric *metric = pp_metric_find(PP_COMPARE_REPORT, "throughput");
    const pp_quantity *before = pp_compare_find(&print->pairs->pair[0].base, metric, "");
    const pp_quantity *after = pp_compare_find(&print->pairs->pair[0].now, metric, "");
    pp_text_add(text, "%lld x %s -> %lld x %s", (long long)a.count, a.type, (long long)b.count,
                b.type);
    if (!before || !after || before->value <= 0)
        return;
    const double was = before->value / (double)a.count;
    const double is = after->value / (double)b.count;
    char rate[2][PP_CELL];
    pp_compare_rate(was, rate[0]);
    pp_compare_rate(is, rate[1]);
    pp_text_add(text, "; throughput per GPU %s -> %s tokens/s (%+.2f %%)", rate[0], rate[1],
                100 * (is - was) / was);
}

static void add_place(const pp_compare_print *print, pp_text *text)
{
    gpus a;
    gpus b;
    if (!gpus_differ(print, &a, &b))
        return;
    if (strcmp(a.type, b.type) == 0)
        pp_text_add(text, ", on %lld GPUs instead of %lld", (long long)b.count, (long long)a.count);
    else
        pp_text_add(text, ", on %lld x %s instead of %lld x %s", (long long)b.count, b.type,
                    (long long)a.count, a.type);
}

void pp_compare_add_change(const pp_difference *row, pp_text *text)
{
    pp_compare_cells cells;
    pp_compare_cells_of(row, &cells);
    const bool whole = row->metric->unit == PP_METRIC_PART || !*cells.percent ||
                       strcmp(cells.percent + 1, "0.00 %") == 0;
    if (row->metric->kind == PP_COMPARE_OTHER)
        pp_text_add(text, "%s is %s", row->file, row->verdict == PP_VERDICT_GONE ? "gone" : "new");
    else if (!row->before || !row->after)
        pp_text_add(text, "%s is %s", cells.name, pp_verdict_word(row->verdict));
    else if (row->metric->unit == PP_METRIC_WHOLE)
        pp_text_add(text, "%s differs", cells.name);
    else if (row->metric->unit < PP_METRIC_TEXT && row->verdict == PP_VERDICT_SAME)
        pp_text_add(text, "%s unchanged (%s%s)", cells.name, cells.after, cells.unit);
    else if (*cells.delta)
        pp_text_add(text, "%s %s%s (%s to %s%s)", cells.name, whole ? cells.delta : cells.percent,
                    whole ? cells.unit : "", cells.before, cells.after, cells.unit);
    else
        pp_text_add(text, "%s %s to %s", cells.name, cells.before, cells.after);
}

/* Returns what the verdict of a row means for the whole comparison. */
static const char *meaning(const pp_difference *row)
{
    static const char *const words[PP_VERDICT_COUNT] = {
        [PP_VERDICT_WORSE] = "worse",
        [PP_VERDICT_CHANGED] = "not judged",
        [PP_VERDICT_BETTER] = "better",
        [PP_VERDICT_GONE] = "not judged",
        [PP_VERDICT_NEW] = "new",
        [PP_VERDICT_ALLOWED] = "allowed by --tolerance",
        [PP_VERDICT_NOISE] = "no change, within the spread of the repeats",
        [PP_VERDICT_SAME] = "no regression",
    };
    const bool measured =
        (row->before && row->before->measured) || (row->after && row->after->measured);
    if (row->fails)
        return row->verdict == PP_VERDICT_WORSE || row->verdict == PP_VERDICT_GONE ? "worse"
                                                                                   : "different";
    if (row->verdict == PP_VERDICT_CHANGED)
        return measured ? "not judged, too few repeats to know the spread"
                        : "not judged, --tolerance names other metrics";
    return words[row->verdict];
}

/* Returns the step of a single pair, or of timelines their makespan; NULL if they have none. */
static const pp_difference *find_step(const pp_compare_print *print,
                                      const pp_difference *const *rows)
{
    for (size_t i = 0; i < print->differences->count && !print->pairs->folders; i++) {
        const pp_metric *m = rows[i]->metric;
        if (strcmp(m->name, m->kind == PP_COMPARE_TIMELINE ? "makespan" : "step") == 0)
            return rows[i];
    }
    return NULL;
}

/* Writes the first line of a comparison of several files, or of files without a step, in which
 * nothing fails. */
static void add_passed(const pp_compare_print *print, pp_text *text)
{
    const pp_differences *d = print->differences;
    const bool equal = d->verdicts[PP_VERDICT_SAME] == d->count;
    pp_text_add(text, "%s", equal ? "same" : "no regression");
    if (print->pairs->folders)
        pp_text_add(text, " in %zu file%s", print->pairs->count,
                    print->pairs->count == 1 ? "" : "s");
    add_place(print, text);
    if (equal)
        pp_text_add(text, ": all %zu values are equal", d->count);
}

void pp_compare_add_headline(const pp_compare_print *print, const pp_difference *const *rows,
                             pp_text *text)
{
    const pp_differences *d = print->differences;
    const pp_difference *step = find_step(print, rows);
    const pp_difference *worst = NULL;
    for (size_t i = 0; i < d->count && !worst; i++)
        worst = rows[i]->fails ? rows[i] : NULL;
    const pp_difference *first = step ? step : worst;
    if (!first) {
        add_passed(print, text);
        return;
    }
    if (print->pairs->folders && first->metric->kind != PP_COMPARE_OTHER)
        pp_text_add(text, "%s: ", first->file);
    pp_compare_add_change(first, text);
    add_place(print, text);
    if (worst && first->verdict == PP_VERDICT_SAME)
        pp_text_add(text, ", but ");
    else
        pp_text_add(text, ": %s%s", meaning(first), worst && worst != first ? ", but " : "");
    if (worst && worst != first) {
        pp_compare_add_change(worst, text);
        pp_text_add(text, ": %s", meaning(worst));
    }
    if (d->verdicts[PP_VERDICT_SAME] == d->count)
        pp_text_add(text, ", all %zu values are equal", d->count);
}

void pp_compare_add_counts(const pp_differences *d, pp_text *text)
{
    const char *before = "";
    if (d->fails)
        pp_text_add(text, "%zu of %zu %s: ", d->fails, d->count, d->fails == 1 ? "fails" : "fail");
    for (int v = 0; v < PP_VERDICT_COUNT; v++) {
        if (!d->verdicts[v])
            continue;
        pp_text_add(text, "%s%zu %s%s", before, d->verdicts[v], v == PP_VERDICT_SAME ? "the " : "",
                    pp_verdict_word((pp_compare_verdict)v));
        before = ", ";
    }
}
