/* Loads models, hardware, profiles and lengths: by name from the data that the build embeds, or
 * from a file. */
#include "tools/ppsim/input/load.h"

#include "calib/profile/profile_read.h"
#include "calib/profile/sha256.h"
#include "sim/base/alloc.h"
#include "sim/base/synonyms.h"
#include "tools/ppsim/base/console.h"
#include "traces/read/gzip.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Finds the names that are close to `name`, which is of kind `noun`. */
static pp_text_search find_near(pp_data_kind kind, const char *noun, const char *name)
{
    pp_text_search search = pp_text_search_begin(noun, name);
    for (size_t i = 0; i < pp_data_count(kind); i++)
        pp_text_search_offer(&search, pp_data_at(kind, i)->name);
    return search;
}

static const char *const nouns[PP_DATA_KIND_COUNT] = { "model", "hardware", "profile", "stack" };
static const char *const options[PP_DATA_KIND_COUNT] = { "--model", "--hw", "--profile",
                                                         "--stack" };
static const char *const kinds[PP_DATA_KIND_COUNT] = { "models", "hardware", "profiles", "stacks" };

/* Stacks are few, and a command with one of an older version should show what there is now. */
static pp_status unknown_stack(const char *name, const char *hint, pp_err *err)
{
    pp_text names PP_CLEANUP(pp_text_free) = { 0 };
    for (size_t i = 0; i < pp_data_count(PP_DATA_STACK); i++)
        pp_text_add(&names, "%s%s", i ? ", " : "", pp_data_at(PP_DATA_STACK, i)->name);
    pp_status status = pp_text_check(&names, err);
    return status ? status
                  : pp_err_set(err, PP_USAGE, options[PP_DATA_STACK],
                               "'%.64s' is neither a file nor a known name%s%s the names are %s",
                               name, hint, pp_text_hint_end(hint), names.data);
}

static pp_status unknown_name(const char *name, pp_data_kind kind, pp_err *err)
{
    char hint[PP_TEXT_HINT_BYTES];
    const pp_text_search near = find_near(kind, nouns[kind], name);
    pp_text_search_hint(&near, hint);
    if (kind == PP_DATA_STACK)
        return unknown_stack(name, hint, err);
    return pp_err_set(err, PP_USAGE, options[kind],
                      "'%.64s' is neither a file nor a known name%s%s 'ppsim list %s' shows the "
                      "names",
                      name, hint, pp_text_hint_end(hint), kinds[kind]);
}

/* Returns whether a name refers to a file: it has a slash, contains ".json", or exists. */
static bool is_file(const char *name)
{
    return strchr(name, '/') || strstr(name, ".json") || access(name, F_OK) == 0;
}

/* Returns whether a name has the form OWNER/NAME of Hugging Face's hub, and is not a path here. */
static bool is_hub_name(const char *name)
{
    char owner[128];
    const char *slash = strchr(name, '/');
    if (!slash || slash == name || !slash[1] || strchr(slash + 1, '/') || name[0] == '.' ||
        strstr(name, ".json") || access(name, F_OK) == 0 || slash - name >= (int)sizeof owner)
        return false;
    snprintf(owner, sizeof owner, "%.*s", (int)(slash - name), name);
    return access(owner, F_OK) != 0;
}

static pp_status refuse_hub_name(const char *name, pp_err *err)
{
    const pp_text_search near =
        find_near(PP_DATA_MODEL, nouns[PP_DATA_MODEL], strchr(name, '/') + 1);
    const bool known = near.count && near.alike;
    return pp_err_set(err, PP_USAGE, options[PP_DATA_MODEL],
                      "'%.100s' is a name on Hugging Face; download its config.json and give "
                      "--model config.json%s%.48s",
                      name, known ? ", or use --model " : "", known ? near.nearest[0] : "");
}

const pp_data_file *pp_load_alias(pp_data_kind kind, const char *name)
{
    const pp_data_file *found = NULL;
    if (pp_data_find(kind, name) || is_file(name))
        return NULL;
    for (size_t i = 0; i < pp_data_count(kind); i++) {
        const pp_data_file *file = pp_data_at(kind, i);
        if (strcasecmp(name, file->name) != 0 &&
            (kind != PP_DATA_HARDWARE || !pp_hardware_alias(name, file->name)) &&
            (kind != PP_DATA_MODEL || !pp_model_alias(name, file->name)))
            continue;
        if (found)
            return NULL; /* ambiguous: the message for unknown names shows the candidates */
        found = file;
    }
    return found;
}

pp_status pp_load_text(pp_data_kind kind, const char *name_or_file, pp_loaded_text *text_out,
                       pp_err *err)
{
    const pp_data_file *known = pp_data_find(kind, name_or_file);
    if (!known)
        known = pp_load_alias(kind, name_or_file);
    if (known) {
        *text_out = (pp_loaded_text){ known->text, known->bytes, known->name, NULL };
        return PP_OK;
    }
    if (kind == PP_DATA_MODEL && is_hub_name(name_or_file))
        return refuse_hub_name(name_or_file, err);
    if (!is_file(name_or_file))
        return unknown_name(name_or_file, kind, err);
    char *text = NULL;
    size_t bytes = 0;
    pp_status status = pp_gzip_read(name_or_file, &text, &bytes, err);
    if (!status)
        *text_out = (pp_loaded_text){ text, bytes, name_or_file, text };
    return status;
}

