#include "sim/alloc.h"
#include "sim/file.h"
#include "tools/tool.h"
#include "traces/data.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pp_status unknown_name(const char *name, pp_data_kind kind, const char *option,
                              const char *list, pp_err *err)
{
    size_t count = pp_data_count(kind);
    const char **names = pp_alloc_array(count + 1, sizeof *names);
    if (!names)
        return pp_err_nomem(err);
    for (size_t i = 0; i < count; i++)
        names[i] = pp_data_at(kind, i)->name;
    const char *near = pp_text_nearest(name, names);
    pp_status status =
        pp_err_set(err, PP_USAGE, option,
                   "'%.64s' is neither a file nor a known "
                   "name%s%s%s; 'ppsim list %s' shows the names",
                   name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "", list);
    free(names);
    return status;
}

/* A name with a dot that ends in .json, or with a slash, is meant as a file. */
static bool is_file(const char *name)
{
    return strchr(name, '/') || strstr(name, ".json") || access(name, F_OK) == 0;
}

typedef struct source {
    pp_data_kind kind;
    const char *option, *list;
    const char *text, *name; /* out */
    size_t bytes;
    char *held; /* owns the text of a file */
} source;

static void free_source(source *s)
{
    free(s->held);
}

static pp_status open_source(source *s, const char *name_or_file, pp_err *err)
{
    const pp_data_file *known = pp_data_find(s->kind, name_or_file);
    if (known) {
        s->text = known->text;
        s->bytes = known->bytes;
        s->name = known->name;
        return PP_OK;
    }
    if (!is_file(name_or_file))
        return unknown_name(name_or_file, s->kind, s->option, s->list, err);
    pp_status status = pp_file_read(name_or_file, &s->held, &s->bytes, err);
    s->text = s->held;
    s->name = name_or_file;
    return status;
}

pp_status pp_load_model(const char *name_or_file, pp_model *model_out, pp_err *err)
{
    source s PP_CLEANUP(
        free_source) = { .kind = PP_DATA_MODEL, .option = "--model", .list = "models" };
    pp_status status = open_source(&s, name_or_file, err);
    return status ? status : pp_model_parse(s.text, s.bytes, s.name, model_out, err);
}

pp_status pp_load_hardware(const char *name_or_file, pp_hardware *hardware_out, pp_err *err)
{
    source s PP_CLEANUP(
        free_source) = { .kind = PP_DATA_HARDWARE, .option = "--hw", .list = "hardware" };
    pp_status status = open_source(&s, name_or_file, err);
    return status ? status : pp_hardware_parse(s.text, s.bytes, s.name, hardware_out, err);
}

pp_status pp_load_profile(const char *name_or_file, pp_profile **profile_out, pp_err *err)
{
    source s PP_CLEANUP(
        free_source) = { .kind = PP_DATA_PROFILE, .option = "--profile", .list = "profiles" };
    pp_status status = open_source(&s, name_or_file, err);
    return status ? status : pp_profile_parse(s.text, s.bytes, s.name, profile_out, err);
}
