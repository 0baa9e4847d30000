/* Reads the result file of `ppsim sweep` into a heat map of two of its axes. A cell shows the best
 * of its points, over all values of the other axes; O(points). */
#include "tools/ppsim/plot/heat.h"

#include "sim/base/alloc.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/sweep/file.h"
#include "tools/ppsim/sweep/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of a line that can be drawn. */
static const struct metric {
    const char *key, *words;
    double scale;
    bool larger; /* is better */
} metrics[] = { { "tokens_per_s_per_gpu", "tokens/s per GPU", 1, true },
                { "bubble_fraction", "bubble (%)", 1e2, false },
                { "bubble_rate", "bubble rate (%)", 1e2, false },
                { "model_flops_utilization", "model FLOPS utilization (%)", 1e2, true },
                { "step_ns", "step (ms)", 1e-6, false },
                { "makespan_ns", "makespan (ms)", 1e-6, false },
                { "lower_bound_ns", "lower bound of the makespan (ms)", 1e-6, false },
                { "peak_memory_bytes", "peak memory (GiB)", 0x1p-30, false },
                { "tokens_per_s", "tokens/s", 1, true } };

enum { METRICS = sizeof metrics / sizeof metrics[0] };

/* The part of a sweep that is drawn. */
typedef struct request {
    pp_sweep sweep;
    pp_sweep_lines lines;
    const struct metric *metric;
    size_t x, y;        /* indices of the axes; y is SIZE_MAX when there is one row */
    const char **fixed; /* [axes], value of --where; NULL: not fixed */
    pp_picture *picture;
} request;

static void free_request(request *r)
{
    pp_sweep_lines_free(&r->lines);
    pp_sweep_free(&r->sweep);
    free(r->fixed);
}

bool pp_heat_recognise(const char *text)
{
    size_t line = strcspn(text, "\n");
    const char *found = strstr(text, "\"format\":\"" PP_SWEEP_FORMAT "\"");
    return found && (size_t)(found - text) < line;
}

static pp_status read_lines(const char *text, size_t bytes, const char *file, request *r,
                            pp_err *err)
{
    pp_status status = pp_sweep_parse(text, bytes, file, &r->sweep, &r->lines, err);
    if (status)
        return status;
    r->fixed = pp_alloc_array(r->sweep.grid.axes + 1, sizeof *r->fixed);
    return r->fixed ? PP_OK : pp_err_nomem(err);
}

static pp_status find_axis(const request *r, const char *option, const char *name, size_t bytes,
                           size_t *axis_out, pp_err *err)
{
    const pp_grid *grid = &r->sweep.grid;
    char all[256] = "";
    for (size_t i = 0; i < grid->axes; i++) {
        const char *axis = pp_axis_name(&grid->axis[i]);
        *axis_out = i;
        if (strlen(axis) == bytes && strncmp(axis, name, bytes) == 0)
            return PP_OK;
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "", axis);
    }
    return pp_err_set(err, PP_USAGE, option, "the sweep has no axis '%.*s'; it has %s",
                      (int)(bytes < 64 ? bytes : 64), name, all);
}

static bool is_model(const pp_axis *axis)
{
    return strcmp(axis->option->name, "--model") == 0;
}

/* Returns the axis with the most values among those that can be shown, or SIZE_MAX. */
static size_t widest(const request *r, size_t taken)
{
    const pp_grid *grid = &r->sweep.grid;
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < grid->axes; i++) {
        if (i == taken || r->fixed[i] || grid->axis[i].count < 2 || is_model(&grid->axis[i]))
            continue;
        if (found == SIZE_MAX || grid->axis[i].count > grid->axis[found].count)
            found = i;
    }
    return found;
}

