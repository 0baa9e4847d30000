/* Shipped models and Hugging Face configurations have their published numbers of parameters. */
#include "sim/base/file.h"
#include "sim/base/json.h"
#include "sim/job/model.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODELS PPSIM_SOURCE_DIR "/traces/data/models/"

static void free_json(pp_json **json)
{
    pp_json_free(json);
}

static pp_status parse(const char *text, const char *file, pp_model *model, pp_err *err)
{
    return pp_model_parse(text, strlen(text), file, model, err);
}

static pp_model parsed(const char *text, const char *file)
{
    pp_model model;
    pp_err err = { 0 };
    ck_assert_msg(parse(text, file, &model, &err) == PP_OK, "%s: %s", err.where, err.text);
    return model;
}

static char *shipped_text(const char *name)
{
    char path[512];
    char *text = NULL;
    size_t bytes;
    pp_err err = { 0 };
    snprintf(path, sizeof path, "%s%s.json", MODELS, name);
    ck_assert_msg(pp_file_read(path, &text, &bytes, &err) == PP_OK, "%s: %s", err.where, err.text);
    return text;
}

static pp_model shipped(const char *name)
{
    char *text PP_CLEANUP(pp_free_text) = shipped_text(name);
    return parsed(text, name);
}

/* ---- parameter counts ----------------------------------------------------------------------- */

/* The content of the published checkpoints (sum over the tensors of the safetensors index);
 * DeepSeek-V3: main model without MTP, 671B in README_WEIGHTS.md. */
static const struct {
    const char *name;
    int64_t parameters;
} published[] = {
    { "llama2-7b", 6738415616 },     { "llama2-70b", 68976648192 },
    { "llama3-8b", 8030261248 },     { "llama3-70b", 70553706496 },
    { "llama3-405b", 405853388800 }, { "mixtral-8x7b", 46702792704 },
    { "deepseek-v3", 671026419200 },
};

START_TEST(shipped_models_have_the_published_parameter_count)
{
    pp_model model = shipped(published[_i].name);
    ck_assert_int_eq(pp_model_parameters(&model), published[_i].parameters);
}
END_TEST

/* README_WEIGHTS.md: 11.5B unique parameters in addition to the shared embedding and head. Counted
 * from the tensors of layer 61: 11 610 068 224. */
START_TEST(mtp_module_of_deepseek_v3_has_its_unique_parameters)
{
    pp_model model = shipped("deepseek-v3");
    ck_assert_int_eq(pp_model_mtp_parameters(&model), INT64_C(11610068224));
    model.mtp_layers = 0;
    ck_assert_int_eq(pp_model_mtp_parameters(&model), 0);
}
END_TEST

/* Narayanan 2021, Table 1, in billions; 22B and 175B: Korthikanti 2022. */
static const struct {
    const char *name;
    double billions, step; /* as published, and its last digit */
} megatron[] = {
    { "gpt1.7b", 1.7, 0.1 },   { "gpt3.6b", 3.6, 0.1 },   { "gpt7.5b", 7.5, 0.1 },
    { "gpt18b", 18.4, 0.1 },   { "gpt22b", 22, 1 },       { "gpt39b", 39.1, 0.1 },
    { "gpt76b", 76.1, 0.1 },   { "gpt145b", 145.6, 0.1 }, { "gpt175b", 175, 1 },
    { "gpt310b", 310.1, 0.1 }, { "gpt530b", 529.6, 0.1 }, { "gpt1t", 1008.0, 0.1 },
};

/* P = 12 l h^2 (1 + 13/(12h) + (V+s)/(12 l h)); the formula leaves out the final norm, 2h. */
START_TEST(megatron_models_meet_the_formula_and_the_table)
{
    pp_model m = shipped(megatron[_i].name);
    int64_t formula = 12 * m.layers * m.hidden * m.hidden + 13 * m.layers * m.hidden +
                      (m.vocab + m.max_seq_length) * m.hidden;
    ck_assert_int_eq(pp_model_parameters(&m) - 2 * m.hidden, formula);
    double billions = (double)formula * 1e-9;
    ck_assert_double_eq_tol(billions, megatron[_i].billions, megatron[_i].step * 0.51);
}
END_TEST

