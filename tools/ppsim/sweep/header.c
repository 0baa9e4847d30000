/* Writes and checks the header line of a sweep's file. It holds the grid and the hashes of the
 * files that values name, so that a sweep is only continued or merged with itself. */
#include "tools/ppsim/sweep/header.h"

#include "sim/base/alloc.h"
#include "sim/schedule/registry.h"
#include "sim/schedule/schedule.h"
#include "tools/ppsim/sweep/seal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const header_keys[] = { "format", "version", "study", "grid",        "inputs",
                                           "points", "ppsim",   "shard", PP_SWEEP_SEAL, NULL };

/* Returns whether this value of the axis names a file, and its kind. */
static bool names_file(const pp_axis *axis, const char *value, pp_input_kind *kind)
{
    static const struct {
        const char *option;
        pp_input_kind kind;
    } rows[] = { { "--model", PP_INPUT_MODEL },     { "--hw", PP_INPUT_HARDWARE },
                 { "--lengths", PP_INPUT_LENGTHS }, { "--profile", PP_INPUT_PROFILE },
                 { "--stack", PP_INPUT_STACK },     { "--costs-file", PP_INPUT_OTHER },
                 { "--moe-tokens", PP_INPUT_OTHER } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        *kind = rows[i].kind;
        if (strcmp(axis->option->name, rows[i].option) == 0)
            return true;
    }
    *kind = PP_INPUT_PROFILE;
    if (strcmp(axis->option->name, "--overlap-slowdown") == 0)
        return !strchr(value, '=');
    *kind = PP_INPUT_OTHER;
    return strcmp(axis->option->name, "--schedule") == 0 && strpbrk(value, "./") &&
           !pp_schedule_find(value);
}

static pp_status print_contents(const pp_grid *grid, const pp_inputs *inputs, char **text_out,
                                pp_err *err)
{
    pp_json_build build = { 0 };
    pp_json *object PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    size_t bytes = 0;
    pp_input_kind kind;
    for (size_t i = 0; i < grid->axes; i++) {
        for (size_t k = 0; k < grid->axis[i].count; k++) {
            const char *value = grid->axis[i].value[k];
            char hash[20];
            if (!names_file(&grid->axis[i], value, &kind))
                continue;
            pp_text name PP_CLEANUP(pp_text_free) = { 0 };
            pp_text_add(&name, "%s=%s", pp_axis_name(&grid->axis[i]),
                        pp_axis_value(&grid->axis[i], k));
            snprintf(hash, sizeof hash, "%016" PRIx64,
                     pp_inputs_find(inputs, kind, value)->content);
            build.failed = build.failed || name.failed;
            if (!name.failed)
                pp_json_put_text(&build, object, name.data, hash);
        }
    }
    return pp_json_print_line(&build, object, text_out, &bytes, err);
}

pp_status pp_sweep_load(pp_sweep *sweep, pp_err *err)
{
    const pp_grid *grid = &sweep->grid;
    pp_input_kind kind;
    for (size_t i = 0; i < grid->axes; i++) {
        for (size_t k = 0; k < grid->axis[i].count; k++) {
            const char *value = grid->axis[i].value[k];
            pp_status status = names_file(&grid->axis[i], value, &kind)
                                   ? pp_inputs_add(&sweep->inputs, kind, value, err)
                                   : PP_OK;
            if (status)
                return status;
        }
    }
    snprintf(sweep->version, sizeof sweep->version, "%s", PPSIM_VERSION);
    return print_contents(grid, &sweep->inputs, &sweep->contents, err);
}

pp_status pp_sweep_header(const pp_sweep *sweep, char **text_out, size_t *bytes_out, pp_err *err)
{
    pp_json_build build = { 0 };
    pp_json *root PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    pp_json *contents = NULL;
    pp_status status =
        pp_json_parse(sweep->contents, strlen(sweep->contents), "inputs", &contents, err);
    if (status)
        return status;
    pp_json_put(&build, root, "inputs", contents);
    pp_json_put_text(&build, root, "format", PP_SWEEP_FORMAT);
    pp_json_put_int(&build, root, "version", PP_SWEEP_VERSION);
    pp_json_put_text(&build, root, "ppsim", sweep->version);
    pp_json_put_int(&build, root, "points", sweep->grid.points);
    pp_grid_write(&sweep->grid, &build, root);
    if (sweep->shards > 1) {
        char shard[32];
        snprintf(shard, sizeof shard, "%" PRIu32 "/%" PRIu32, sweep->shard, sweep->shards);
        pp_json_put_text(&build, root, "shard", shard);
    }
    status = pp_json_print_line(&build, root, text_out, bytes_out, err);
    return status ? status : pp_sweep_seal(text_out, bytes_out, err);
}

