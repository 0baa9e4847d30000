/* Makes the points of a sweep: every combination of the values of its axes. A point is a number in
 * the mixed radix of its axes, so that no list of points is kept. */
#include "tools/ppsim/sweep/grid.h"

#include "sim/base/alloc.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/sweep/header.h"
#include "tools/ppsim/sweep/study.h"
#include "traces/read/gzip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Refuses options that write further files, that give answers other than single numbers, or that do
 * not fit the study. */
static pp_status refuse_products(const pp_command *study, const pp_option *option, pp_err *err)
{
    static const char *const products[] = { "--emit",     "--trace",   "--candidates",
                                            "--instance", "--threads", "--worst",
                                            "--columns",  "--jitter",  "--sensitivity",
                                            "--ranks" };
    static const char *const of_plans[] = { "--profile", "--profile-only", "--profile-layers",
                                            "--recost",  "--model",        "--hw" };
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        if (strcmp(option->name, products[i]) == 0)
            return pp_err_set(err, PP_USAGE, option->name,
                              "cannot be used in a sweep; remove it, and use it with the command "
                              "and options of a single point");
    }
    for (size_t i = 0; study == &pp_sweep_simulate && i < sizeof of_plans / sizeof of_plans[0];
         i++) {
        if (strcmp(option->name, of_plans[i]) == 0)
            return pp_err_set(err, PP_USAGE, option->name,
                              "applies to a plan file, but a sweep of simulate reads none; use "
                              "--study plan, whose points are plans");
    }
    return PP_OK;
}

/* Finds or adds the axis of an option. `name` has its dashes and may be an alias. */
static pp_status find_axis(pp_grid *grid, const char *name, size_t *at_out, pp_err *err)
{
    const pp_option *option = pp_option_find(grid->study->options, name, strlen(name));
    if (!option)
        return pp_err_set(
            err, PP_USAGE, name,
            "is not an option of %s, which computes the points; see 'ppsim %s --help', or "
            "choose another --study",
            grid->study->name, grid->study->name);
    pp_status status = refuse_products(grid->study, option, err);
    for (size_t i = 0; i < grid->axes && !status; i++) {
        if (grid->axis[i].option == option) {
            *at_out = i;
            return PP_OK;
        }
    }
    void *grown = grid->axis;
    if (status ||
        (status = pp_grow(&grown, &grid->capacity, grid->axes + 1, sizeof *grid->axis, err)))
        return status;
    grid->axis = grown;
    *at_out = grid->axes;
    grid->axis[grid->axes++].option = option;
    return PP_OK;
}

static pp_status add_values(pp_grid *grid, const char *name, const char *text, pp_err *err)
{
    size_t at = 0;
    pp_status status = find_axis(grid, name, &at, err);
    if (status)
        return status;
    pp_axis *axis = &grid->axis[at];
    if (!axis->option->argument && text && strcmp(text, "on") != 0)
        return pp_err_set(err, PP_USAGE, axis->option->name, "is a flag; its only value is on");
    size_t before = axis->count;
    status = pp_axis_add(axis, text ? text : "on", err);
    for (size_t i = before; i < axis->count && !status; i++) {
        size_t bytes = strlen(axis->value[i]);
        if (strcmp(axis->option->name, "--budget") == 0 &&
            (bytes < 3 || strcmp(axis->value[i] + bytes - 2, "it") != 0))
            status = pp_err_set(err, PP_USAGE, "--budget",
                                "'%.64s' is a time, which makes results depend on the machine; "
                                "give a number of iterations, such as 20000it",
                                axis->value[i]);
    }
    return status;
}

static int compare_axes(const void *left, const void *right)
{
    const pp_axis *a = left;
    const pp_axis *b = right;
    return strcmp(a->option->name, b->option->name);
}

static pp_status finish(pp_grid *grid, pp_err *err)
{
    uint64_t points = 1;
    if (grid->axes == 0)
        return pp_err_set(err, PP_USAGE, NULL,
                          "there is nothing to sweep; give options of %s with lists of values, for "
                          "example --pp 4,8,16",
                          grid->study->name);
    qsort(grid->axis, grid->axes, sizeof *grid->axis, compare_axes);
    for (size_t i = 0; i < grid->axes; i++) {
        pp_axis *axis = &grid->axis[i];
        pp_status status = pp_axis_sort(axis, err);
        if (status)
            return status;
        if (axis->count == 0)
            return pp_err_set(err, PP_USAGE, axis->option->name,
                              "has no value; add one, or remove the option");
        points *= axis->count;
        if (points > PP_SWEEP_POINTS_MAX)
            return pp_err_set(
                err, PP_USAGE, axis->option->name,
                "makes more than %d points; give shorter lists, or divide the sweep into several",
                PP_SWEEP_POINTS_MAX);
    }
    grid->points = (uint32_t)points;
    return PP_OK;
}