/* Qi 2024, Table 3: the sizes after which the models are named. */
START_TEST(zero_bubble_models_have_the_size_of_their_name)
{
    static const char *const names[] = { "zb1.5b", "zb6.2b", "zb14.6b", "zb28.3b" };
    _Static_assert(sizeof names / sizeof names[0] == 4, "as often as main loops");
    pp_model m = shipped(names[_i]);
    double billions = (double)pp_model_parameters(&m) * 1e-9;
    ck_assert_double_eq_tol(billions, strtod(names[_i] + 2, NULL), 0.05);
    ck_assert_int_eq(m.max_seq_length, 1024);
}
END_TEST

/* Sum over the tensors of each checkpoint on Hugging Face. */
static const struct {
    const char *name, *text;
    int64_t parameters;
} configs[] = {
    { "gpt2",
      "{\"n_embd\":768,\"n_layer\":12,\"n_head\":12,\"n_positions\":1024,\"vocab_size\":50257}",
      124439808 },
    { "Llama-2-7b-hf",
      "{\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":4096,\"num_hidden_layers\":32,"
      "\"num_attention_heads\":32,\"intermediate_size\":11008,\"vocab_size\":32000,"
      "\"max_position_embeddings\":4096}",
      6738415616 },
    { "Mistral-7B-v0.1",
      "{\"model_type\":\"mistral\",\"hidden_size\":4096,\"num_hidden_layers\":32,"
      "\"num_attention_heads\":32,\"intermediate_size\":14336,\"vocab_size\":32000,"
      "\"max_position_embeddings\":32768}",
      7241732096 },
    { "Mixtral-8x7B-v0.1",
      "{\"model_type\":\"mixtral\",\"hidden_size\":4096,\"num_hidden_layers\":32,"
      "\"num_attention_heads\":32,\"num_key_value_heads\":8,\"intermediate_size\":14336,"
      "\"vocab_size\":32000,\"max_position_embeddings\":32768,\"num_local_experts\":8,"
      "\"num_experts_per_tok\":2,\"sliding_window\":null}",
      46702792704 },
    { "Qwen2-0.5B",
      "{\"model_type\":\"qwen2\",\"hidden_size\":896,\"num_hidden_layers\":24,"
      "\"num_attention_heads\":14,\"num_key_value_heads\":2,\"intermediate_size\":4864,"
      "\"vocab_size\":151936,\"max_position_embeddings\":131072,\"tie_word_embeddings\":true,"
      "\"use_sliding_window\":false,\"sliding_window\":131072,\"max_window_layers\":24}",
      494032768 },
    { "Qwen2.5-7B",
      "{\"model_type\":\"qwen2\",\"hidden_size\":3584,\"num_hidden_layers\":28,"
      "\"num_attention_heads\":28,\"num_key_value_heads\":4,\"intermediate_size\":18944,"
      "\"vocab_size\":152064,\"max_position_embeddings\":131072,\"tie_word_embeddings\":false}",
      7615616512 },
    { "Qwen3-8B",
      "{\"model_type\":\"qwen3\",\"hidden_size\":4096,\"num_hidden_layers\":36,"
      "\"num_attention_heads\":32,\"num_key_value_heads\":8,\"head_dim\":128,"
      "\"intermediate_size\":12288,\"vocab_size\":151936,\"max_position_embeddings\":40960}",
      8190735360 },
    { "Qwen3-30B-A3B",
      "{\"model_type\":\"qwen3_moe\",\"hidden_size\":2048,\"num_hidden_layers\":48,"
      "\"num_attention_heads\":32,\"num_key_value_heads\":4,\"head_dim\":128,"
      "\"intermediate_size\":6144,\"moe_intermediate_size\":768,\"num_experts\":128,"
      "\"num_experts_per_tok\":8,\"vocab_size\":151936,\"max_position_embeddings\":40960,"
      "\"mlp_only_layers\":[],\"decoder_sparse_step\":1}",
      30532122624 },
    { "DeepSeek-V2-Lite",
      "{\"model_type\":\"deepseek_v2\",\"hidden_size\":2048,\"num_hidden_layers\":27,"
      "\"num_attention_heads\":16,\"num_key_value_heads\":16,\"intermediate_size\":10944,"
      "\"moe_intermediate_size\":1408,\"n_routed_experts\":64,\"n_shared_experts\":2,"
      "\"num_experts_per_tok\":6,\"first_k_dense_replace\":1,\"kv_lora_rank\":512,"
      "\"q_lora_rank\":null,\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,\"v_head_dim\":128,"
      "\"vocab_size\":102400,\"max_position_embeddings\":163840}",
      15706484224 },
    { "DeepSeek-V3",
      "{\"model_type\":\"deepseek_v3\",\"hidden_size\":7168,\"num_hidden_layers\":61,"
      "\"num_attention_heads\":128,\"num_key_value_heads\":128,\"intermediate_size\":18432,"
      "\"moe_intermediate_size\":2048,\"n_routed_experts\":256,\"n_shared_experts\":1,"
      "\"num_experts_per_tok\":8,\"first_k_dense_replace\":3,\"moe_layer_freq\":1,"
      "\"kv_lora_rank\":512,\"q_lora_rank\":1536,\"qk_nope_head_dim\":128,"
      "\"qk_rope_head_dim\":64,\"v_head_dim\":128,\"vocab_size\":129280,"
      "\"max_position_embeddings\":163840,\"num_nextn_predict_layers\":1,"
      "\"attention_bias\":false,\"quantization_config\":{\"fmt\":\"e4m3\"}}",
      671026419200 },
};

