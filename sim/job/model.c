/* Reads ppsim.model files, and passes Hugging Face files, which have no "format", to
 * model_hf_json.c. */
#include "sim/job/model.h"

#include "sim/base/alloc.h"
#include "sim/job/model_hf_json.h"
#include "sim/job/model_json_check.h"
#include "sim/job/model_layers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "ppsim.model"
#define VERSION 1

typedef struct int_field {
    const char *key;
    size_t offset;
    int64_t low, high;
    bool required;
} int_field;

typedef struct bool_field {
    const char *key;
    size_t offset;
    bool required;
} bool_field;

#define SIZE(field, least, most, needed)                                                \
    {                                                                                   \
        .key = #field, .offset = offsetof(pp_model, field), .low = least, .high = most, \
        .required = needed                                                              \
    }
#define FLAG(field, needed)                                                    \
    {                                                                          \
        .key = #field, .offset = offsetof(pp_model, field), .required = needed \
    }

static const int_field int_fields[] = {
    SIZE(layers, 1, PP_MODEL_LAYERS_MAX, true),
    SIZE(hidden, 1, PP_MODEL_SIZE_MAX, true),
    SIZE(heads, 1, PP_MODEL_SIZE_MAX, true),
    SIZE(kv_heads, 1, PP_MODEL_SIZE_MAX, false),
    SIZE(head_dim, 1, PP_MODEL_SIZE_MAX, false),
    SIZE(ffn, 1, PP_MODEL_SIZE_MAX, false),
    SIZE(vocab, 0, PP_MODEL_SIZE_MAX, true),
    SIZE(max_seq_length, 1, PP_MODEL_SEQ_MAX, true),
    SIZE(sliding_window, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(experts, 0, PP_MODEL_EXPERTS_MAX, false),
    SIZE(experts_per_token, 0, PP_MODEL_EXPERTS_MAX, false),
    SIZE(expert_groups, 0, PP_MODEL_GROUPS_MAX, false),
    SIZE(groups_per_token, 0, PP_MODEL_GROUPS_MAX, false),
    SIZE(expert_ffn, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(shared_ffn, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(dense_layers, 0, PP_MODEL_LAYERS_MAX, false),
    SIZE(q_lora_rank, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(kv_lora_rank, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(qk_nope_head_dim, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(qk_rope_head_dim, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(v_head_dim, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(mtp_layers, 0, PP_MODEL_MTP_MAX, false),
    SIZE(norms, 0, 8, false),
    SIZE(attention_chunk, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(index_heads, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(index_head_dim, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(index_topk, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(scan_heads, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(scan_groups, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(scan_key_dim, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(scan_value_dim, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(scan_conv, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(scan_chunk, 0, PP_MODEL_SIZE_MAX, false),
    SIZE(released, 0, 999912, false),
};

static const bool_field bool_fields[] = {
    FLAG(gated_mlp, true),       FLAG(rms_norm, true),          FLAG(linear_bias, true),
    FLAG(tied_embeddings, true), FLAG(learned_positions, true), FLAG(dropout, true),
    FLAG(qkv_bias, false),       FLAG(out_bias, false),         FLAG(qk_norm, false),
    FLAG(router_bias, false),    FLAG(qk_norm_wide, false),     FLAG(sinks, false),
    FLAG(attention_gate, false), FLAG(parallel_block, false),   FLAG(head_bias, false),
    FLAG(embedding_norm, false), FLAG(shared_gate, false),      FLAG(scan_conv_bias, false),
    FLAG(scan_norm, false),      FLAG(text_part, false),
};

#define INT_FIELDS (sizeof int_fields / sizeof int_fields[0])
#define BOOL_FIELDS (sizeof bool_fields / sizeof bool_fields[0])
#define OTHER_KEYS 7

static int64_t *int_of(pp_model *model, size_t i)
{
    return (int64_t *)(void *)((char *)model + int_fields[i].offset);
}

static bool *bool_of(pp_model *model, size_t i)
{
    return (bool *)(void *)((char *)model + bool_fields[i].offset);
}

/* ---- ppsim.model ---------------------------------------------------------------------------- */

static pp_status check_keys(const pp_json_at *root, pp_err *err)
{
    const char *keys[INT_FIELDS + BOOL_FIELDS + OTHER_KEYS + 1] = {
        "format", "version", "name", "summary", "source", "attention", "layer_types",
    };
    size_t n = OTHER_KEYS;
    for (size_t i = 0; i < INT_FIELDS; i++)
        keys[n++] = int_fields[i].key;
    for (size_t i = 0; i < BOOL_FIELDS; i++)
        keys[n++] = bool_fields[i].key;
    return pp_json_only(root, keys, err);
}

/* Checks "source": a text for all numbers, or an object with a text per key. */
static pp_status check_source(const pp_json_at *root, pp_err *err)
{
    pp_json_at source;
    const char *text;
    if (!pp_json_has(root, "source"))
        return PP_OK;
    pp_status status = pp_json_get(root, "source", &source, err);
    if (status)
        return status;
    if (pp_json_kind_at(&source) != PP_JSON_OBJECT) {
        if ((status = pp_json_read_text(&source, &text, err)))
            return status;
        return *text ? PP_OK : pp_json_fail(&source, err, "must name the source of the numbers");
    }
    const char *keys[INT_FIELDS + BOOL_FIELDS + 3] = { "attention", "layer_types" };
    size_t n = 2;
    for (size_t i = 0; i < INT_FIELDS; i++)
        keys[n++] = int_fields[i].key;
    for (size_t i = 0; i < BOOL_FIELDS; i++)
        keys[n++] = bool_fields[i].key;
    status = pp_json_only(&source, keys, err);
    for (size_t i = 0; !status && i < n; i++) {
        if (pp_json_has(&source, keys[i]))
            status = pp_json_get_text(&source, keys[i], &text, err);
    }
    return status;
}

static pp_status read_texts(const pp_json_at *root, pp_model *m, pp_err *err)
{
    pp_status status = pp_json_get_name(root, "name", m->name, sizeof m->name, err);
    if (status)
        return status;
    if (!*m->name)
        return pp_model_fail(root, "name", err, "must not be empty");
    if (pp_json_has(root, "summary") &&
        (status = pp_json_get_name(root, "summary", m->summary, sizeof m->summary, err)))
        return status;
    if (!pp_json_has(root, "attention"))
        return PP_OK;
    const char *attention;
    if ((status = pp_json_get_text(root, "attention", &attention, err)))
        return status;
    if (strcmp(attention, "mla") == 0)
        m->attention = PP_ATTENTION_MLA;
    else if (strcmp(attention, "gqa") != 0)
        return pp_model_fail(root, "attention", err, "must be \"gqa\" or \"mla\"");
    return PP_OK;
}

/* Reads a type as "mixer+mlp". */
static pp_status read_type(const pp_json_at *at, pp_layer_type *type_out, pp_err *err)
{
    static const char *const mixers[] = { "full",  "window",    "chunk",  "delta",
                                          "mamba", "lightning", "hybrid", "none" };
    static const char *const mlps[] = { "mlp", "moe", "none" };
    const char *text;
    pp_status status = pp_json_read_text(at, &text, err);
    if (status)
        return status;
    const size_t length = strcspn(text, "+");
    for (uint8_t i = 0; i < sizeof mixers / sizeof *mixers && text[length]; i++) {
        for (uint8_t k = 0; k < sizeof mlps / sizeof *mlps; k++) {
            if (strlen(mixers[i]) == length && strncmp(text, mixers[i], length) == 0 &&
                strcmp(text + length + 1, mlps[k]) == 0) {
                *type_out = (pp_layer_type){ .mixer = i, .mlp = k };
                return PP_OK;
            }
        }
    }
    return pp_json_fail(at, err,
                        "must be one of full, window, chunk, delta, mamba, lightning, hybrid and "
                        "none, then + and one of mlp, moe and none, such as \"full+moe\"");
}

static void free_types(pp_layer_type **types)
{
    free(*types);
}

/* Reads the types of the first layers, which repeat until the last layer. */
static pp_status read_layer_types(const pp_json_at *root, pp_model *m, pp_err *err)
{
    pp_json_at list, item;
    size_t count = 0;
    pp_layer_type *types PP_CLEANUP(free_types) = NULL;
    if (!pp_json_has(root, "layer_types"))
        return PP_OK;
    pp_status status = pp_json_get(root, "layer_types", &list, err);
    if (status || (status = pp_json_count(&list, &count, err)))
        return status;
    if (count < 1 || (int64_t)count > m->layers)
        return pp_json_fail(&list, err,
                            "must have from 1 to %" PRId64 " (the number of layers) entries",
                            m->layers);
    if (m->dense_layers)
        return pp_model_fail(root, "dense_layers", err,
                             "must not be given beside layer_types, which says it");
    if (!(types = pp_alloc_array((size_t)m->layers, sizeof *types)))
        return pp_err_nomem(err);
    for (size_t i = 0; i < (size_t)m->layers && !status; i++) {
        if (i >= count)
            types[i] = types[i - count];
        else if (!(status = pp_json_item(&list, i, &item, err)))
            status = read_type(&item, &types[i], err);
    }
    const char *wrong = status ? NULL : pp_model_set_layers(m, types);
    return wrong ? pp_json_fail(&list, err, "%s", wrong) : status;
}

static pp_status read_own(const pp_json_at *root, pp_model *model_out, pp_err *err)
{
    static const pp_model_keys keys = {
        .hidden = "hidden",
        .heads = "heads",
        .kv_heads = "kv_heads",
        .head_dim = "head_dim",
        .ffn = "ffn",
        .experts = "experts",
        .experts_per_token = "experts_per_token",
        .expert_groups = "expert_groups",
        .groups_per_token = "groups_per_token",
        .expert_ffn = "expert_ffn",
        .dense_layers = "dense_layers",
        .kv_lora_rank = "kv_lora_rank",
        .mtp_layers = "mtp_layers",
        .layer_types = "layer_types",
        .scan_groups = "scan_groups",
    };
    pp_model m = { .no_source_given = !pp_json_has(root, "source") };
    pp_status status = pp_json_check_format(root, FORMAT, VERSION, err);
    if (status || (status = check_keys(root, err)) || (status = check_source(root, err)) ||
        (status = read_texts(root, &m, err)))
        return status;
    for (size_t i = 0; i < INT_FIELDS; i++) {
        const int_field *f = &int_fields[i];
        if ((f->required || pp_json_has(root, f->key)) &&
            (status = pp_json_get_int(root, f->key, f->low, f->high, int_of(&m, i), err)))
            return status;
    }
    for (size_t i = 0; i < BOOL_FIELDS; i++) {
        const bool_field *f = &bool_fields[i];
        if ((f->required || pp_json_has(root, f->key)) &&
            (status = pp_json_get_bool(root, f->key, bool_of(&m, i), err)))
            return status;
    }
    if ((status = read_layer_types(root, &m, err)) ||
        (status = pp_model_complete(root, &keys, &m, err)))
        return status;
    *model_out = m;
    return PP_OK;
}

static void free_json(pp_json **json)
{
    pp_json_free(json);
}

pp_status pp_model_parse(const char *text, size_t bytes, const char *file, pp_model *model_out,
                         pp_err *err)
{
    pp_json *json PP_CLEANUP(free_json) = NULL;
    pp_status status = pp_json_parse(text, bytes, file, &json, err);
    if (status)
        return status;
    pp_json_at root = pp_json_root(json, file);
    if (pp_json_kind_at(&root) != PP_JSON_OBJECT)
        return pp_json_fail(&root, err, "a model must be an object");
    if (pp_json_has(&root, "format"))
        return read_own(&root, model_out, err);
    return pp_model_read_hf(&root, file, model_out, err);
}