void pp_loaded_text_free(pp_loaded_text *text)
{
    free(text->owned);
    *text = (pp_loaded_text){ 0 };
}

pp_status pp_load_model(const char *name_or_file, pp_model *model_out, pp_err *err)
{
    pp_loaded_text text PP_CLEANUP(pp_loaded_text_free) = { 0 };
    pp_status status = pp_load_text(PP_DATA_MODEL, name_or_file, &text, err);
    if (status)
        return status;
    return pp_model_parse(text.data, text.bytes, pp_console_name(text.name), model_out, err);
}

pp_status pp_load_hardware(const char *name_or_file, pp_hardware *hardware_out, pp_err *err)
{
    pp_loaded_text text PP_CLEANUP(pp_loaded_text_free) = { 0 };
    pp_status status = pp_load_text(PP_DATA_HARDWARE, name_or_file, &text, err);
    return status ? status : pp_hardware_parse(text.data, text.bytes, text.name, hardware_out, err);
}

static pp_status read_stack(const char *name_or_file, pp_stack *stack_out, pp_err *err)
{
    pp_loaded_text text PP_CLEANUP(pp_loaded_text_free) = { 0 };
    pp_status status = pp_load_text(PP_DATA_STACK, name_or_file, &text, err);
    if (!status)
        status = pp_stack_parse(text.data, text.bytes, text.name, stack_out, err);
    if (status || !text.owned)
        return status;
    /* what is known of a stack of that name is not known of this one */
    if (strlen(name_or_file) >= sizeof stack_out->name)
        return pp_err_set(err, PP_USAGE, options[PP_DATA_STACK],
                          "the path of the file has more than %zu characters",
                          sizeof stack_out->name - 1);
    snprintf(stack_out->name, sizeof stack_out->name, "%s", name_or_file);
    pp_sha256(text.data, text.bytes, stack_out->sha256);
    return PP_OK;
}

pp_status pp_load_stack(const char *name_or_file, const pp_hardware *hardware, pp_stack *stack_out,
                        pp_err *err)
{
    pp_stack meant;
    pp_status status = read_stack(name_or_file, stack_out, err);
    if (status || !stack_out->stands_for[0])
        return status;
    const char *name = pp_stack_stands_for(stack_out, hardware);
    const pp_data_file *known = pp_data_find(PP_DATA_STACK, name);
    if (!known)
        return pp_err_set(err, PP_INPUT, name_or_file,
                          "stands_for \"%s\" is not a name from 'ppsim list stacks'", name);
    status = pp_stack_parse(known->text, known->bytes, known->name, &meant, err);
    if (status)
        return status;
    if (meant.stands_for[0])
        return pp_err_set(err, PP_INPUT, name_or_file,
                          "stands_for \"%s\" stands for another stack itself; name that one", name);
    pp_stack_resolve(&meant, stack_out);
    return PP_OK;
}

pp_status pp_load_lengths(const char *path, pp_lengths *lengths_out, pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status = pp_gzip_read(path, &text, &bytes, err);
    return status ? status : pp_lengths_parse(text, bytes, path, lengths_out, err);
}

pp_status pp_load_expert_tokens(const char *path, double capacity, pp_expert_tokens *tokens_out,
                                pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status = pp_gzip_read(path, &text, &bytes, err);
    return status ? status : pp_expert_tokens_parse(text, bytes, path, capacity, tokens_out, err);
}

pp_status pp_load_cluster(const char *name_or_file, pp_cluster *cluster_out,
                          pp_hardware *hardware_out, pp_err *err)
{
    pp_loaded_text text PP_CLEANUP(pp_loaded_text_free) = { 0 };
    pp_status status = pp_load_text(PP_DATA_HARDWARE, name_or_file, &text, err);
    if (!status)
        status = pp_cluster_parse(text.data, text.bytes, text.name, cluster_out, err);
    if (!status && !cluster_out->classes)
        status = pp_hardware_parse(text.data, text.bytes, text.name, hardware_out, err);
    for (uint32_t k = 0; !status && k < cluster_out->classes; k++) {
        char where[sizeof err->where];
        pp_err inner = pp_err_like(err);
        status = pp_load_hardware(cluster_out->class[k].hardware, &hardware_out[k], &inner);
        if (!status)
            continue;
        if (status != PP_USAGE)
            return pp_err_set(err, status, inner.where, "%s", inner.text);
        snprintf(where, sizeof where, "%.200s#/classes/%" PRIu32 "/hardware", text.name, k);
        return pp_err_set(err, PP_INPUT, where, "%s", inner.text);
    }
    return status;
}

pp_status pp_load_profile(const char *name_or_file, pp_profile **profile_out, pp_err *err)
{
    pp_loaded_text text PP_CLEANUP(pp_loaded_text_free) = { 0 };
    pp_status status = pp_load_text(PP_DATA_PROFILE, name_or_file, &text, err);
    return status ? status : pp_profile_parse(text.data, text.bytes, text.name, profile_out, err);
}