START_TEST(hugging_face_configs_give_the_published_parameter_count)
{
    pp_model model = parsed(configs[_i].text, configs[_i].name);
    ck_assert_int_eq(pp_model_parameters(&model), configs[_i].parameters);
    ck_assert_str_eq(model.name, configs[_i].name);
}
END_TEST

/* ---- reading -------------------------------------------------------------------------------- */

START_TEST(config_of_deepseek_v3_and_the_shipped_file_agree)
{
    pp_model ours = shipped("deepseek-v3");
    pp_model theirs =
        parsed(configs[sizeof configs / sizeof configs[0] - 1].text, "deepseek-v3.json");
    ck_assert_str_eq(ours.name, theirs.name);
    ck_assert_int_eq(theirs.max_seq_length, 163840);
    theirs.max_seq_length = ours.max_seq_length;
    memcpy(theirs.summary, ours.summary, sizeof ours.summary);
    ck_assert_mem_eq((const char *)&ours + offsetof(pp_model, layers),
                     (const char *)&theirs + offsetof(pp_model, layers),
                     offsetof(pp_model, mtp_layers) + sizeof ours.mtp_layers -
                         offsetof(pp_model, layers));
}
END_TEST

START_TEST(moe_layers_begin_after_the_dense_ones_and_include_mtp)
{
    pp_model model = shipped("deepseek-v3");
    ck_assert(!pp_model_layer_is_moe(&model, 2));
    ck_assert(pp_model_layer_is_moe(&model, 3));
    ck_assert(pp_model_layer_is_moe(&model, model.layers));
    model = shipped("gpt22b");
    ck_assert(!pp_model_layer_is_moe(&model, 47));
}
END_TEST

/* transformers, configuration_gpt2.py and configuration_llama.py. */
START_TEST(absent_keys_mean_what_the_configuration_class_says)
{
    pp_model gpt2 = parsed(configs[0].text, "gpt2.json");
    ck_assert(gpt2.tied_embeddings && gpt2.dropout && gpt2.learned_positions);
    ck_assert(gpt2.linear_bias && gpt2.qkv_bias && gpt2.out_bias);
    ck_assert(!gpt2.gated_mlp && !gpt2.rms_norm);
    ck_assert_int_eq(gpt2.ffn, 3072);
    ck_assert_int_eq(gpt2.head_dim, 64);
    pp_model llama = parsed(configs[1].text, "x/llama.json");
    ck_assert(!llama.tied_embeddings && llama.gated_mlp && llama.rms_norm && !llama.dropout);
    ck_assert_int_eq(llama.kv_heads, 32);
    ck_assert_int_eq(llama.sliding_window, 0);
    ck_assert_str_eq(llama.name, "llama");
    pp_model mistral = parsed(configs[2].text, "mistral");
    ck_assert_int_eq(mistral.kv_heads, 8);
    ck_assert_int_eq(mistral.sliding_window, 4096);
    pp_model qwen2 = parsed(configs[4].text, "qwen2");
    ck_assert_int_eq(qwen2.sliding_window, 0);
    ck_assert(qwen2.qkv_bias && !qwen2.out_bias && !qwen2.linear_bias && qwen2.tied_embeddings);
}
END_TEST

