/* Configurations of Hugging Face have the parameters that transformers counts, and layers of the
 * right types; damaged ones are refused at the damaged key. */
#include "sim/base/file.h"
#include "sim/base/text.h"
#include "sim/job/model.h"

#include <check.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIGS PPSIM_SOURCE_DIR "/tests/data/models/"
#define CONFIGS_MIN 45

static char *read_text(const char *name, const char *end)
{
    char path[512];
    char *text = NULL;
    size_t bytes;
    pp_err err = { 0 };
    snprintf(path, sizeof path, "%s%s%s", CONFIGS, name, end);
    ck_assert_msg(pp_file_read(path, &text, &bytes, &err) == PP_OK, "%s: %s", err.where, err.text);
    return text;
}

static pp_model parsed(const char *text, const char *file)
{
    pp_model model;
    pp_err err = { 0 };
    ck_assert_msg(pp_model_parse(text, strlen(text), file, &model, &err) == PP_OK, "%s: %s",
                  err.where, err.text);
    return model;
}

static pp_model config(const char *name)
{
    char *text PP_CLEANUP(pp_free_text) = read_text(name, ".json");
    return parsed(text, name);
}

/* Calls `each` with the name and the number of parameters of every row of the table. */
static int for_each_config(void (*each)(const char *name, int64_t parameters))
{
    char *table PP_CLEANUP(pp_free_text) = read_text("parameters", ".tsv");
    char *rest = NULL;
    int rows = 0;
    for (char *line = strtok_r(table, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char name[64];
        int64_t parameters;
        if (*line == '#')
            continue;
        ck_assert_int_eq(sscanf(line, "%63[^\t]\t%" SCNd64, name, &parameters), 2);
        each(name, parameters);
        rows++;
    }
    return rows;
}

static void expect_parameters(const char *name, int64_t parameters)
{
    const pp_model m = config(name);
    ck_assert_msg(pp_model_parameters(&m) == parameters, "%s: %" PRId64 ", not %" PRId64, name,
                  pp_model_parameters(&m), parameters);
    ck_assert_msg(!*m.not_understood, "%s: %s", name, m.not_understood);
}

START_TEST(configurations_have_the_parameters_of_the_modules_of_transformers)
{
    ck_assert_int_ge(for_each_config(expect_parameters), CONFIGS_MIN);
}
END_TEST

/* The totals that the makers publish, in billions to the last digit given there: the model cards on
 * Hugging Face, for Llama 4 without its vision encoder. */
static const struct {
    const char *name;
    double billions, step;
} published[] = {
    { "qwen3-8b", 8.2, 0.1 },       { "qwen3-32b", 32.8, 0.1 },
    { "qwen3-30b-a3b", 30.5, 0.1 }, { "qwen3-235b-a22b", 235, 1 },
    { "gpt-oss-20b", 20.9, 0.1 },   { "gpt-oss-120b", 116.8, 0.1 },
    { "deepseek-v3", 671, 1 },      { "kimi-k2", 1026, 1 },
    { "llama4-maverick", 400, 1 },  { "bloom-176b", 176.247, 0.001 },
    { "phi-4", 14.7, 0.1 },         { "minimax-text-01", 456, 1 },
    { "smollm3-3b", 3.08, 0.01 },   { "nemotron-3-nano-30b-a3b", 31.6, 0.1 },
};

START_TEST(totals_are_those_that_the_makers_publish)
{
    const pp_model m = config(published[_i].name);
    ck_assert_double_eq_tol((double)pp_model_parameters(&m) * 1e-9, published[_i].billions,
                            published[_i].step * 0.8);
}
END_TEST

/* GLM-4.5 has one module: its layer 92 (modeling of vLLM, glm4_moe_mtp.py): two norms, a projection
 * of 2h to h, a layer with experts, and a norm. */
START_TEST(mtp_modules_are_counted_apart)
{
    const int64_t h = 5120, heads = 96 * 128, kv = 8 * 128, expert = 3 * h * 1536;
    const int64_t attention = h * (heads + 2 * kv) + heads + 2 * kv + heads * h + 2 * 128;
    const int64_t layer = 2 * h + attention + 161 * expert + 160 * h + 160;
    const pp_model m = config("glm-4.5");
    ck_assert_int_eq(pp_model_mtp_parameters(&m), 2 * h * h + 3 * h + layer);
}
END_TEST

/* ---- types of layers ------------------------------------------------------------------------ */

/* A letter per layer: the mixer (f w c d m l h -), in capitals if the layer has experts; "." has no
 * MLP. */
static void spell(const pp_model *m, int64_t layers, char *out)
{
    for (int64_t l = 0; l < layers; l++) {
        const pp_layer_type type = pp_model_type(m, pp_model_type_at(m, l));
        const char letter = "fwcdmlh-"[type.mixer];
        if (type.mlp == PP_MLP_NONE)
            *out++ = '.';
        *out++ = type.mlp == PP_MLP_MOE ? letter == '-' ? '+' : (char)toupper(letter) : letter;
    }
    *out = '\0';
}

/* layer_types, sliding_window_pattern, full_attention_interval and so on of the configurations. */
static const struct {
    const char *name, *layers;
} spelled[] = {
    { "qwen3-8b", "ffffff" },
    { "gemma2-9b", "wfwfwf" },
    { "gemma3-27b", "wwwwwfwwwwwfw" },
    { "gpt-oss-20b", "WFWF" },
    { "olmo3-7b", "wwwfwwwf" },
    { "command-a-111b", "wwwfw" },
    { "llama4-maverick", "cCcFcCcF" },
    { "llama4-scout", "CCCFCCCF" },
    { "qwen3-next-80b-a3b", "DDDFDDDF" },
    { "qwen3.5-35b-a3b", "DDDFDDDF" },
    { "qwen3.5-27b", "dddfdddf" },
    { "minimax-text-01", "LLLLLLLFL" },
    { "deepseek-v3.2", "fffFFFF" },
    { "kimi-k2", "fFF" },
    { "glm-4.5", "fffFF" },
    { "ernie-4.5-300b-a47b", "fffFF" },
    { "falcon-h1-34b", "hhh" },
    { "nemotron-h-8b", ".m-.m-.m-.m.f-.m-" },
    { "nemotron-3-nano-30b-a3b", ".m+.m+.m.f+" },
    { "phi-3-mini", "www" },
    { "starcoder2-15b", "www" },
    { "qwen2.5-72b", "fff" },
};

START_TEST(layers_have_the_types_that_the_keys_say)
{
    char letters[256];
    const pp_model m = config(spelled[_i].name);
    spell(&m, 20, letters);
    ck_assert_msg(strncmp(letters, spelled[_i].layers, strlen(spelled[_i].layers)) == 0, "%s: %s",
                  spelled[_i].name, letters);
}
END_TEST

static void expect_equal_counts(const char *name, int64_t parameters)
{
    const pp_model m = config(name);
    (void)parameters;
    for (int64_t first = 0; first < m.layers; first += 3) {
        int64_t counts[PP_LAYER_TYPES_MAX], one[PP_LAYER_TYPES_MAX] = { 0 };
        const int64_t layers = m.layers - first < 17 ? m.layers - first : 17;
        pp_model_count_types(&m, first, layers, counts);
        for (int64_t l = first; l < first + layers; l++)
            one[pp_model_type_at(&m, l)]++;
        ck_assert_mem_eq(counts, one, sizeof one);
    }
}

START_TEST(counted_layers_are_those_that_are_looked_up)
{
    (void)for_each_config(expect_equal_counts);
}
END_TEST

/* Thousands of layers that alternate are few runs. */
START_TEST(a_pattern_of_many_layers_is_short)
{
    const pp_model m = parsed("{\"model_type\":\"gemma3_text\",\"hidden_size\":64,"
                              "\"intermediate_size\":64,\"num_hidden_layers\":50000,"
                              "\"sliding_window\":8,\"sliding_window_pattern\":6}",
                              "m.json");
    int64_t counts[PP_LAYER_TYPES_MAX];
    ck_assert_int_le(m.pattern.runs, 3);
    pp_model_count_types(&m, 0, m.layers, counts);
    ck_assert_int_eq(counts[pp_model_type_at(&m, 5)], 50000 / 6);
}
END_TEST

/* A shipped model is its configuration, with the length of its pre-training. */
static const char *const shipped[][2] = {
    { "qwen3-8b", "qwen3-8b" },
    { "qwen3-32b", "qwen3-32b" },
    { "qwen3-30b-a3b", "qwen3-30b-a3b" },
    { "qwen3-235b-a22b", "qwen3-235b-a22b" },
    { "qwen3-next-80b-a3b", "qwen3-next-80b-a3b" },
    { "gpt-oss-20b", "gpt-oss-20b" },
    { "gpt-oss-120b", "gpt-oss-120b" },
    { "kimi-k2", "kimi-k2" },
    { "deepseek-v3", "deepseek-v3" },
    { "deepseek-v3.2", "deepseek-v3.2" },
    { "glm-4.5", "glm-4.5" },
    { "glm-4.5-air", "glm-4.5-air" },
    { "llama4-maverick", "llama4-maverick" },
    { "llama4-scout", "llama4-scout" },
    { "gemma3-27b", "gemma3-27b" },
    { "mistral-small-3", "mistral-small-3-24b" },
    { "minimax-m2", "minimax-m2" },
    { "nemotron-h-8b", "nemotron-h-8b" },
    { "olmo3-32b", "olmo3-32b" },
    { "llama3-8b", "llama3-8b" },
};

START_TEST(shipped_models_are_their_configurations)
{
    char path[512];
    char *text = NULL;
    size_t bytes;
    pp_err err = { 0 };
    snprintf(path, sizeof path, "%s/traces/data/models/%s.json", PPSIM_SOURCE_DIR, shipped[_i][0]);
    ck_assert_msg(pp_file_read(path, &text, &bytes, &err) == PP_OK, "%s: %s", err.where, err.text);
    pp_model ours = parsed(text, path);
    free(text);
    const pp_model theirs = config(shipped[_i][1]);
    ours.max_seq_length = theirs.max_seq_length;
    ck_assert_mem_eq((const char *)&ours + offsetof(pp_model, layers),
                     (const char *)&theirs + offsetof(pp_model, layers),
                     sizeof ours - offsetof(pp_model, layers));
}
END_TEST

/* ---- damage --------------------------------------------------------------------------------- */

/* Keys whose value does not matter. */
static const char *const unread[] = {
    "boi_token_index",
    "eoi_token_index",
    "experts_per_token",
    "image_token_id",
    "image_token_index",
    "initial_context_length",
    "mm_tokens_per_image",
    "n_ctx",
    "n_group",
    "original_max_position_embeddings",
    "query_pre_attn_scalar",
    "rotary_dim",
    "rotary_emb_base",
    "topk_group",
    "video_token_id",
    "vision_end_token_id",
    "vision_start_token_id",
    "vision_token_id",
    "cla_share_factor",
    "rope_local_base_freq",
    "spatial_merge_size",
    "vision_feature_layer",
    "attention_multiplier",
    "max_window_layers",
    "attention_head_dim",
    "no_rope_layer_interval",
};

static bool is_unread(const char *key)
{
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++) {
        if (strcmp(key, unread[i]) == 0)
            return true;
    }
    return false;
}