static pp_status read_contents(const pp_json_at *header, char **text_out, pp_err *err)
{
    pp_json_at at;
    size_t bytes = 0;
    const pp_json_build build = { 0 };
    pp_status status = pp_json_get(header, "inputs", &at, err);
    if (!status && pp_json_kind_at(&at) != PP_JSON_OBJECT)
        return pp_json_fail(&at, err, "must be an object");
    return status ? status : pp_json_print_line(&build, at.value, text_out, &bytes, err);
}

pp_status pp_sweep_from_header(const pp_json_at *header, pp_sweep *sweep, pp_err *err)
{
    int64_t points = 0;
    sweep->shards = 1;
    pp_status status = pp_grid_read_json(header, &sweep->grid, err);
    if (status || (status = pp_json_only(header, header_keys, err)) ||
        (status = pp_json_get_name(header, "ppsim", sweep->version, sizeof sweep->version, err)) ||
        (status = pp_json_get_int(header, "points", 1, PP_SWEEP_POINTS_MAX, &points, err)))
        return status;
    if (points != sweep->grid.points)
        return pp_json_fail(header, err, "has a grid of %" PRIu32 " points, and says %" PRId64,
                            sweep->grid.points, points);
    return read_contents(header, &sweep->contents, err);
}

static void join(const pp_axis *axis, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; axis && i < axis->count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "," : "",
                                 pp_axis_value(axis, i));
}

static bool same_axis(const pp_axis *a, const pp_axis *b)
{
    bool same = a->option == b->option && a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = strcmp(pp_axis_value(a, i), pp_axis_value(b, i)) == 0;
    return same;
}

/* Checks that two grids, whose axes are sorted by name, are equal. */
static pp_status same_grid(const pp_grid *mine, const pp_grid *other, const char *path, pp_err *err)
{
    size_t i = 0;
    char here[100];
    char there[100];
    if (mine->study != other->study)
        return pp_err_set(err, PP_INPUT, path,
                          "holds points of %s, not of %s; name another file with -o",
                          other->study->name, mine->study->name);
    while (i < mine->axes && i < other->axes && same_axis(&mine->axis[i], &other->axis[i]))
        i++;
    if (i == mine->axes && i == other->axes)
        return PP_OK;
    const pp_axis *a = i < mine->axes ? &mine->axis[i] : NULL;
    const pp_axis *b = i < other->axes ? &other->axis[i] : NULL;
    int order = !a ? 1 : !b ? -1 : strcmp(a->option->name, b->option->name);
    join(order <= 0 ? a : NULL, here, sizeof here);
    join(order >= 0 ? b : NULL, there, sizeof there);
    return pp_err_set(err, PP_INPUT, path,
                      "holds another sweep: %s is %s%s%s there and %s%s%s here; name another file "
                      "with -o, or repeat the same sweep",
                      (order <= 0 ? a : b)->option->name, there[0] ? "'" : "",
                      there[0] ? there : "not given", there[0] ? "'" : "", here[0] ? "'" : "",
                      here[0] ? here : "not given", here[0] ? "'" : "");
}

pp_status pp_sweep_same(const pp_sweep *sweep, const pp_json_at *header, bool any_shard,
                        pp_err *err)
{
    pp_sweep other PP_CLEANUP(pp_sweep_free) = { 0 };
    char shard[32];
    const char *has = "";
    snprintf(shard, sizeof shard, "%" PRIu32 "/%" PRIu32, sweep->shard, sweep->shards);
    pp_status status = pp_sweep_from_header(header, &other, err);
    if (!status && pp_json_has(header, "shard"))
        status = pp_json_get_text(header, "shard", &has, err);
    if (status || (status = same_grid(&sweep->grid, &other.grid, header->file, err)))
        return status;
    if (strcmp(sweep->contents, other.contents) != 0)
        return pp_err_set(err, PP_INPUT, header->file,
                          "was made before a model, hardware, lengths, profile, stack or costs "
                          "file changed; name another file with -o");
    if (strcmp(sweep->version, other.version) != 0)
        return pp_err_set(err, PP_INPUT, header->file,
                          "was made by ppsim %s, but this is %s; name another file with -o",
                          other.version, sweep->version);
    if (!any_shard && strcmp(has, sweep->shards > 1 ? shard : "") != 0)
        return pp_err_set(
            err, PP_INPUT, header->file, "holds %s%s, not %s%s; name another file with -o",
            has[0] ? "shard " : "the whole sweep", has,
            sweep->shards > 1 ? "shard " : "the whole sweep", sweep->shards > 1 ? shard : "");
    return PP_OK;
}

void pp_sweep_free(pp_sweep *sweep)
{
    pp_grid_free(&sweep->grid);
    pp_inputs_free(&sweep->inputs);
    free(sweep->contents);
    sweep->contents = NULL;
}