START_TEST(a_config_json_is_named_after_its_folder)
{
    ck_assert_str_eq(parsed(configs[0].text, "some/where/gpt2-small/config.json").name,
                     "gpt2-small");
    ck_assert_str_eq(parsed(configs[0].text, "config.json").name, "config");
    ck_assert_str_eq(parsed(configs[0].text, "./config.json").name, "model");
    ck_assert_str_eq(parsed(configs[0].text, "").name, "model");
}
END_TEST

#define OWN(more)                                                                                \
    "{\"format\":\"ppsim.model\",\"version\":1,\"name\":\"t\",\"source\":\"test\",\"layers\":4," \
    "\"vocab\":100,\"max_seq_length\":64,\"gated_mlp\":false,\"rms_norm\":false,"                \
    "\"linear_bias\":true,\"tied_embeddings\":true,\"learned_positions\":true,\"dropout\":true"  \
    "," more "}"
#define EXPERTS SMALL ",\"experts\":8,\"experts_per_token\":3,\"expert_ffn\":2"
#define SMALL "\"hidden\":8,\"heads\":2,\"ffn\":32"
#define HF(type, more)                                                              \
    "{\"model_type\":\"" type "\",\"num_hidden_layers\":2,\"intermediate_size\":8," \
    "\"vocab_size\":9,\"max_position_embeddings\":16," more "}"
#define HF_SMALL "\"hidden_size\":8,\"num_attention_heads\":2"
#define MLA                                                                                    \
    HF_SMALL ",\"moe_intermediate_size\":4,\"num_experts_per_tok\":2,\"kv_lora_rank\":4,"      \
             "\"qk_nope_head_dim\":2,\"qk_rope_head_dim\":2,\"v_head_dim\":4,\"first_k_dense_" \
             "replace\":1"

