/* Keys of a Hugging Face config.json. A key that no reader asked for is
 * - refused if it has a value and decides the size or the cost of some architecture: then the file
 *   contradicts its model_type, or is of a variant that is not modelled;
 * - ignored if it is in the list of those that change neither (tokens, numerics, initialization,
 *   the loss, generation, rotary positions, metadata of the library);
 * - else named.
 * Both lists were made from the configuration classes of transformers 5.24 and the config.json of
 * published models. */
#include "sim/job/model_hf_keys_json.h"

#include "sim/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const sizes[] = {
    "add_cross_attention",
    "attention_chunk_size",
    "attn_type_list",
    "block_configs",
    "cross_attention_layers",
    "decoder_sparse_step",
    "ffn_dim",
    "first_k_dense_replace",
    "full_attention_interval",
    "hybrid_override_pattern",
    "index_n_heads",
    "index_topk",
    "interleave_moe_layer_step",
    "is_encoder_decoder",
    "kv_lora_rank",
    "layers_block_type",
    "linear_num_value_heads",
    "mamba_d_ssm",
    "mamba_d_state",
    "mamba_n_heads",
    "mamba_num_heads",
    "mlp_only_layers",
    "moe_intermediate_size",
    "moe_latent_size",
    "moe_layer_freq",
    "moe_layers",
    "moe_num_experts",
    "moe_topk",
    "n_routed_experts",
    "n_shared_experts",
    "num_experts",
    "num_experts_per_tok",
    "num_kv_shared_layers",
    "num_local_experts",
    "q_lora_rank",
    "shared_expert_intermediate_size",
    "shared_intermediate_size",
    "sliding_window_pattern",
    "ssm_state_size",
    "use_cla",
};

