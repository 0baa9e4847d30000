/* Prints the result of a sweep: the best points as a table or JSON, all points as CSV. */
#include "tools/ppsim/sweep/print.h"

#include "sim/base/alloc.h"
#include "tools/ppsim/base/words.h"
#include "tools/ppsim/sweep/point.h"
#include "tools/ppsim/sweep/seal.h"
#include "tools/ppsim/sweep/study.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line of the file, parsed. */
typedef struct answer {
    uint32_t point;
    double score; /* the points are sorted by it, the largest first */
    double value[4];
    char schedule[64];
} answer;

typedef enum trouble { INFEASIBLE, ILLEGAL, UNDECIDED, WARNED, TROUBLES } trouble;

/* Points with the same reason, numbers aside. */
typedef struct group {
    trouble trouble;
    uint32_t count;
    bool others;      /* some have other numbers */
    char reason[240]; /* of the first point, without the advice */
    char key[200];    /* of the first point */
} group;

typedef struct rows {
    answer *row; /* points with status ok, best first */
    size_t count;
    uint32_t points[TROUBLES];
    group *group;
    size_t groups, capacity;
} rows;

static void free_rows(rows *r)
{
    free(r->row);
    free(r->group);
}

/* A column of the table. Lines in which the number is unknown do not have its key. */
typedef struct figure {
    const char *key, *head;
    double scale;
    int decimals;
} figure;

static const figure plan_columns[4] = { { "tokens_per_s_per_gpu", "tok/s/GPU", 1, 1 },
                                        { "model_flops_utilization", "MFU %", 1e2, 2 },
                                        { "step_ns", "step ms", 1e-6, 1 },
                                        { "peak_memory_bytes", "peak GiB", 0x1p-30, 2 } };
static const figure simulate_columns[4] = { { "bubble_fraction", "bubble %", 1e2, 2 },
                                            { "bubble_rate", "rate %", 1e2, 2 },
                                            { "step_ns", "step ms", 1e-6, 3 },
                                            { "peak_memory_bytes", "peak GiB", 0x1p-30, 2 } };

static bool is_plan(const pp_sweep *sweep)
{
    return sweep->grid.study == &pp_sweep_plan;
}

static const figure *columns_of(const pp_sweep *sweep)
{
    return is_plan(sweep) ? plan_columns : simulate_columns;
}

static pp_status parse_line(const pp_sweep_lines *lines, uint32_t point, pp_json **json_out,
                            pp_err *err)
{
    return pp_json_parse(lines->line[point], strlen(lines->line[point]), "a line of the sweep",
                         json_out, err);
}

static double read_number(const pp_json_at *root, const char *key)
{
    double value = NAN;
    pp_err ignored = { 0 };
    return pp_json_has(root, key) &&
                   !pp_json_get_double(root, key, -HUGE_VAL, HUGE_VAL, &value, &ignored)
               ? value
               : NAN;
}

/* Returns whether two texts are equal but for their numbers. */
static bool is_alike(const char *a, const char *b)
{
    while (*a && *b) {
        const size_t one = strspn(a, "0123456789.");
        const size_t other = strspn(b, "0123456789.");
        if ((one == 0) != (other == 0) || (!one && *a != *b))
            return false;
        a += one ? one : 1;
        b += other ? other : 1;
    }
    return !*a && !*b;
}

/* Counts a line that has `member`, "reason" or "warnings", among those with the same reason. */
static pp_status count_reason(const pp_json_at *root, const char *member, trouble kind, rows *r,
                              pp_err *err)
{
    const char *words = "";
    const char *key = "";
    char reason[sizeof r->group->reason];
    pp_status status = pp_json_get_text(root, member, &words, err);
    if (status || (status = pp_json_get_text(root, "key", &key, err)))
        return status;
    const int clause = pp_first_clause(words);
    snprintf(reason, sizeof reason, "%.*s", clause, words);
    r->points[kind]++;
    for (size_t i = 0; i < r->groups; i++) {
        if (r->group[i].trouble != kind || !is_alike(r->group[i].reason, reason))
            continue;
        r->group[i].count++;
        r->group[i].others = r->group[i].others || strcmp(r->group[i].reason, reason) != 0;
        return PP_OK;
    }
    void *all = r->group;
    if ((status = pp_grow(&all, &r->capacity, r->groups + 1, sizeof *r->group, err)))
        return status;
    r->group = all;
    group *added = &r->group[r->groups++];
    *added = (group){ .trouble = kind, .count = 1 };
    snprintf(added->reason, sizeof added->reason, "%s", reason);
    snprintf(added->key, sizeof added->key, "%.190s", key);
    return PP_OK;
}