/* DeepSeek-V2 has groups and may not use them. */
START_TEST(groups_of_experts_are_read_where_the_router_uses_them)
{
    static const struct {
        const char *text;
        int64_t groups, chosen;
    } rows[] = {
        { HF("deepseek_v3", MLA ",\"n_routed_experts\":16"), 8, 4 },
        { HF("deepseek_v3", MLA ",\"n_routed_experts\":16,\"n_group\":2,\"topk_group\":1,"
                                "\"topk_method\":\"noaux_tc\""),
          2, 1 },
        { HF("deepseek_v3", MLA ",\"n_routed_experts\":16,\"n_group\":null,\"topk_group\":null"), 0,
          0 },
        { HF("deepseek_v2", MLA ",\"n_routed_experts\":16,\"n_group\":4,\"topk_group\":2,"
                                "\"topk_method\":\"group_limited_greedy\""),
          4, 2 },
        { HF("deepseek_v2", MLA ",\"n_routed_experts\":16,\"n_group\":4,\"topk_group\":2,"
                                "\"topk_method\":\"greedy\""),
          0, 0 },
        { HF("deepseek_v2", MLA ",\"n_routed_experts\":16,\"n_group\":4,\"topk_group\":2"), 0, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pp_model m = parsed(rows[i].text, "m.json");
        ck_assert_int_eq(m.expert_groups, rows[i].groups);
        ck_assert_int_eq(m.groups_per_token, rows[i].chosen);
    }
}
END_TEST

START_TEST(our_format_fills_in_what_follows)
{
    pp_model m = parsed(OWN(SMALL), "t.json");
    ck_assert_int_eq(m.kv_heads, 2);
    ck_assert_int_eq(m.head_dim, 4);
    ck_assert_int_eq(m.v_head_dim, 4);
    /* by hand: 4 x (2x2x8 + 8x24+24 + 64+8 + 256+32 + 256+8) + 100x8 + 64x8 + 2x8 */
    ck_assert_int_eq(pp_model_parameters(&m), 4 * (32 + 216 + 72 + 288 + 264) + 800 + 512 + 16);
}
END_TEST

/* where: as a reader reports it; text: a part of the message. */
static const struct {
    const char *input, *where, *text;
} bad[] = {
    { "", "m.json:1:0", "not valid JSON" },
    { "[]", "m.json#", "must be an object" },
    { "{}", "m.json#", "known: gpt2, llama" },
    { "{\"a\":1,\"a\":2}", "m.json:1:10", "duplicate" },
    { "{\"format\":\"ppsim.plan\",\"version\":1}", "m.json#/format", "\"ppsim.model\"" },
    { "{\"format\":\"ppsim.model\",\"version\":2}", "m.json#/version", "newer" },
    { OWN(SMALL ",\"heds\":3"), "m.json#", "did you mean \"heads\"" },
    { OWN("\"hidden\":8,\"heads\":2"), "m.json#", "\"ffn\" is missing" },
    { OWN("\"hidden\":8,\"ffn\":32"), "m.json#", "\"heads\" is missing" },
    { OWN("\"hidden\":9,\"heads\":2,\"ffn\":32"), "m.json#/hidden", "2 heads" },
    { OWN("\"hidden\":0,\"heads\":2,\"ffn\":32"), "m.json#/hidden", "from 1 to" },
    { OWN("\"hidden\":-8,\"heads\":2,\"ffn\":32"), "m.json#/hidden", "not -8" },
    { OWN("\"hidden\":8.5,\"heads\":2,\"ffn\":32"), "m.json#/hidden", "whole number" },
    { OWN("\"hidden\":2147483649,\"heads\":1,\"ffn\":1"), "m.json#/hidden", "2147483648" },
    { OWN("\"hidden\":1e999,\"heads\":1,\"ffn\":1"), "m.json:1:", "real number overflow" },
    { OWN("\"hidden\":2147483648,\"heads\":1,\"ffn\":2147483648"), "m.json#",
      "parameters; the limit" },
    { OWN(SMALL ",\"kv_heads\":3"), "m.json#/kv_heads", "not a multiple" },
    { OWN(SMALL ",\"kv_heads\":4"), "m.json#/kv_heads", "not a multiple" },
    { OWN(SMALL ",\"experts\":4"), "m.json#", "experts per token" },
    { OWN(SMALL ",\"experts\":4,\"experts_per_token\":5"), "m.json#/experts_per_token",
      "from 1 to 4" },
    { OWN(SMALL ",\"experts\":4,\"experts_per_token\":2"), "m.json#", "inner width" },
    { OWN(SMALL ",\"shared_ffn\":4"), "m.json#", "number of experts" },
    { OWN(SMALL ",\"expert_groups\":4"), "m.json#", "number of experts" },
    { OWN(EXPERTS ",\"expert_groups\":3,\"groups_per_token\":2"), "m.json#/expert_groups",
      "divide the 8" },
    { OWN(EXPERTS ",\"groups_per_token\":2"), "m.json#", "divide the 8" },
    { OWN(EXPERTS ",\"expert_groups\":4"), "m.json#", "not 0" },
    { OWN(EXPERTS ",\"expert_groups\":4,\"groups_per_token\":1"), "m.json#/groups_per_token",
      "from 2 (for 3 experts per token in groups of 2) to 4" },
    { OWN(EXPERTS ",\"expert_groups\":4,\"groups_per_token\":5"), "m.json#/groups_per_token",
      "to 4, not 5" },
    { OWN(SMALL
          ",\"experts\":4096,\"experts_per_token\":1,\"expert_ffn\":1,\"expert_groups\":2048"),
      "m.json#/expert_groups", "from 0 to 1024" },
    { HF("deepseek_v3", MLA ",\"n_routed_experts\":12"), "m.json#", "but there are 8" },
    { HF("deepseek_v3", MLA ",\"n_routed_experts\":12,\"n_group\":5"), "m.json#/n_group",
      "divide the 12" },
    { OWN(SMALL ",\"experts\":4,\"experts_per_token\":2,\"expert_ffn\":2,\"dense_layers\":5"),
      "m.json#/dense_layers", "4 layers" },
    { OWN(SMALL ",\"attention\":\"mla\""), "m.json#", "kv_lora_rank" },
    { OWN(SMALL ",\"attention\":\"mqa\""), "m.json#/attention", "\"gqa\" or \"mla\"" },
    { OWN(SMALL ",\"kv_lora_rank\":4"), "m.json#/kv_lora_rank", "mla" },
    { OWN(SMALL ",\"qk_norm\":1"), "m.json#/qk_norm", "true or false" },
    { OWN(SMALL ",\"layer_types\":[]"), "m.json#/layer_types", "from 1 to 4" },
    { OWN(SMALL ",\"layer_types\":\"full+mlp\""), "m.json#/layer_types", "array" },
    { OWN(SMALL ",\"layer_types\":[\"full+mlp\",\"full\"]"), "m.json#/layer_types/1", "full+moe" },
    { OWN(SMALL ",\"layer_types\":[\"none+none\"]"), "m.json#/layer_types", "is empty" },
    { OWN(SMALL ",\"layer_types\":[\"full+moe\"]"), "m.json#/layer_types", "number is not given" },
    { OWN(SMALL ",\"layer_types\":[\"window+mlp\",\"full+mlp\"]"), "m.json#/layer_types",
      "its size is not given" },
    { OWN(SMALL ",\"layer_types\":[\"chunk+mlp\"]"), "m.json#/layer_types", "their size" },
    { OWN(SMALL ",\"layer_types\":[\"mamba+mlp\"]"), "m.json#/layer_types", "heads, key" },
    { OWN(SMALL ",\"scan_heads\":4"), "m.json#", "no layer has one" },
    { OWN(SMALL ",\"layer_types\":[\"mamba+mlp\"],\"scan_heads\":4,\"scan_groups\":3,"
                "\"scan_key_dim\":2,\"scan_value_dim\":2,\"scan_chunk\":8"),
      "m.json#/scan_groups", "not a multiple" },
    { OWN(SMALL ",\"index_heads\":4"), "m.json#", "mla" },
    { OWN(SMALL ",\"experts\":4,\"experts_per_token\":2,\"expert_ffn\":2,\"dense_layers\":1,"
                "\"layer_types\":[\"full+moe\"]"),
      "m.json#/dense_layers", "beside layer_types" },
    { "{\"model_type\":\"bert\"}", "m.json#/model_type", "\"bert\"; known: gpt2" },
    { "{\"model_type\":7}", "m.json#/model_type", "must be a string" },
    { "{\"architectures\":[\"T5Model\"]}", "m.json#/architectures/0", "\"T5Model\"" },
    { HF("llama", "\"hidden_size\":8"), "m.json#", "\"num_attention_heads\"" },
    { HF("llama", "\"hidden_size\":9,\"num_attention_heads\":2"), "m.json#/hidden_size",
      "2 heads" },
    { HF("llama", HF_SMALL ",\"num_key_value_heads\":3"), "m.json#/num_key_value_heads",
      "not a multiple" },
    { HF("llama", HF_SMALL ",\"mlp_bias\":true"), "m.json#/mlp_bias", "set both or none" },
    { HF("qwen3_moe", HF_SMALL ",\"num_key_value_heads\":2"), "m.json#", "\"num_experts\"" },
    { HF("deepseek_v3", HF_SMALL ",\"n_routed_experts\":2"), "m.json#", "moe_intermediate_size" },
    { "{\"n_embd\":8,\"n_layer\":1,\"n_head\":2,\"n_positions\":4}", "m.json#", "\"vocab_size\"" },
};

START_TEST(bad_input_is_refused_with_its_place_and_leaves_the_model_alone)
{
    pp_model model;
    pp_err err = { 0 };
    memset(&model, 0x5a, sizeof model);
    pp_model before = model;
    ck_assert_int_eq(parse(bad[_i].input, "m.json", &model, &err), PP_INPUT);
    ck_assert_msg(strncmp(err.where, bad[_i].where, strlen(bad[_i].where)) == 0, "%s: %s",
                  err.where, err.text);
    ck_assert_msg(strchr(bad[_i].where, '#') == NULL || strcmp(err.where, bad[_i].where) == 0,
                  "%s: %s", err.where, err.text);
    ck_assert_msg(strstr(err.text, bad[_i].text) != NULL, "%s: %s", err.where, err.text);
    ck_assert_mem_eq(&model, &before, sizeof model);
}
END_TEST

START_TEST(every_number_of_a_shipped_model_has_its_source)
{
    static const char *const names[] = {
        "gpt1.7b",     "gpt3.6b",         "gpt7.5b",         "gpt18b",
        "gpt22b",      "gpt39b",          "gpt76b",          "gpt145b",
        "gpt175b",     "gpt310b",         "gpt530b",         "gpt1t",
        "llama2-7b",   "llama2-70b",      "llama3-8b",       "llama3-70b",
        "llama3-405b", "mixtral-8x7b",    "deepseek-v3",     "zb1.5b",
        "zb6.2b",      "zb14.6b",         "zb28.3b",         "qwen3-8b",
        "qwen3-32b",   "qwen3-30b-a3b",   "qwen3-235b-a22b", "qwen3-next-80b-a3b",
        "gpt-oss-20b", "gpt-oss-120b",    "kimi-k2",         "deepseek-v3.2",
        "glm-4.5",     "glm-4.5-air",     "llama4-maverick", "llama4-scout",
        "gemma3-27b",  "mistral-small-3", "minimax-m2",      "nemotron-h-8b",
        "olmo3-32b",
    };
    _Static_assert(sizeof names / sizeof names[0] == 41, "as often as main loops");
    static const char *const keys[] = {
        "layers",
        "hidden",
        "heads",
        "kv_heads",
        "head_dim",
        "ffn",
        "vocab",
        "max_seq_length",
        "gated_mlp",
        "rms_norm",
        "linear_bias",
        "tied_embeddings",
        "learned_positions",
        "dropout",
        "experts",
        "experts_per_token",
        "expert_ffn",
        "shared_ffn",
        "dense_layers",
        "router_bias",
        "attention",
        "q_lora_rank",
        "kv_lora_rank",
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "v_head_dim",
        "mtp_layers",
        "layer_types",
        "qkv_bias",
        "out_bias",
        "qk_norm",
        "qk_norm_wide",
        "sinks",
        "attention_gate",
        "parallel_block",
        "head_bias",
        "embedding_norm",
        "shared_gate",
        "text_part",
        "norms",
        "sliding_window",
        "attention_chunk",
        "index_heads",
        "index_head_dim",
        "index_topk",
        "scan_heads",
        "scan_groups",
        "scan_key_dim",
        "scan_value_dim",
        "scan_conv",
        "scan_chunk",
        "scan_conv_bias",
        "scan_norm",
    };
    char *text PP_CLEANUP(pp_free_text) = shipped_text(names[_i]);
    pp_json *json PP_CLEANUP(free_json) = NULL;
    pp_err err = { 0 };
    pp_json_at source;
    ck_assert_int_eq(pp_json_parse(text, strlen(text), names[_i], &json, &err), PP_OK);
    pp_json_at root = pp_json_root(json, names[_i]);
    ck_assert_int_eq(pp_json_get(&root, "source", &source, &err), PP_OK);
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        ck_assert_msg(!pp_json_has(&root, keys[k]) || pp_json_has(&source, keys[k]), "%s: %s",
                      names[_i], keys[k]);
    pp_model model = shipped(names[_i]);
    ck_assert_str_eq(model.name, names[_i]);
    ck_assert(*model.summary != '\0');
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model");
    TCase *tc = tcase_create("model");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, shipped_models_have_the_published_parameter_count, 0,
                        (int)(sizeof published / sizeof published[0]));
    tcase_add_test(tc, mtp_module_of_deepseek_v3_has_its_unique_parameters);
    tcase_add_loop_test(tc, megatron_models_meet_the_formula_and_the_table, 0,
                        (int)(sizeof megatron / sizeof megatron[0]));
    tcase_add_loop_test(tc, zero_bubble_models_have_the_size_of_their_name, 0, 4);
    tcase_add_loop_test(tc, hugging_face_configs_give_the_published_parameter_count, 0,
                        (int)(sizeof configs / sizeof configs[0]));
    tcase_add_test(tc, groups_of_experts_are_read_where_the_router_uses_them);
    tcase_add_test(tc, config_of_deepseek_v3_and_the_shipped_file_agree);
    tcase_add_test(tc, moe_layers_begin_after_the_dense_ones_and_include_mtp);
    tcase_add_test(tc, absent_keys_mean_what_the_configuration_class_says);
    tcase_add_test(tc, a_config_json_is_named_after_its_folder);
    tcase_add_test(tc, our_format_fills_in_what_follows);
    tcase_add_loop_test(tc, bad_input_is_refused_with_its_place_and_leaves_the_model_alone, 0,
                        (int)(sizeof bad / sizeof bad[0]));
    tcase_add_loop_test(tc, every_number_of_a_shipped_model_has_its_source, 0, 41);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