static const char *const harmless[] = {
    "_attn_implementation",
    "_commit_hash",
    "_name_or_path",
    "_sliding_window_pattern",
    "norm_epsilon",
    "activation",
    "activation_function",
    "alibi_bias_max",
    "apply_residual_connection_post_layernorm",
    "architectures",
    "attention_dropout",
    "attention_multiplier",
    "attention_probs_dropout_prob",
    "attention_softmax_in_fp32",
    "attention_value_scale",
    "attn_logit_softcapping",
    "attn_pdrop",
    "attn_scale",
    "attn_temperature_tuning",
    "auto_map",
    "aux_loss_alpha",
    "bias_dropout_fusion",
    "bos_token_id",
    "cache_implementation",
    "cla_share_factor",
    "classifier_dropout",
    "clip_qkv",
    "convert_to_mcore",
    "dtype",
    "embd_layer",
    "embd_pdrop",
    "embedding_dropout",
    "embedding_multiplier",
    "eod_token_id",
    "eos_token_id",
    "ep_size",
    "experts_per_token",
    "factor",
    "final_logit_softcapping",
    "floor_scale",
    "for_llm_compressor",
    "full_attn_alpha_factor",
    "full_attn_beta_factor",
    "fuse_linear",
    "gate_low_rank_dim",
    "hidden_act",
    "hidden_activation",
    "hidden_dropout",
    "hidden_dropout_prob",
    "id2label",
    "im_end_id",
    "im_newline_id",
    "im_start_id",
    "init_std",
    "initial_context_length",
    "initializer_range",
    "key_multiplier",
    "attention_in_multiplier",
    "attention_out_multiplier",
    "label2id",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "layernorm_full_attention_alpha",
    "layernorm_full_attention_beta",
    "layernorm_linear_attention_alpha",
    "layernorm_linear_attention_beta",
    "layernorm_mlp_alpha",
    "layernorm_mlp_beta",
    "layerdrop",
    "linear_attn_alpha_factor",
    "linear_attn_beta_factor",
    "lm_head_multiplier",
    "logit_scale",
    "logits_scaling",
    "logits_soft_cap",
    "mamba_dt_init_floor",
    "mamba_dt_limit",
    "mamba_dt_max",
    "mamba_dt_min",
    "mamba_hidden_act",
    "mamba_norm_before_gate",
    "mamba_ssm_cache_dtype",
    "masked_softmax_fusion",
    "max_length",
    "max_seq_len",
    "max_window_layers",
    "min_length",
    "mlp_alpha_factor",
    "mlp_beta_factor",
    "mlp_expansion_factor",
    "mlp_hidden_act",
    "mlp_multipliers",
    "mlp_type",
    "mtp_use_dedicated_embeddings",
    "model_type",
    "moe_capacity",
    "moe_gate",
    "moe_norm_min",
    "moe_router_enable_expert_bias",
    "moe_shared_expert_overlap",
    "moe_use_aux_free",
    "n_ctx",
    "n_group",
    "n_inner",
    "no_bias",
    "no_rope_layer_interval",
    "no_rope_layers",
    "norm_eps",
    "norm_topk_prob",
    "norm_type",
    "num_logits_to_keep",
    "offset_alibi",
    "order_of_interleaved_layers",
    "org_vocab_size",
    "original_max_position_embeddings",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "pad_id",
    "pad_token_id",
    "partial_rotary_factor",
    "position_embedding_type",
    "pretraining_tp",
    "qk_norm_type",
    "quantization_config",
    "query_pre_attn_scalar",
    "rescale_every",
    "rescale_prenorm_residual",
    "resid_pdrop",
    "residual_dropout",
    "residual_in_fp32",
    "residual_multiplier",
    "return_dict",
    "rms_norm",
    "rms_norm_eps",
    "rope_3d",
    "rope_interleave",
    "rope_interleaved",
    "rope_local_base_freq",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "rotary",
    "rotary_dim",
    "rotary_emb_base",
    "rotary_pct",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "router_z_loss_coef",
    "routed_scaling_factor",
    "scale_attention_softmax_in_fp32",
    "scale_attn_by_inverse_layer_idx",
    "scale_attn_weights",
    "scoring_func",
    "sep_token_id",
    "seq_aux",
    "skip_bias_add",
    "skip_bias_add_qkv",
    "slow_but_exact",
    "ssm_in_multiplier",
    "ssm_multipliers",
    "ssm_out_multiplier",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "swiglu_alpha",
    "swiglu_limit",
    "task_specific_params",
    "text_end_id",
    "text_start_id",
    "tf_legacy_loss",
    "time_step_floor",
    "time_step_limit",
    "time_step_max",
    "time_step_min",
    "time_step_rank",
    "tokenizer_class",
    "topk_group",
    "topk_method",
    "torch_dtype",
    "transformers_version",
    "unk_token_id",
    "use_bfloat16",
    "use_bidirectional_attention",
    "use_cache",
    "use_embedding_sharing",
    "use_flash_attn",
    "use_gated_activation",
    "use_mamba_kernels",
    "use_parallel_block",
    "use_parallel_embedding",
    "use_routing_bias",
    "use_rotary_pos_emb",
    "weight_share_add_bias",
    "word_embed_proj_dim",
    "rope_ratio",
    "mm_tokens_per_image",
    "boi_token_index",
    "eoi_token_index",
    "image_token_id",
    "image_token_index",
    "video_token_id",
    "vision_config",
    "vision_start_token_id",
    "vision_end_token_id",
    "vision_token_id",
    "audio_config",
    "bos_token",
    "eos_token",
    "hidden_size_per_layer_input",
};

static void remember(pp_hf_file *file, const char *key)
{
    assert(file->count < PP_HF_KEYS_MAX);
    file->used[file->count++] = key;
}

bool pp_hf_has(pp_hf_file *file, const char *key)
{
    remember(file, key);
    return pp_json_has(file->root, key);
}

bool pp_hf_present(const pp_hf_file *file, const char *key)
{
    pp_err ignored = { 0 };
    pp_json_at at;
    return pp_json_get(file->root, key, &at, &ignored) == PP_OK;
}

pp_status pp_hf_size(pp_hf_file *file, const char *key, int64_t low, int64_t absent, int64_t null,
                     int64_t *out, pp_err *err)
{
    const bool has = pp_hf_has(file, key);
    if (has || (absent < 0 && !pp_hf_present(file, key)))
        return pp_json_get_int(file->root, key, low, PP_MODEL_SIZE_MAX, out, err);
    *out = pp_hf_present(file, key) ? null : absent;
    return PP_OK;
}

pp_status pp_hf_need(pp_hf_file *file, const char *key, int64_t *out, pp_err *err)
{
    remember(file, key);
    return pp_json_get_int(file->root, key, 1, PP_MODEL_SIZE_MAX, out, err);
}

