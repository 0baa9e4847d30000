/* Reads config.json of Hugging Face transformers: one reader per family of architectures, chosen
 * by model_type or, in its absence, by keys that only one family has. */
#include "sim/job/model_hf_json.h"
#include "sim/base/text.h"

#include "sim/job/model_json_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct hf_arch hf_arch;
typedef pp_status hf_read(const pp_json_at *root, const hf_arch *arch, pp_model *m, pp_err *err);

/* An architecture. Its defaults for absent keys are those of its configuration class in Hugging
 * Face transformers (src/transformers/models/<type>/configuration_<type>.py). The sizes that decide
 * the scale of a model have no defaults; a file without them is refused. */
struct hf_arch {
    const char *type;         /* model_type */
    const char *architecture; /* entry of "architectures" */
    hf_read *read;
    hf_read *read_more; /* reads keys that not all Llama-like models have; may be NULL */
    int64_t kv_heads;   /* 0: as many as heads */
    int64_t head_dim;   /* 0: hidden / heads */
    int64_t window;     /* of sliding_window */
    int64_t dense_layers;
    int64_t shared_experts;
    int64_t expert_groups, groups_per_token;
    bool switched_window; /* sliding_window counts only with use_sliding_window */
    bool qkv_bias;
    bool qk_norm;
    bool router_bias;
};

static const pp_model_keys gpt2_keys = {
    .hidden = "n_embd",
    .heads = "n_head",
    .ffn = "n_inner",
};

static const pp_model_keys llama_keys = {
    .hidden = "hidden_size",
    .heads = "num_attention_heads",
    .kv_heads = "num_key_value_heads",
    .head_dim = "head_dim",
    .ffn = "intermediate_size",
    .experts = "n_routed_experts",
    .experts_per_token = "num_experts_per_tok",
    .expert_groups = "n_group",
    .groups_per_token = "topk_group",
    .expert_ffn = "moe_intermediate_size",
    .dense_layers = "first_k_dense_replace",
    .kv_lora_rank = "kv_lora_rank",
    .mtp_layers = "num_nextn_predict_layers",
};

static bool present(const pp_json_at *root, const char *key)
{
    pp_err ignored = { 0 };
    pp_json_at at;
    return pp_json_get(root, key, &at, &ignored) == PP_OK;
}

static pp_status need_size(const pp_json_at *root, const char *key, int64_t *out, pp_err *err)
{
    return pp_json_get_int(root, key, 1, PP_MODEL_SIZE_MAX, out, err);
}

/* Reads a size. The result is `absent` if the key is absent, and `null` if its value is null. */
static pp_status may_size(const pp_json_at *root, const char *key, int64_t low, int64_t absent,
                          int64_t null, int64_t *out, pp_err *err)
{
    if (pp_json_has(root, key))
        return pp_json_get_int(root, key, low, PP_MODEL_SIZE_MAX, out, err);
    *out = present(root, key) ? null : absent;
    return PP_OK;
}

static pp_status may_bool(const pp_json_at *root, const char *key, bool absent, bool *out,
                          pp_err *err)
{
    *out = absent;
    return pp_json_has(root, key) ? pp_json_get_bool(root, key, out, err) : PP_OK;
}

static pp_status refuse(const pp_json_at *root, const char *key, const char *text, pp_err *err)
{
    pp_json_at at;
    pp_status status = pp_json_get(root, key, &at, err);
    return status ? status : pp_json_fail(&at, err, "%s", text);
}

static pp_status may_rate(const pp_json_at *root, const char *key, bool *positive, pp_err *err)
{
    double rate = 0.1; /* GPT2Config */
    if (pp_json_has(root, key)) {
        pp_status status = pp_json_get_double(root, key, 0, 1, &rate, err);
        if (status)
            return status;
    }
    *positive = rate > 0;
    return PP_OK;
}

static pp_status read_gpt2(const pp_json_at *root, const hf_arch *arch, pp_model *m, pp_err *err)
{
    (void)arch;
    bool attention = false;
    bool residual = false;
    bool cross = false;
    pp_status status = pp_json_get_int(root, "n_layer", 1, PP_MODEL_LAYERS_MAX, &m->layers, err);
    if (status || (status = need_size(root, "n_embd", &m->hidden, err)) ||
        (status = need_size(root, "n_head", &m->heads, err)) ||
        (status = need_size(root, "vocab_size", &m->vocab, err)) ||
        (status =
             pp_json_get_int(root, "n_positions", 1, PP_MODEL_SEQ_MAX, &m->max_seq_length, err)) ||
        (status = may_size(root, "n_inner", 1, 0, 0, &m->ffn, err)) ||
        (status = may_bool(root, "tie_word_embeddings", true, &m->tied_embeddings, err)) ||
        (status = may_bool(root, "add_cross_attention", false, &cross, err)) ||
        (status = may_rate(root, "attn_pdrop", &attention, err)) ||
        (status = may_rate(root, "resid_pdrop", &residual, err)))
        return status;
    if (cross)
        return refuse(root, "add_cross_attention", "must be false: ppsim models only decoders",
                      err);
    if (m->ffn == 0)
        m->ffn = 4 * m->hidden;
    m->linear_bias = true;
    m->learned_positions = true;
    m->dropout = attention || residual;
    return pp_model_complete(root, &gpt2_keys, m, err);
}