static pp_status read_where(const pp_args *args, request *r, pp_err *err)
{
    const char *text;
    for (size_t n = 0; (text = pp_args_each(args, "--where", n)); n++) {
        const char *equals = strchr(text, '=');
        size_t axis = 0;
        if (!equals)
            return pp_err_set(err, PP_USAGE, "--where", "'%.64s' is not AXIS=VALUE", text);
        pp_status status = find_axis(r, "--where", text, (size_t)(equals - text), &axis, err);
        if (status)
            return status;
        const pp_axis *of = &r->sweep.grid.axis[axis];
        for (size_t k = 0; k < of->count; k++)
            r->fixed[axis] = strcmp(of->value[k], equals + 1) == 0 ? of->value[k] : r->fixed[axis];
        if (!r->fixed[axis])
            return pp_err_set(err, PP_USAGE, "--where", "the sweep has no '%.100s'", text);
    }
    return PP_OK;
}

static pp_status choose_axes(const pp_args *args, request *r, pp_err *err)
{
    const pp_grid *grid = &r->sweep.grid;
    const char *x = pp_args_text(args, "--x");
    const char *y = pp_args_text(args, "--y");
    pp_status status = PP_OK;
    r->x = r->y = SIZE_MAX;
    if (y && (status = find_axis(r, "--y", y, strlen(y), &r->y, err)))
        return status;
    if (x)
        status = find_axis(r, "--x", x, strlen(x), &r->x, err);
    else
        r->x = widest(r, r->y);
    if (!status && !y)
        r->y = widest(r, r->x);
    if (status)
        return status;
    if (r->x == SIZE_MAX || r->x == r->y)
        return pp_err_set(
            err, PP_USAGE, "--x", "%s; sweep an option over several values, or name another axis",
            r->x == r->y && x ? "is also the axis of --y" : "no axis with several values is left");
    if (r->fixed[r->x] || (r->y != SIZE_MAX && r->fixed[r->y]))
        return pp_err_set(err, PP_USAGE, "--where",
                          "fixes an axis of the picture; remove it, or choose another axis");
    for (size_t i = 0; i < grid->axes; i++) {
        if (is_model(&grid->axis[i]) && grid->axis[i].count > 1 && i != r->x && i != r->y &&
            !r->fixed[i])
            return pp_err_set(err, PP_USAGE, "--where",
                              "the sweep has several models, and a cell cannot compare models; "
                              "choose one, for example --where model=%.64s",
                              grid->axis[i].value[0]);
    }
    return PP_OK;
}

static pp_status choose_metric(const pp_args *args, request *r, pp_err *err)
{
    const char *name = pp_args_text(args, "--metric");
    const char *names[METRICS + 1] = { NULL };
    r->metric = &metrics[r->sweep.grid.study == &pp_sweep_plan ? 0 : 1];
    for (size_t i = 0; name && i < METRICS; i++) {
        names[i] = metrics[i].key;
        if (strcmp(name, names[i]) == 0) {
            r->metric = &metrics[i];
            return PP_OK;
        }
    }
    if (!name)
        return PP_OK;
    char hint[PP_TEXT_HINT_BYTES];
    pp_text_nearest_hint("metric", name, names, hint);
    return pp_err_set(err, PP_USAGE, "--metric", "'%.64s' is not a metric of this sweep%s%s", name,
                      hint, *hint ? "" : "; give, for example, 'tokens_per_s_per_gpu'");
}

/* Returns whether the reason contains one of `words`, which are parts of messages of plan and
 * simulate. */
static bool speaks_of(const char *reason, const char *const words[])
{
    for (; *words; words++) {
        if (strstr(reason, *words))
            return true;
    }
    return false;
}

static pp_cell_state class_of(const char *status, const char *reason)
{
    static const char *const memory[] = { "nothing fits", "not fit", NULL };
    static const char *const hang[] = { "hang",         "cannot finish",    "never meets",
                                        "wrong tensor", "mismatched sizes", NULL };
    if (strcmp(status, "ok") == 0)
        return PP_CELL_OK;
    if (strcmp(status, "illegal") == 0)
        return PP_CELL_ILLEGAL;
    return speaks_of(reason, memory) ? PP_CELL_MEMORY
           : speaks_of(reason, hang) ? PP_CELL_HANG
                                     : PP_CELL_INFEASIBLE;
}

