/* Reads config.json of Hugging Face transformers: finds its architecture by model_type or, in its
 * absence, by keys that only one family has, and has the family (model_hf_family_json.c) read it.
 * Models that see images keep the sizes of their text model in an object of their own,
 * "text_config"; only these are read. */
#include "sim/job/model_hf_json.h"

#include "sim/job/model_hf_family_json.h"

#include <stdio.h>
#include <string.h>

static pp_status fail_unknown(const pp_json_at *at, const char *name, pp_err *err)
{
    char known[800] = "";
    size_t used = 0;
    for (size_t i = 0; i < pp_hf_family_count() && used < sizeof known; i++) {
        int n = snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                         pp_hf_family_type(pp_hf_family_at(i)));
        used += n < 0 ? 0 : (size_t)n;
    }
    if (name)
        return pp_json_fail(at, err, "unknown architecture \"%.64s\"; known: %s", name, known);
    return pp_json_fail(at, err,
                        "is neither a model of ppsim (no \"format\") nor a known Hugging Face "
                        "config (no \"model_type\", no \"architectures\"); known: %s",
                        known);
}

static pp_status find_family(const pp_json_at *root, const pp_hf_family **out, pp_err *err)
{
    pp_json_at type = *root;
    pp_json_at list;
    const char *name = NULL;
    size_t count = 0;
    pp_status status;
    *out = NULL;
    if (pp_json_has(root, "model_type")) {
        if ((status = pp_json_get(root, "model_type", &type, err)) ||
            (status = pp_json_read_text(&type, &name, err)))
            return status;
        if ((*out = pp_hf_family_find(name)))
            return PP_OK;
    }
    if (pp_json_has(root, "architectures") &&
        ((status = pp_json_get(root, "architectures", &list, err)) ||
         (status = pp_json_count(&list, &count, err))))
        return status;
    for (size_t i = 0; i < count; i++) {
        pp_json_at item;
        const char *text;
        if ((status = pp_json_item(&list, i, &item, err)) ||
            (status = pp_json_read_text(&item, &text, err)))
            return status;
        if ((*out = pp_hf_family_find(text)))
            return PP_OK;
        if (i + 1 == count && !name)
            return fail_unknown(&item, text, err);
    }
    if (!name && (*out = pp_hf_family_of_keys(root)))
        return PP_OK;
    return fail_unknown(&type, name, err);
}

/* Names the model after the file's stem, or, for config.json, after its folder. */
static void name_after_file(const char *file, char *name, size_t size)
{
    const char *end = file + strlen(file);
    const char *start = end;
    while (start > file && start[-1] != '/')
        start--;
    if (strcmp(start, "config.json") == 0 && start > file + 1) {
        end = --start;
        while (start > file && start[-1] != '/')
            start--;
    } else if (end - start > 5 && strcmp(end - 5, ".json") == 0) {
        end -= 5;
    }
    snprintf(name, size, "%.*s", (int)(end - start > 63 ? 63 : end - start), start);
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        snprintf(name, size, "model");
}

/* Finds the object with the sizes of the text model, if the root is not that itself. */
static pp_status find_text(const pp_json_at *root, pp_json_at *text_out, bool *found_out,
                           pp_err *err)
{
    *found_out = pp_json_has(root, "text_config");
    if (!*found_out)
        return PP_OK;
    pp_status status = pp_json_get(root, "text_config", text_out, err);
    return status || pp_json_kind_at(text_out) == PP_JSON_OBJECT
               ? status
               : pp_json_fail(text_out, err, "must be an object");
}

pp_status pp_model_read_hf(const pp_json_at *root, const char *file, pp_model *model_out,
                           pp_err *err)
{
    const pp_hf_family *family;
    pp_model m = { 0 };
    pp_json_at text;
    bool nested;
    bool tied;
    pp_status status = find_family(root, &family, err);
    if (status || (status = find_text(root, &text, &nested, err)))
        return status;
    const char *type = pp_hf_family_type(family);
    pp_hf_file keys = { .root = nested ? &text : root };
    if ((status = pp_hf_family_read(family, &keys, &m, err)) ||
        (status = pp_hf_check_keys(&keys, type, m.not_understood, sizeof m.not_understood, err)))
        return status;
    if (nested && pp_json_has(root, "tie_word_embeddings")) { /* that of the whole decides */
        if ((status = pp_json_get_bool(root, "tie_word_embeddings", &tied, err)))
            return status;
        m.tied_embeddings = tied;
    }
    m.text_part = nested || pp_json_has(root, "vision_config");
    name_after_file(file, m.name, sizeof m.name);
    snprintf(m.summary, sizeof m.summary, "Hugging Face config.json, model_type %s%s", type,
             m.text_part ? ", its text part" : "");
    *model_out = m;
    return PP_OK;
}