static pp_status read_window(const pp_json_at *root, const hf_arch *arch, pp_model *m, pp_err *err)
{
    bool used = true;
    int64_t window;
    int64_t full_layers = 0;
    pp_status status = may_size(root, "sliding_window", 0, arch->window, 0, &window, err);
    if (!status && arch->switched_window)
        status = may_bool(root, "use_sliding_window", false, &used, err);
    if (status || !used)
        return status;
    if (arch->switched_window) {
        status = may_size(root, "max_window_layers", 0, 28, 0, &full_layers, err);
        if (status)
            return status;
        if (full_layers > 0 && full_layers < m->layers)
            return refuse(root,
                          present(root, "max_window_layers") ? "max_window_layers"
                                                             : "use_sliding_window",
                          "a sliding window in some layers only is not modelled; set "
                          "use_sliding_window to false or max_window_layers to 0",
                          err);
    }
    m->sliding_window = full_layers > 0 ? 0 : window;
    return PP_OK;
}

static pp_status read_biases(const pp_json_at *root, const hf_arch *arch, pp_model *m, pp_err *err)
{
    bool attention;
    bool mlp;
    pp_status status = may_bool(root, "attention_bias", false, &attention, err);
    if (status || (status = may_bool(root, "mlp_bias", false, &mlp, err)))
        return status;
    if (mlp && !attention)
        return refuse(root, "mlp_bias",
                      "biases in the MLP without biases in the attention are "
                      "not modelled; set both or none",
                      err);
    m->qkv_bias = attention || arch->qkv_bias;
    m->out_bias = attention;
    m->linear_bias = mlp;
    m->qk_norm = arch->qk_norm;
    return PP_OK;
}

static pp_status read_llama(const pp_json_at *root, const hf_arch *arch, pp_model *m, pp_err *err)
{
    pp_status status =
        pp_json_get_int(root, "num_hidden_layers", 1, PP_MODEL_LAYERS_MAX, &m->layers, err);
    if (status || (status = need_size(root, "hidden_size", &m->hidden, err)) ||
        (status = need_size(root, "num_attention_heads", &m->heads, err)) ||
        (status = need_size(root, "intermediate_size", &m->ffn, err)) ||
        (status = need_size(root, "vocab_size", &m->vocab, err)) ||
        (status = pp_json_get_int(root, "max_position_embeddings", 1, PP_MODEL_SEQ_MAX,
                                  &m->max_seq_length, err)) ||
        (status = may_bool(root, "tie_word_embeddings", false, &m->tied_embeddings, err)))
        return status;
    m->gated_mlp = true;
    m->rms_norm = true;
    if (arch->type[0] != 'd' && /* DeepSeek's attention has other sizes */
        ((status =
              may_size(root, "num_key_value_heads", 1, arch->kv_heads, 0, &m->kv_heads, err)) ||
         (status = may_size(root, "head_dim", 1, arch->head_dim, 0, &m->head_dim, err)) ||
         (status = read_window(root, arch, m, err)) || (status = read_biases(root, arch, m, err))))
        return status;
    if (arch->read_more && (status = arch->read_more(root, arch, m, err)))
        return status;
    return pp_model_complete(root, &llama_keys, m, err);
}

static pp_status read_mixtral(const pp_json_at *root, const hf_arch *arch, pp_model *m, pp_err *err)
{
    (void)arch;
    m->expert_ffn = m->ffn;
    pp_status status = may_size(root, "num_local_experts", 1, 8, 8, &m->experts, err);
    return status ? status
                  : may_size(root, "num_experts_per_tok", 1, 2, 2, &m->experts_per_token, err);
}

/* Reads a number of experts, for which transformers has two names. */
static pp_status read_experts(const pp_json_at *root, const char *key, int64_t *out, pp_err *err)
{
    const char *found = pp_json_has(root, key) ? key : "num_local_experts";
    return need_size(root, pp_json_has(root, found) ? found : key, out, err);
}