static pp_status read_row(const pp_sweep *sweep, const pp_sweep_lines *lines, uint32_t point,
                          rows *r, pp_err *err)
{
    const char *outcome = NULL;
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_status status = parse_line(lines, point, &json, err);
    if (status)
        return status;
    pp_json_at root = pp_json_root(json, "a line of the sweep");
    if ((status = pp_json_get_text(&root, "status", &outcome, err)))
        return status;
    if (strcmp(outcome, "ok") != 0)
        return count_reason(&root, "reason",
                            strcmp(outcome, "infeasible") == 0  ? INFEASIBLE
                            : strcmp(outcome, "undecided") == 0 ? UNDECIDED
                                                                : ILLEGAL,
                            r, err);
    if (pp_json_has(&root, "warnings") &&
        (status = count_reason(&root, "warnings", WARNED, r, err)))
        return status;
    answer *row = &r->row[r->count++];
    row->point = point;
    for (size_t i = 0; i < 4; i++)
        row->value[i] = read_number(&root, columns_of(sweep)[i].key);
    row->score = is_plan(sweep) ? row->value[0] : -row->value[0];
    return pp_json_get_name(&root, "schedule", row->schedule, sizeof row->schedule, err);
}

static int compare_groups(const void *left, const void *right)
{
    const group *a = left;
    const group *b = right;
    if (a->trouble != b->trouble)
        return a->trouble < b->trouble ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return strcmp(a->key, b->key);
}

static int compare(const void *left, const void *right)
{
    const answer *a = left;
    const answer *b = right;
    if (a->score < b->score || a->score > b->score)
        return a->score > b->score ? -1 : 1;
    return (a->point > b->point) - (a->point < b->point);
}

static pp_status read_rows(const pp_sweep *sweep, const pp_sweep_lines *lines, rows *r, pp_err *err)
{
    pp_status status = PP_OK;
    r->row = pp_alloc_array(lines->done, sizeof *r->row);
    if (!r->row)
        return pp_err_nomem(err);
    for (uint32_t i = 0; i < lines->points && !status; i++)
        status = lines->line[i] ? read_row(sweep, lines, i, r, err) : PP_OK;
    if (!status)
        qsort(r->row, r->count, sizeof *r->row, compare);
    if (!status && r->groups)
        qsort(r->group, r->groups, sizeof *r->group, compare_groups);
    return status;
}

static const pp_axis *find_axis(const pp_grid *grid, const char *option, size_t *at_out)
{
    for (size_t i = 0; i < grid->axes; i++) {
        *at_out = i;
        if (strcmp(grid->axis[i].option->name, option) == 0)
            return &grid->axis[i];
    }
    return NULL;
}

/* Writes the values of the axes that vary, and the schedule. */
static void print_point(const pp_grid *grid, const answer *row, size_t column, pp_text *text)
{
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    size_t ignored;
    for (size_t i = 0; i < grid->axes; i++) {
        if (grid->axis[i].count > 1 && strcmp(grid->axis[i].option->name, "--model") != 0)
            pp_text_add(&words, "%s%s=%s", words.bytes ? " " : "", pp_axis_name(&grid->axis[i]),
                        pp_grid_value(grid, row->point, i));
    }
    if (!find_axis(grid, "--schedule", &ignored))
        pp_text_add(&words, "%s(%s)", words.bytes ? " " : "", row->schedule);
    pp_print_words(text, words.data ? words.data : "", column, column);
}