/* Writes a point's values on the axes that vary and that the picture does not show. */
static void describe(const request *r, uint32_t point, const char *schedule, pp_cell *cell)
{
    const pp_grid *grid = &r->sweep.grid;
    size_t used = 0;
    bool named = false;
    cell->note[0] = '\0';
    for (size_t i = 0; i < grid->axes; i++) {
        bool varies = grid->axis[i].count > 1 && i != r->x && i != r->y && !r->fixed[i];
        bool schedules = strcmp(grid->axis[i].option->name, "--schedule") == 0;
        named |= schedules;
        if (varies && used < sizeof cell->note)
            used +=
                (size_t)snprintf(cell->note + used, sizeof cell->note - used, "%s%s%s%s",
                                 used ? ", " : "", schedules ? "" : pp_axis_name(&grid->axis[i]),
                                 schedules ? "" : " ", pp_grid_value(grid, point, i));
    }
    if (!named && !used)
        snprintf(cell->note, sizeof cell->note, "%.31s", schedule);
}

/* Notes how much memory lacks for a point that does not fit, if its reason tells that, and if it is
 * less than for other points of its cell. */
static void note_shortage(const char *reason, pp_cell *cell)
{
    const char *found = strstr(reason, "short by ");
    char number[16];
    char unit[8];
    char size[24];
    int64_t bytes = 0;
    if (!found || sscanf(found, "short by %15[0-9.] %7[A-Za-z]", number, unit) != 2)
        return;
    snprintf(size, sizeof size, "%s%s", number, unit);
    if (pp_parse_bytes(size, "reason", &bytes, NULL) ||
        (*cell->note && (double)bytes >= cell->value))
        return;
    cell->value = (double)bytes;
    snprintf(cell->note, sizeof cell->note, "%.3g %s short", strtod(number, NULL), unit);
}

/* Adds a point to its cell. A cell keeps its best point; without one, the state that comes first in
 * pp_cell_state. */
static pp_status add_point(const request *r, uint32_t point, pp_cell *cell, pp_err *err)
{
    const char *status_text = "";
    const char *reason = "";
    const char *schedule = "";
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    double value = NAN;
    pp_status status = pp_json_parse(r->lines.line[point], strlen(r->lines.line[point]),
                                     "a line of the sweep", &json, err);
    if (status)
        return status;
    pp_json_at root = pp_json_root(json, "a line of the sweep");
    if ((status = pp_json_get_text(&root, "status", &status_text, err)) ||
        (pp_json_has(&root, "reason") &&
         (status = pp_json_get_text(&root, "reason", &reason, err))) ||
        (pp_json_has(&root, "schedule") &&
         (status = pp_json_get_text(&root, "schedule", &schedule, err))))
        return status;
    pp_cell_state state = class_of(status_text, reason);
    if (state != PP_CELL_OK) {
        cell->state = state < cell->state ? state : cell->state;
        if (cell->state == PP_CELL_MEMORY)
            note_shortage(reason, cell);
        return PP_OK;
    }
    if (!pp_json_has(&root, r->metric->key))
        return pp_err_set(err, PP_USAGE, "--metric",
                          "the points of this sweep have no %s; choose another metric",
                          r->metric->key);
    if ((status = pp_json_get_double(&root, r->metric->key, -HUGE_VAL, HUGE_VAL, &value, err)))
        return status;
    value *= r->metric->scale;
    bool first = cell->state != PP_CELL_OK;
    if (!first && !(r->metric->larger ? value > cell->value : value < cell->value))
        return PP_OK;
    cell->state = PP_CELL_OK;
    cell->value = value;
    describe(r, point, schedule, cell);
    return PP_OK;
}

static uint32_t place_of(const pp_grid *grid, uint32_t point, size_t axis)
{
    for (size_t i = grid->axes; --i > axis;)
        point /= (uint32_t)grid->axis[i].count;
    return point % (uint32_t)grid->axis[axis].count;
}

static bool is_drawn(const request *r, uint32_t point)
{
    for (size_t i = 0; i < r->sweep.grid.axes; i++) {
        if (r->fixed[i] && strcmp(pp_grid_value(&r->sweep.grid, point, i), r->fixed[i]) != 0)
            return false;
    }
    return true;
}