static pp_status read_qwen3_moe(const pp_json_at *root, const hf_arch *arch, pp_model *m,
                                pp_err *err)
{
    (void)arch;
    int64_t step;
    pp_json_at dense;
    size_t count = 0;
    pp_status status = read_experts(root, "num_experts", &m->experts, err);
    if (status || (status = need_size(root, "moe_intermediate_size", &m->expert_ffn, err)) ||
        (status = may_size(root, "num_experts_per_tok", 1, 8, 8, &m->experts_per_token, err)) ||
        (status = may_size(root, "decoder_sparse_step", 1, 1, 1, &step, err)))
        return status;
    if (step != 1)
        return refuse(root, "decoder_sparse_step",
                      "must be 1: dense layers between expert layers "
                      "are not modelled",
                      err);
    if (!pp_json_has(root, "mlp_only_layers"))
        return PP_OK;
    if ((status = pp_json_get(root, "mlp_only_layers", &dense, err)) ||
        (status = pp_json_count(&dense, &count, err)))
        return status;
    for (size_t i = 0; i < count; i++) {
        pp_json_at item;
        int64_t layer;
        if ((status = pp_json_item(&dense, i, &item, err)) ||
            (status = pp_json_read_int(&item, 0, m->layers - 1, &layer, err)))
            return status;
        if (layer != (int64_t)i)
            return pp_json_fail(&item, err,
                                "must be %zu: ppsim supports dense layers only before the first "
                                "expert layer, so the list must be 0, 1, 2 and so on",
                                i);
    }
    m->dense_layers = (int64_t)count;
    return PP_OK;
}

/* DeepSeek-V2 has groups, but uses them with one of its methods only; "greedy" takes the best
 * experts of all. */
static pp_status read_groups(const pp_json_at *root, const hf_arch *arch, pp_model *m, pp_err *err)
{
    const char *method = "";
    pp_status status = may_size(root, "n_group", 0, arch->expert_groups, 0, &m->expert_groups, err);
    if (status ||
        (status = may_size(root, "topk_group", 0, arch->groups_per_token, 0, &m->groups_per_token,
                           err)) ||
        (pp_json_has(root, "topk_method") &&
         (status = pp_json_get_text(root, "topk_method", &method, err))))
        return status;
    if (strcmp(method, "greedy") == 0 || (!*method && !arch->expert_groups))
        m->expert_groups = m->groups_per_token = 0;
    return PP_OK;
}

static pp_status read_deepseek(const pp_json_at *root, const hf_arch *arch, pp_model *m,
                               pp_err *err)
{
    int64_t frequency;
    int64_t shared;
    bool bias;
    m->attention = PP_ATTENTION_MLA;
    m->router_bias = arch->router_bias;
    pp_status status = read_experts(root, "n_routed_experts", &m->experts, err);
    if (status || (status = need_size(root, "moe_intermediate_size", &m->expert_ffn, err)) ||
        (status = need_size(root, "num_experts_per_tok", &m->experts_per_token, err)) ||
        (status = need_size(root, "kv_lora_rank", &m->kv_lora_rank, err)) ||
        (status = need_size(root, "qk_nope_head_dim", &m->qk_nope_head_dim, err)) ||
        (status = need_size(root, "qk_rope_head_dim", &m->qk_rope_head_dim, err)) ||
        (status = need_size(root, "v_head_dim", &m->v_head_dim, err)) ||
        (status = read_groups(root, arch, m, err)) ||
        (status = may_size(root, "q_lora_rank", 0, 1536, 0, &m->q_lora_rank, err)) ||
        (status = may_size(root, "n_shared_experts", 0, arch->shared_experts, 0, &shared, err)) ||
        (status = may_size(root, "moe_layer_freq", 1, 1, 1, &frequency, err)) ||
        (status = may_size(root, "first_k_dense_replace", 0, arch->dense_layers, 0,
                           &m->dense_layers, err)) ||
        (status = may_size(root, "num_nextn_predict_layers", 0, 0, 0, &m->mtp_layers, err)) ||
        (status = may_bool(root, "attention_bias", false, &bias, err)))
        return status;
    if (frequency != 1)
        return refuse(root, "moe_layer_freq",
                      "must be 1: dense layers between expert layers are "
                      "not modelled",
                      err);
    if (bias)
        return refuse(root, "attention_bias",
                      "must be false: biases in latent attention are not "
                      "modelled",
                      err);
    if (shared > PP_MODEL_SIZE_MAX / m->expert_ffn)
        return refuse(root, "n_shared_experts", "the shared experts are too wide", err);
    m->shared_ffn = shared * m->expert_ffn;
    return PP_OK;
}