/* Parses a copy of `text` with `value` in place of that from `from` to `to`. */
static pp_status parse_damaged(const char *text, const char *from, const char *to,
                               const char *value, pp_err *err)
{
    pp_model model;
    pp_text copy PP_CLEANUP(pp_text_free) = { 0 };
    pp_text_add(&copy, "%.*s%s%s", (int)(from - text), text, value, to);
    return pp_model_parse(copy.data, copy.bytes, "m.json", &model, err);
}

/* Every whole number of a configuration, in turn, becomes negative, a fraction, a text and a list:
 * each is refused at its key. */
static void damage(const char *name, int64_t parameters)
{
    static const char *const values[] = { "-3", "0.5", "\"12\"", "{\"a\":1}" };
    char *text PP_CLEANUP(pp_free_text) = read_text(name, ".json");
    const char *vision = strstr(text, "\"vision_config\"");
    (void)parameters;
    for (const char *at = strchr(text, ':'); at; at = strchr(at + 1, ':')) {
        const char *end = at + 2 + strspn(at + 2, "0123456789");
        const char *start = at - 1;
        while (start[-1] != '"')
            start--;
        char key[64];
        snprintf(key, sizeof key, "%.*s", (int)(at - 1 - start), start);
        const bool whole = end > at + 2 && (*end == ',' || *end == '}' || *end == '\n');
        if (!whole || is_unread(key) || (vision && at > vision && at < strchr(vision, '}')))
            continue;
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            pp_err err = { 0 };
            const pp_status status = parse_damaged(text, at + 2, end, values[i], &err);
            const size_t length = strlen(err.where), size = strlen(key);
            ck_assert_msg(status == PP_INPUT, "%s: %s %s is accepted", name, key, values[i]);
            ck_assert_msg(length > size && strcmp(err.where + length - size, key) == 0,
                          "%s: %s %s: %s: %s", name, key, values[i], err.where, err.text);
        }
    }
}