/* Adds the values of a text, a whole number, or an array of these. */
static pp_status read_values(const pp_json_at *at, pp_grid *grid, const char *name, pp_err *err)
{
    char number[32];
    const char *text = number;
    int64_t value = 0;
    pp_err inner = pp_err_like(err);
    if (pp_json_kind_at(at) == PP_JSON_ARRAY) {
        size_t count = 0;
        pp_status status = pp_json_count(at, &count, err);
        for (size_t i = 0; i < count && !status; i++) {
            pp_json_at item;
            status = pp_json_item(at, i, &item, err);
            if (!status && pp_json_kind_at(&item) == PP_JSON_ARRAY)
                return pp_json_fail(&item, err, "must be one value");
            if (!status)
                status = read_values(&item, grid, name, err);
        }
        return status;
    }
    pp_status status = PP_OK;
    if (pp_json_kind_at(at) == PP_JSON_INT) {
        status = pp_json_read_int(at, 0, INT64_MAX, &value, err);
        snprintf(number, sizeof number, "%lld", (long long)value);
    } else {
        status = pp_json_read_text(at, &text, err);
    }
    if (!status && add_values(grid, name, text, &inner))
        return inner.status == PP_USAGE
                   ? pp_json_fail(at, err, "%s", inner.text)
                   : pp_err_set(err, inner.status, inner.where, "%s", inner.text);
    return status;
}

static pp_status read_axes(const pp_json_at *root, pp_grid *grid, pp_err *err)
{
    pp_json_at axes;
    pp_json_at at;
    pp_status status = pp_json_get(root, "grid", &axes, err);
    if (!status && pp_json_kind_at(&axes) != PP_JSON_OBJECT)
        return pp_json_fail(&axes, err, "must be an object of options and their values");
    for (size_t i = 0; !status && pp_json_member(&axes, i, &at); i++) {
        char name[64];
        snprintf(name, sizeof name, "--%.60s", at.key);
        status = read_values(&at, grid, name, err);
    }
    return status;
}

static pp_status read_study(const pp_json_at *root, pp_grid *grid, pp_err *err)
{
    const char *name = NULL;
    pp_json_at at;
    pp_status status = pp_json_get(root, "study", &at, err);
    if (status || (status = pp_json_read_text(&at, &name, err)))
        return status;
    grid->study = pp_sweep_study(name);
    return grid->study ? PP_OK : pp_json_fail(&at, err, "must be plan or simulate");
}

pp_status pp_grid_read_json(const pp_json_at *root, pp_grid *grid_out, pp_err *err)
{
    pp_grid grid PP_CLEANUP(pp_grid_free) = { 0 };
    pp_err inner = pp_err_like(err);
    pp_status status = pp_json_check_format(root, PP_SWEEP_FORMAT, PP_SWEEP_VERSION, err);
    if (status || (status = read_study(root, &grid, err)) || (status = read_axes(root, &grid, err)))
        return status;
    if (finish(&grid, &inner))
        return pp_err_set(err, inner.status == PP_USAGE ? PP_INPUT : inner.status, root->file,
                          "%s%s%s", inner.where, inner.where[0] ? ": " : "", inner.text);
    *grid_out = grid;
    grid = (pp_grid){ 0 }; /* the caller owns it now */
    return PP_OK;
}

static pp_status read_file(const char *path, pp_grid *grid, pp_err *err)
{
    static const char *const keys[] = { "format", "version", "study", "grid", NULL };
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_status status = pp_gzip_json(path, &json, err);
    if (status)
        return status;
    pp_json_at root = pp_json_root(json, path);
    if ((status = pp_json_only(&root, keys, err)))
        return status;
    return pp_grid_read_json(&root, grid, err);
}

/* Adds the options of the command line as axes. An option that the file of --grid already has is
 * refused. */
static pp_status read_options(const pp_args *args, const pp_option *own, pp_grid *grid, pp_err *err)
{
    const char *value = NULL;
    const pp_option *given;
    size_t in_file = grid->axes;
    pp_status status = PP_OK;
    for (size_t i = 0; !status && (given = pp_args_given(args, i, &value)); i++) {
        if (pp_option_find(own, given->name, strlen(given->name)) ||
            strcmp(given->name, "--json") == 0 || strcmp(given->name, "-o") == 0)
            continue;
        for (size_t k = 0; k < in_file; k++) {
            if (strcmp(grid->axis[k].option->name, given->name) == 0)
                return pp_err_set(err, PP_USAGE, given->name,
                                  "is already in the file of --grid; remove one of the two");
        }
        status = add_values(grid, given->name, value, err);
    }
    return status;
}