static const hf_arch gpt2 = {
    .type = "gpt2",
    .architecture = "GPT2LMHeadModel",
    .read = read_gpt2,
};

static const hf_arch llama = {
    .type = "llama",
    .architecture = "LlamaForCausalLM",
    .read = read_llama,
};

static const hf_arch mistral = {
    .type = "mistral",
    .architecture = "MistralForCausalLM",
    .read = read_llama,
    .kv_heads = 8,
    .window = 4096,
};

static const hf_arch mixtral = {
    .type = "mixtral",
    .architecture = "MixtralForCausalLM",
    .read = read_llama,
    .read_more = read_mixtral,
    .kv_heads = 8,
};

static const hf_arch qwen2 = {
    .type = "qwen2",
    .architecture = "Qwen2ForCausalLM",
    .read = read_llama,
    .kv_heads = 32,
    .window = 4096,
    .switched_window = true,
    .qkv_bias = true,
};

static const hf_arch qwen3 = {
    .type = "qwen3",
    .architecture = "Qwen3ForCausalLM",
    .read = read_llama,
    .kv_heads = 32,
    .head_dim = 128,
    .window = 4096,
    .switched_window = true,
    .qk_norm = true,
};

static const hf_arch qwen3_moe = {
    .type = "qwen3_moe",
    .architecture = "Qwen3MoeForCausalLM",
    .read = read_llama,
    .read_more = read_qwen3_moe,
    .kv_heads = 4,
    .window = 4096,
    .switched_window = true,
    .qk_norm = true,
};

static const hf_arch deepseek_v2 = {
    .type = "deepseek_v2",
    .architecture = "DeepseekV2ForCausalLM",
    .read = read_llama,
    .read_more = read_deepseek,
    .shared_experts = 2,
};

static const hf_arch deepseek_v3 = {
    .type = "deepseek_v3",
    .architecture = "DeepseekV3ForCausalLM",
    .read = read_llama,
    .read_more = read_deepseek,
    .dense_layers = 3,
    .shared_experts = 1,
    .expert_groups = 8,
    .groups_per_token = 4,
    .router_bias = true,
};

static const hf_arch *const archs[] = {
    &gpt2, &llama, &mistral, &mixtral, &qwen2, &qwen3, &qwen3_moe, &deepseek_v2, &deepseek_v3,
};

#define ARCHS (sizeof archs / sizeof archs[0])

static const hf_arch *find_type(const char *type)
{
    for (size_t i = 0; i < ARCHS; i++) {
        if (strcmp(archs[i]->type, type) == 0 || strcmp(archs[i]->architecture, type) == 0)
            return archs[i];
    }
    return NULL;
}

/* Finds the architecture of a file that does not name it, by a key that only one of them has. */
static const hf_arch *find_by_content(const pp_json_at *root)
{
    if (pp_json_has(root, "n_embd"))
        return &gpt2;
    if (pp_json_has(root, "kv_lora_rank"))
        return &deepseek_v3;
    if (pp_json_has(root, "num_local_experts"))
        return &mixtral;
    if (pp_json_has(root, "hidden_size") && pp_json_has(root, "rms_norm_eps"))
        return &llama;
    return NULL;
}

static pp_status fail_unknown(const pp_json_at *at, const char *name, pp_err *err)
{
    char known[400];
    size_t used = 0;
    for (size_t i = 0; i < ARCHS; i++) {
        int n = snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", archs[i]->type);
        used += n < 0 ? 0 : (size_t)n;
    }
    if (name)
        return pp_json_fail(at, err, "unknown architecture \"%.64s\"; known: %s", name, known);
    return pp_json_fail(at, err,
                        "is neither a model of ppsim (no \"format\") nor a known Hugging Face "
                        "config (no \"model_type\", no \"architectures\"); known: %s",
                        known);
}

static pp_status find_arch(const pp_json_at *root, const hf_arch **out, pp_err *err)
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
        if ((*out = find_type(name)))
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
        if ((*out = find_type(text)))
            return PP_OK;
        if (i + 1 == count && !name)
            return fail_unknown(&item, text, err);
    }
    if (!name && (*out = find_by_content(root)))
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

pp_status pp_model_read_hf(const pp_json_at *root, const char *file, pp_model *model_out,
                           pp_err *err)
{
    const hf_arch *arch;
    pp_model m = { 0 };
    pp_status status = find_arch(root, &arch, err);
    if (status || (status = arch->read(root, arch, &m, err)))
        return status;
    name_after_file(file, m.name, sizeof m.name);
    snprintf(m.summary, sizeof m.summary, "Hugging Face config.json, model_type %s", arch->type);
    *model_out = m;
    return PP_OK;
}