START_TEST(damaged_numbers_are_refused_at_their_key)
{
    (void)for_each_config(damage);
}
END_TEST

/* The sizes that decide the scale of a model have no defaults. */
START_TEST(a_missing_size_is_named)
{
    static const char *const names[] = { "llama3-8b",     "qwen3-30b-a3b", "deepseek-v3", "glm-4.5",
                                         "nemotron-h-8b", "gpt-oss-20b",   "olmo3-7b" };
    static const char *const keys[] = { "hidden_size",       "num_hidden_layers",
                                        "vocab_size",        "num_attention_heads",
                                        "intermediate_size", "max_position_embeddings" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text PP_CLEANUP(pp_free_text) = read_text(names[i], ".json");
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            char quoted[64];
            pp_err err = { 0 };
            snprintf(quoted, sizeof quoted, "\"%s\":", keys[k]);
            const char *at = strstr(text, quoted);
            ck_assert_ptr_nonnull(at);
            const pp_status status = parse_damaged(text, at, strchr(at, ',') + 1, "", &err);
            ck_assert_msg(status == PP_INPUT && strstr(err.text, keys[k]) &&
                              strstr(err.text, "missing"),
                          "%s without %s: %s", names[i], keys[k], err.text);
        }
    }
}
END_TEST

#define DENSE                                                              \
    "\"num_hidden_layers\":4,\"hidden_size\":8,\"num_attention_heads\":2," \
    "\"num_key_value_heads\":2,\"intermediate_size\":16,\"vocab_size\":9," \
    "\"max_position_embeddings\":16"