pp_status pp_hf_flag(pp_hf_file *file, const char *key, bool absent, bool *out, pp_err *err)
{
    *out = absent;
    return pp_hf_has(file, key) ? pp_json_get_bool(file->root, key, out, err) : PP_OK;
}

pp_status pp_hf_list(pp_hf_file *file, const char *key, pp_json_at *list_out, size_t *count_out,
                     pp_err *err)
{
    *count_out = 0;
    if (!pp_hf_has(file, key))
        return PP_OK;
    pp_status status = pp_json_get(file->root, key, list_out, err);
    return status ? status : pp_json_count(list_out, count_out, err);
}

pp_status pp_hf_equal(pp_hf_file *file, const char *key, int64_t low, int64_t absent, int64_t *out,
                      pp_err *err)
{
    pp_json_at list, item;
    size_t count;
    int64_t value, first = 0;
    if (!pp_json_has(file->root, key))
        return pp_hf_size(file, key, low, absent, absent, out, err);
    pp_status status = pp_json_get(file->root, key, &list, err);
    if (status || pp_json_kind_at(&list) != PP_JSON_ARRAY)
        return status ? status : pp_hf_size(file, key, low, absent, absent, out, err);
    status = pp_hf_list(file, key, &list, &count, err);
    if (!status && !count)
        return pp_json_fail(&list, err, "must not be empty");
    for (size_t i = 0; i < count && !status; i++) {
        if ((status = pp_json_item(&list, i, &item, err)) ||
            (status = pp_json_read_int(&item, low, PP_MODEL_SIZE_MAX, &value, err)))
            return status;
        if (i && value != first)
            return pp_json_fail(&item, err,
                                "must be as the first entry: layers that differ in this "
                                "size are not modelled");
        first = value;
    }
    *out = first;
    return status;
}

pp_status pp_hf_fail(const pp_hf_file *file, const char *key, const char *text, pp_err *err)
{
    pp_json_at at = *file->root;
    pp_err ignored = { 0 };
    if (pp_json_get(file->root, key, &at, &ignored))
        at = *file->root;
    return pp_json_fail(&at, err, "%s", text);
}

static bool is_in(const char *key, const char *const list[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i], key) == 0)
            return true;
    }
    return false;
}

/* Returns true if a value switches nothing on. */
static bool says_nothing(const pp_json_at *at)
{
    pp_err ignored = { 0 };
    const char *text = "x";
    pp_json_at item;
    int64_t number = 1;
    size_t count = 1;
    bool flag = true;
    switch (pp_json_kind_at(at)) {
    case PP_JSON_NULL:
        return true;
    case PP_JSON_BOOL:
        return pp_json_read_bool(at, &flag, &ignored) == PP_OK && !flag;
    case PP_JSON_INT:
        return pp_json_read_int(at, INT64_MIN, INT64_MAX, &number, &ignored) == PP_OK && !number;
    case PP_JSON_TEXT:
        return pp_json_read_text(at, &text, &ignored) == PP_OK && !*text;
    case PP_JSON_ARRAY:
        return pp_json_count(at, &count, &ignored) == PP_OK && !count;
    case PP_JSON_OBJECT:
        return !pp_json_member(at, 0, &item);
    case PP_JSON_REAL:
        break;
    }
    return false;
}

pp_status pp_hf_check_keys(const pp_hf_file *file, const char *type, char *names_out, size_t size,
                           pp_err *err)
{
    pp_json_at at;
    size_t used = 0;
    names_out[0] = '\0';
    for (size_t i = 0; pp_json_member(file->root, i, &at); i++) {
        if (is_in(at.key, file->used, file->count) || says_nothing(&at) ||
            is_in(at.key, harmless, sizeof harmless / sizeof *harmless))
            continue;
        if (is_in(at.key, sizes, sizeof sizes / sizeof *sizes))
            return pp_json_fail(&at, err,
                                "changes the sizes of a model, but nothing is known about it for "
                                "model_type %s; remove it if it has no effect there, or describe "
                                "the model as a ppsim.model file",
                                type);
        const int n = snprintf(names_out + used, size - used, "%s%.40s", used ? ", " : "", at.key);
        if (n < 0 || (size_t)n >= size - used) { /* no room for all */
            snprintf(names_out + used, size - used, "%s", size - used > 5 ? " ..." : "");
            break;
        }
        used += (size_t)n;
    }
    return PP_OK;
}