/* Writes the best points of a model, or of all points when `model` is NULL. */
static void print_best(const pp_sweep *sweep, const rows *r, size_t axis, const char *model,
                       size_t top, pp_text *text)
{
    const figure *columns = columns_of(sweep);
    size_t shown = 0;
    for (size_t i = 0; i < r->count && shown < top; i++) {
        const answer *row = &r->row[i];
        if (model && strcmp(pp_grid_value(&sweep->grid, row->point, axis), model) != 0)
            continue;
        if (shown++ == 0) {
            pp_text_add(text, "%sbest%s%s, by %s\n", text->bytes ? "\n" : "", model ? " of " : "",
                        model ? model : "",
                        is_plan(sweep) ? "tokens per second and GPU" : "bubble");
            for (size_t k = 0; k < 4; k++)
                pp_text_add(text, "%9s ", columns[k].head);
            pp_text_add(text, " point\n");
        }
        for (size_t k = 0; k < 4; k++) {
            if (isnan(row->value[k]))
                pp_text_add(text, "%9s ", "");
            else
                pp_text_add(text, "%9.*f ", columns[k].decimals, row->value[k] * columns[k].scale);
        }
        pp_text_add(text, " ");
        print_point(&sweep->grid, row, 41, text);
    }
}

/* Writes how many points gave an answer, and why the others did not: a line for each reason. */
static void print_counts(const pp_sweep_lines *lines, const rows *r, pp_text *text)
{
    static const char *const names[TROUBLES] = { "infeasible", "illegal", "undecided", "warning" };
    enum { SHOWN = 10 };
    pp_text_add(text, "%s%" PRIu32 " point%s: %zu ok", text->bytes ? "\n" : "", lines->done,
                lines->done == 1 ? "" : "s", r->count);
    if (r->points[INFEASIBLE])
        pp_text_add(text, ", %" PRIu32 " infeasible (does not fit or run)", r->points[INFEASIBLE]);
    if (r->points[ILLEGAL])
        pp_text_add(text, ", %" PRIu32 " illegal (against a rule)", r->points[ILLEGAL]);
    if (r->points[UNDECIDED])
        pp_text_add(text, ", %" PRIu32 " undecided (the budget ended)", r->points[UNDECIDED]);
    if (r->points[WARNED])
        pp_text_add(text, "; %" PRIu32 " with a warning", r->points[WARNED]);
    pp_text_add(text, "\n");
    for (size_t i = 0; i < r->groups && i < SHOWN; i++) {
        const group *g = &r->group[i];
        pp_text words PP_CLEANUP(pp_text_free) = { 0 };
        pp_text_add(&words, "%s%s", g->reason, g->others ? " (or other numbers)" : "");
        if (g->count == 1)
            pp_text_add(&words, ", at %s", g->key);
        pp_text_add(text, "  %-10s %4" PRIu32 "  ", names[g->trouble], g->count);
        text->failed |= words.failed;
        if (words.data)
            pp_print_words(text, words.data, 19, 19);
    }
    if (r->groups > SHOWN)
        pp_text_add(text, "  %zu more reasons; the file of -o has the reason of each point\n",
                    r->groups - SHOWN);
}

pp_status pp_sweep_print(const pp_sweep *sweep, const pp_sweep_lines *lines, size_t top,
                         pp_text *text, pp_err *err)
{
    rows r PP_CLEANUP(free_rows) = { 0 };
    size_t at = 0;
    pp_status status = read_rows(sweep, lines, &r, err);
    if (status)
        return status;
    const pp_axis *models = find_axis(&sweep->grid, "--model", &at);
    if (!models)
        print_best(sweep, &r, 0, NULL, top, text);
    for (size_t i = 0; models && i < models->count; i++)
        print_best(sweep, &r, at, pp_axis_value(models, i), top, text);
    print_counts(lines, &r, text);
    return pp_text_check(text, err);
}

pp_status pp_sweep_print_json(const pp_sweep *sweep, const pp_sweep_lines *lines, size_t top,
                              pp_text *text, pp_err *err)
{
    rows r PP_CLEANUP(free_rows) = { 0 };
    pp_json_build build = { 0 };
    pp_json *root PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    pp_json *best = pp_json_new_array(&build);
    pp_status status = read_rows(sweep, lines, &r, err);
    for (size_t i = 0; i < r.count && i < top && !status; i++) {
        pp_json *line = NULL;
        status = parse_line(lines, r.row[i].point, &line, err);
        if (status)
            break;
        pp_json_drop(line, PP_SWEEP_SEAL); /* it belongs to the line, not to its values */
        pp_json_add(&build, best, line);
    }
    pp_json_put(&build, root, "best", best);
    pp_json_put_text(&build, root, "format", "ppsim.sweep-summary");
    pp_json_put_int(&build, root, "version", 1);
    pp_json_put_int(&build, root, "points", lines->done);
    pp_json_put_int(&build, root, "ok", (int64_t)r.count);
    pp_json_put_int(&build, root, "infeasible", r.points[INFEASIBLE]);
    pp_json_put_int(&build, root, "illegal", r.points[ILLEGAL]);
    pp_json_put_int(&build, root, "undecided", r.points[UNDECIDED]);
    return status ? status : pp_json_print(&build, root, &text->data, &text->bytes, err);
}