#define HF(type, more) "{\"model_type\":\"" type "\"," DENSE more "}"

static const struct {
    const char *input, *where, *text;
} bad[] = {
    { HF("llama", ",\"num_local_experts\":8"), "m.json#/num_local_experts", "model_type llama" },
    { HF("llama", ",\"kv_lora_rank\":8"), "m.json#/kv_lora_rank", "model_type llama" },
    { HF("llama", ",\"index_topk\":8"), "m.json#/index_topk", "changes the sizes" },
    { HF("mixtral", ",\"moe_intermediate_size\":8"), "m.json#/moe_intermediate_size", "mixtral" },
    { HF("gemma2", ",\"layer_types\":[\"full_attention\"]"), "m.json#/layer_types",
      "1 entries for a model of 4 layers" },
    { HF("olmo3", ",\"layer_types\":[\"full_attention\",\"full_attention\",\"linear_attention\","
                  "\"full_attention\"]"),
      "m.json#/layer_types/2", "\"linear_attention\" is not a layer" },
    { HF("nemotron_h", ",\"mamba_head_dim\":4,\"ssm_state_size\":4,"
                       "\"hybrid_override_pattern\":\"M-*\""),
      "m.json#/hybrid_override_pattern", "an entry for each layer" },
    { HF("nemotron_h", ",\"mamba_head_dim\":4,\"ssm_state_size\":4,"
                       "\"hybrid_override_pattern\":\"M-*E\""),
      "m.json#", "has experts, but their number is not given" },
    { HF("nemotron_h", ",\"mamba_head_dim\":4,\"ssm_state_size\":4,\"n_groups\":3,"
                       "\"hybrid_override_pattern\":\"M-*-\""),
      "m.json#/n_groups", "not a multiple" },
    { HF("falcon_h1", ",\"mamba_d_ssm\":7,\"mamba_n_heads\":2,\"mamba_d_head\":4,"
                      "\"mamba_d_state\":4"),
      "m.json#/mamba_d_ssm", "mamba_n_heads x mamba_d_head" },
    { HF("gpt_oss", ",\"num_local_experts\":4,\"attention_bias\":false"), "m.json#/attention_bias",
      "must be true" },
    { HF("opt", ",\"ffn_dim\":32,\"word_embed_proj_dim\":4"), "m.json#/word_embed_proj_dim",
      "another width" },
    { HF("hunyuan_v1_moe", ",\"num_experts\":4,\"moe_topk\":[1,2,1,1]"), "m.json#/moe_topk/1",
      "as the first entry" },
    { HF("qwen3_moe", ",\"num_experts\":4,\"moe_intermediate_size\":4,\"mlp_only_layers\":[4]"),
      "m.json#/mlp_only_layers/0", "from 0 to 3" },
    { HF("qwen3_moe", ",\"num_experts\":4,\"moe_intermediate_size\":4,\"num_experts_per_tok\":5"),
      "m.json#/num_experts_per_tok", "from 1 to 4" },
    { HF("minimax_m2", ",\"attn_type_list\":[1,1,0,1]"), "m.json#/attn_type_list/2", "1" },
    { HF("nemotron_h", ",\"mamba_head_dim\":4,\"ssm_state_size\":4,"
                       "\"layers_block_type\":[\"mlp\",\"mlp\",\"mlp\",\"wings\"]"),
      "m.json#/layers_block_type", "words" },
    { HF("deepseek_v3",
         ",\"n_routed_experts\":4,\"moe_intermediate_size\":4,\"num_experts_per_tok\":1,"
         "\"kv_lora_rank\":4,\"qk_nope_head_dim\":4,\"qk_rope_head_dim\":4,\"v_head_dim\":4,"
         "\"mlp_layer_types\":[\"dense\",\"sparse\",\"dense\",\"moe\"]"),
      "m.json#/mlp_layer_types/3", "sparse" },
    { HF("smollm3", ",\"use_sliding_window\":true"), "m.json#/use_sliding_window", "not modelled" },
    { "{\"model_type\":\"gemma3\",\"text_config\":[1]}", "m.json#/text_config", "an object" },
    { "{\"model_type\":\"gemma3\",\"text_config\":{\"hidden_size\":8}}", "m.json#/text_config",
      "\"num_hidden_layers\" is missing" },
};