pp_status pp_grid_read(const pp_args *args, const pp_option *own, pp_grid *grid_out, pp_err *err)
{
    pp_grid grid PP_CLEANUP(pp_grid_free) = { .study = &pp_sweep_plan };
    const char *file = pp_args_text(args, "--grid");
    const char *study = pp_args_text(args, "--study");
    pp_status status = PP_OK;
    if (file && study)
        return pp_err_set(err, PP_USAGE, "--study",
                          "is already in the file of --grid; remove the option");
    if (study && !(grid.study = pp_sweep_study(study)))
        return pp_err_set(err, PP_USAGE, "--study", "'%.64s' is not one of plan, simulate", study);
    if (file)
        status = read_file(file, &grid, err);
    if (status || (status = read_options(args, own, &grid, err)) || (status = finish(&grid, err)))
        return status;
    *grid_out = grid;
    grid = (pp_grid){ 0 }; /* the caller owns it now */
    return PP_OK;
}

void pp_grid_free(pp_grid *grid)
{
    for (size_t i = 0; i < grid->axes; i++) {
        for (size_t k = 0; k < grid->axis[i].count; k++)
            free(grid->axis[i].value[k]);
        free(grid->axis[i].value);
    }
    free(grid->axis);
    *grid = (pp_grid){ 0 };
}

void pp_grid_write(const pp_grid *grid, pp_json_build *build, pp_json *root)
{
    pp_json *axes = pp_json_new_object(build);
    for (size_t i = 0; i < grid->axes; i++) {
        pp_json *values = pp_json_new_array(build);
        for (size_t k = 0; k < grid->axis[i].count; k++)
            pp_json_add_text(build, values, pp_axis_value(&grid->axis[i], k));
        pp_json_put(build, axes, pp_axis_name(&grid->axis[i]), values);
    }
    pp_json_put(build, root, "grid", axes);
    pp_json_put_text(build, root, "study", grid->study->name);
}

/* Returns which of its values an axis has at a point. */
static size_t index_of_value(const pp_grid *grid, uint32_t point, size_t axis)
{
    for (size_t i = grid->axes - 1; i > axis; i--)
        point /= (uint32_t)grid->axis[i].count;
    return point % grid->axis[axis].count;
}

const char *pp_grid_argument(const pp_grid *grid, uint32_t point, size_t axis)
{
    return grid->axis[axis].value[index_of_value(grid, point, axis)];
}

const char *pp_grid_value(const pp_grid *grid, uint32_t point, size_t axis)
{
    return pp_axis_value(&grid->axis[axis], index_of_value(grid, point, axis));
}

void pp_grid_key(const pp_grid *grid, uint32_t point, pp_text *key)
{
    for (size_t i = 0; i < grid->axes; i++)
        pp_text_add(key, "%s%s=%s", i ? " " : "", pp_axis_name(&grid->axis[i]),
                    pp_grid_value(grid, point, i));
}

void pp_grid_write_point(const pp_grid *grid, uint32_t point, pp_json_build *build, pp_json *object)
{
    pp_json *values = pp_json_new_object(build);
    pp_text key PP_CLEANUP(pp_text_free) = { 0 };
    for (size_t i = 0; i < grid->axes; i++)
        pp_json_put_text(build, values, pp_axis_name(&grid->axis[i]),
                         pp_grid_value(grid, point, i));
    pp_json_put(build, object, "point", values);
    pp_grid_key(grid, point, &key);
    pp_json_put_text(build, object, "key", key.data);
    build->failed = build->failed || key.failed;
}

static pp_status find_value(const pp_axis *axis, const pp_json_at *values, uint32_t *at_out,
                            pp_err *err)
{
    const char *text = NULL;
    pp_status status = pp_json_get_text(values, pp_axis_name(axis), &text, err);
    if (status)
        return status;
    for (size_t i = 0; i < axis->count; i++) {
        if (strcmp(pp_axis_value(axis, i), text) == 0) {
            *at_out = (uint32_t)i;
            return PP_OK;
        }
    }
    return pp_json_fail(values, err, "is no point of this grid: %s has no value '%.64s'",
                        axis->option->name, text);
}

pp_status pp_grid_find(const pp_grid *grid, const pp_json_at *at, uint32_t *point_out, pp_err *err)
{
    pp_json_at values;
    const char *key = NULL;
    uint32_t point = 0;
    pp_status status = pp_json_get(at, "point", &values, err);
    if (!status)
        status = pp_json_get_text(at, "key", &key, err);
    for (size_t i = 0; i < grid->axes && !status; i++) {
        uint32_t value = 0;
        status = find_value(&grid->axis[i], &values, &value, err);
        point = point * (uint32_t)grid->axis[i].count + value;
    }
    if (status)
        return status;
    pp_text expected PP_CLEANUP(pp_text_free) = { 0 };
    pp_grid_key(grid, point, &expected);
    if ((status = pp_text_check(&expected, err)))
        return status;
    if (strcmp(expected.data, key) != 0)
        return pp_json_fail(at, err, "\"key\" is not that of \"point\", which is '%.200s'",
                            expected.data);
    *point_out = point;
    return PP_OK;
}