static pp_status add_cells(request *r, pp_err *err)
{
    const pp_grid *grid = &r->sweep.grid;
    uint32_t columns = (uint32_t)grid->axis[r->x].count;
    uint32_t rows = r->y == SIZE_MAX ? 1 : (uint32_t)grid->axis[r->y].count;
    for (uint32_t i = 0; i < columns * rows; i++) {
        pp_cell *cell = pp_picture_add_cell(r->picture, err);
        if (!cell)
            return PP_NOMEM;
        *cell = (pp_cell){ .x = i % columns, .y = i / columns, .state = PP_CELL_MISSING };
    }
    for (uint32_t point = 0; point < grid->points; point++) {
        if (!r->lines.line[point] || !is_drawn(r, point))
            continue;
        uint32_t y = r->y == SIZE_MAX ? 0 : place_of(grid, point, r->y);
        pp_status status =
            add_point(r, point, &r->picture->cell[y * columns + place_of(grid, point, r->x)], err);
        if (status)
            return status;
    }
    return PP_OK;
}

static pp_status add_ticks(request *r, size_t axis, bool y, pp_err *err)
{
    const pp_axis *of = axis == SIZE_MAX ? NULL : &r->sweep.grid.axis[axis];
    for (size_t i = 0; i < (of ? of->count : 1); i++) {
        pp_tick *tick = pp_picture_add_tick(r->picture, err);
        if (!tick)
            return PP_NOMEM;
        tick->y = y;
        snprintf(tick->label, sizeof tick->label, "%.60s", of ? of->value[i] : "");
    }
    return PP_OK;
}

/* Writes the titles of the axes, the values that all points have in common, and the axes over which
 * a cell shows the best. */
static void add_names(const request *r)
{
    const pp_grid *grid = &r->sweep.grid;
    pp_heat *heat = &r->picture->heat;
    char over[160] = "";
    size_t used = 0;
    snprintf(heat->x, sizeof heat->x, "%.40s", pp_axis_name(&grid->axis[r->x]));
    if (r->y != SIZE_MAX)
        snprintf(heat->y, sizeof heat->y, "%.40s", pp_axis_name(&grid->axis[r->y]));
    snprintf(heat->metric, sizeof heat->metric, "%s, dark is better", r->metric->words);
    heat->larger = r->metric->larger;
    for (size_t i = 0; i < grid->axes; i++) {
        const pp_axis *axis = &grid->axis[i];
        const char *value = r->fixed[i] ? r->fixed[i] : axis->count == 1 ? axis->value[0] : NULL;
        if (i == r->x || i == r->y)
            continue;
        if (value && is_model(axis)) {
            snprintf(heat->model, sizeof heat->model, "%.60s", value);
            continue;
        }
        if (value && used < sizeof heat->about)
            used += (size_t)snprintf(heat->about + used, sizeof heat->about - used, "%s%s %s",
                                     used ? ", " : "", pp_axis_name(axis), value);
        else if (!value)
            snprintf(over + strlen(over), sizeof over - strlen(over), "%s%s", *over ? ", " : "",
                     pp_axis_name(axis));
    }
    if (*over && used < sizeof heat->about)
        snprintf(heat->about + used, sizeof heat->about - used, "%sbest over %s", used ? "; " : "",
                 over);
}

pp_status pp_heat_read(const pp_args *args, const char *text, size_t bytes, const char *file,
                       pp_picture *picture, pp_err *err)
{
    request r PP_CLEANUP(free_request) = { .picture = picture };
    if (picture->cell_count)
        return pp_err_set(
            err, PP_USAGE, file,
            "a picture shows one sweep; merge the files of one sweep with 'ppsim sweep --merge'");
    pp_status status = read_lines(text, bytes, file, &r, err);
    if (status || (status = read_where(args, &r, err)) || (status = choose_axes(args, &r, err)) ||
        (status = choose_metric(args, &r, err)) || (status = add_ticks(&r, r.x, false, err)) ||
        (status = add_ticks(&r, r.y, true, err)))
        return status;
    add_names(&r);
    return add_cells(&r, err);
}