START_TEST(what_contradicts_the_family_is_refused)
{
    pp_model model;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_model_parse(bad[_i].input, strlen(bad[_i].input), "m.json", &model, &err),
                     PP_INPUT);
    ck_assert_msg(strcmp(err.where, bad[_i].where) == 0 && strstr(err.text, bad[_i].text), "%s: %s",
                  err.where, err.text);
}
END_TEST

START_TEST(keys_without_meaning_are_named_and_harmless_ones_are_not)
{
    pp_model m = parsed(HF("llama", ",\"rope_theta\":1e6,\"num_wings\":2,\"num_legs\":0,"
                                    "\"num_experts\":null,\"flies\":\"high\""),
                        "m.json");
    ck_assert_str_eq(m.not_understood, "num_wings, flies");
    m = parsed(HF("llama", ",\"rope_theta\":1e6,\"use_cache\":true"), "m.json");
    ck_assert_str_eq(m.not_understood, "");
}
END_TEST

/* transformers saves lists of words instead of the rules and letters of published files. */
START_TEST(saved_files_are_read_as_published_ones)
{
    char letters[64];
    pp_model m = parsed(HF("nemotron_h", ",\"mamba_head_dim\":4,\"ssm_state_size\":4,"
                                         "\"layers_block_type\":[\"linear_attention\",\"mlp\","
                                         "\"full_attention\",\"mlp\"]"),
                        "m.json");
    spell(&m, 4, letters);
    ck_assert_str_eq(letters, ".m-.f-");
    m = parsed(HF("deepseek_v3",
                  ",\"n_routed_experts\":4,\"moe_intermediate_size\":4,\"num_experts_per_tok\":1,"
                  "\"kv_lora_rank\":4,\"qk_nope_head_dim\":4,\"qk_rope_head_dim\":4,"
                  "\"v_head_dim\":4,\"qk_head_dim\":8,\"n_group\":1,\"topk_group\":1,"
                  "\"mlp_layer_types\":[\"dense\",\"sparse\",\"dense\",\"sparse\"]"),
               "m.json");
    spell(&m, 4, letters);
    ck_assert_str_eq(letters, "fFfF");
}
END_TEST

/* Qwen2Config: layers from max_window_layers on have the window. */
START_TEST(a_window_in_some_layers_only_is_read)
{
    char letters[64];
    const pp_model m = parsed(HF("qwen2", ",\"use_sliding_window\":true,\"sliding_window\":8,"
                                          "\"max_window_layers\":3"),
                              "m.json");
    spell(&m, 4, letters);
    ck_assert_str_eq(letters, "fffw");
}
END_TEST

#define LOOP(test, table) tcase_add_loop_test(tc, test, 0, (int)(sizeof table / sizeof table[0]))

int main(void)
{
    Suite *suite = suite_create("model_hf_family_json");
    TCase *tc = tcase_create("model_hf_family_json");
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, configurations_have_the_parameters_of_the_modules_of_transformers);
    LOOP(totals_are_those_that_the_makers_publish, published);
    tcase_add_test(tc, mtp_modules_are_counted_apart);
    LOOP(layers_have_the_types_that_the_keys_say, spelled);
    tcase_add_test(tc, counted_layers_are_those_that_are_looked_up);
    LOOP(shipped_models_are_their_configurations, shipped);
    tcase_add_test(tc, a_pattern_of_many_layers_is_short);
    tcase_add_test(tc, damaged_numbers_are_refused_at_their_key);
    tcase_add_test(tc, a_missing_size_is_named);
    LOOP(what_contradicts_the_family_is_refused, bad);
    tcase_add_test(tc, keys_without_meaning_are_named_and_harmless_ones_are_not);
    tcase_add_test(tc, saved_files_are_read_as_published_ones);
    tcase_add_test(tc, a_window_in_some_layers_only_is_read);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