static void print_cell(const char *value, pp_text *text)
{
    if (!strpbrk(value, ",\"\n\r")) {
        pp_text_add(text, "%s", value);
        return;
    }
    pp_text_add(text, "\"");
    for (; *value; value++) {
        if (*value == '"')
            pp_text_add(text, "\"");
        pp_text_add_bytes(text, value, 1);
    }
    pp_text_add(text, "\"");
}

static void print_value(const pp_json_at *root, const char *key, pp_text *text)
{
    pp_json_at at;
    pp_err ignored = { 0 };
    const char *words = NULL;
    double real = 0;
    int64_t whole = 0;
    if (!pp_json_has(root, key) || pp_json_get(root, key, &at, &ignored))
        return;
    if (!pp_json_read_int(&at, INT64_MIN, INT64_MAX, &whole, &ignored))
        pp_text_add(text, "%" PRId64, whole);
    else if (!pp_json_read_double(&at, -HUGE_VAL, HUGE_VAL, &real, &ignored))
        pp_text_add(text, "%.17g", real);
    else if (!pp_json_read_text(&at, &words, &ignored))
        print_cell(words, text);
}

/* Returns whether a number has its own column. One that has the name of an axis is printed as that
 * axis, and settings of sharded parameters have columns where points have them. */
static bool is_column(const pp_grid *grid, const char *key, bool sharded)
{
    static const char *const settings[] = { "dp_replicate", "unshard_lookahead",
                                            "reshard_after_forward" };
    for (size_t i = 0; !sharded && i < sizeof settings / sizeof *settings; i++) {
        if (strcmp(settings[i], key) == 0)
            return false;
    }
    for (size_t i = 0; i < grid->axes; i++) {
        if (strcmp(pp_axis_name(&grid->axis[i]), key) == 0)
            return false;
    }
    return true;
}

pp_status pp_sweep_print_csv(const pp_sweep *sweep, const pp_sweep_lines *lines, pp_text *text,
                             pp_err *err)
{
    const pp_grid *grid = &sweep->grid;
    bool sharded = false;
    for (uint32_t i = 0; i < lines->points && !sharded; i++)
        sharded = lines->line[i] && strstr(lines->line[i], "\"unshard_lookahead\":");
    pp_text_add(text, "status");
    for (size_t i = 0; i < grid->axes; i++)
        pp_text_add(text, ",%s", pp_axis_name(&grid->axis[i]));
    for (size_t i = 0; pp_sweep_numbers[i]; i++) {
        if (is_column(grid, pp_sweep_numbers[i], sharded))
            pp_text_add(text, ",%s", pp_sweep_numbers[i]);
    }
    pp_text_add(text, ",reason\n");
    for (uint32_t point = 0; point < lines->points; point++) {
        pp_json *json PP_CLEANUP(pp_json_free) = NULL;
        if (!lines->line[point])
            continue;
        pp_status status = parse_line(lines, point, &json, err);
        if (status)
            return status;
        pp_json_at root = pp_json_root(json, "a line of the sweep");
        print_value(&root, "status", text);
        for (size_t i = 0; i < grid->axes; i++) {
            pp_text_add(text, ",");
            print_cell(pp_grid_value(grid, point, i), text);
        }
        for (size_t i = 0; pp_sweep_numbers[i]; i++) {
            if (!is_column(grid, pp_sweep_numbers[i], sharded))
                continue;
            pp_text_add(text, ",");
            print_value(&root, pp_sweep_numbers[i], text);
        }
        pp_text_add(text, ",");
        print_value(&root, "reason", text);
        pp_text_add(text, "\n");
    }
    return pp_text_check(text, err);
}
