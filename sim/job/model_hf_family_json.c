/* One line for each architecture of Hugging Face transformers: how its keys are called, which
 * defaults its configuration class has (src/transformers/models/<type>/configuration_<type>.py,
 * version 5.24), and what its module (modeling_<type>.py there) has that its keys do not say. What
 * is peculiar to a family is read by a function of its own.
 *
 * The sizes that decide the scale of a model have no defaults; a file without them is refused,
 * unless published files leave them out (gemma3). */
#include "sim/job/model_hf_family_json.h"

#include "sim/base/alloc.h"
#include "sim/job/model_json_check.h"
#include "sim/job/model_layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIED = 1 << 0, /* tie_word_embeddings unless the file says otherwise */
    UNGATED = 1 << 1,
    LAYER_NORM = 1 << 2,
    QKV_BIAS = 1 << 3, /* unless the file says otherwise */
    ALL_BIAS = 1 << 4, /* the same */
    QKV_ONLY = 1 << 5, /* attention_bias is not that of the output projection */
    QK_NORM = 1 << 6,
    QK_NORM_WIDE = 1 << 7,
    PARALLEL = 1 << 8,
    ROUTER_BIAS = 1 << 9,
    SHARED_GATE = 1 << 10,
    SWITCHED_WINDOW = 1 << 11, /* sliding_window counts only with use_sliding_window */
    MLA = 1 << 12,
    FFN_4H = 1 << 13, /* where the file does not give the inner width */
    EXPERTS_OF_FFN = 1 << 14,
    LEARNED_POSITIONS = 1 << 15,
};

/* Which layers have experts. */
typedef enum moe_layers {
    MOE_ALL,
    MOE_AFTER_FIRST, /* first_k_dense_replace, moe_layer_freq */
    MOE_STEP,        /* decoder_sparse_step, mlp_only_layers */
    MOE_INTERLEAVED, /* interleave_moe_layer_step, moe_layers */
    MOE_LISTED,      /* the reader of layers says it */
    MOE_RANGE,       /* moe_layer_start_index, moe_layer_end_index, moe_layer_interval */
} moe_layers;

/* What is known of the layers before their list is made. types: [model->layers]. */
typedef struct reading {
    pp_hf_file *file;
    const pp_hf_family *family;
    const pp_model_keys *keys;
    pp_model *m;
    pp_layer_type *types;
} reading;

typedef pp_status reader(reading *r, pp_err *err);

struct pp_hf_family {
    const char *type;         /* model_type */
    const char *architecture; /* entry of "architectures" */
    const pp_model_keys *keys;
    unsigned flags;
    reader *more;          /* reads sizes of its own, after the common ones; may be NULL */
    reader *layers;        /* sets the types of layers if there is no layer_types; may be NULL */
    const char *bias_key;  /* switches all biases, or with QKV_BIAS those of q, k and v */
    const char *shared;    /* the key of the number of shared experts, or of their width */
    const char *every_key; /* the key of full_every */
    int64_t heads, kv_heads, head_dim, vocab,
        positions;      /* defaults; kv_heads 0: as many as heads */
    int64_t window;     /* default of sliding_window */
    int64_t full_every; /* one of so many layers has full attention; 0: all are alike */
    int64_t top;        /* default of experts per token */
    int64_t experts;    /* default of their number */
    int64_t groups, groups_per_token; /* defaults of n_group and topk_group */
    int64_t dense_layers;             /* default of first_k_dense_replace */
    int64_t shared_experts;
    int64_t mtp;
    int64_t norms;
    moe_layers moe;
    uint8_t local; /* the mixer of layers without full attention; 0: a sliding window */
};

#define LLAMA_SIZES                                                                          \
    .layers = "num_hidden_layers", .hidden = "hidden_size", .heads = "num_attention_heads",  \
    .kv_heads = "num_key_value_heads", .head_dim = "head_dim", .vocab = "vocab_size",        \
    .max_seq_length = "max_position_embeddings", .experts_per_token = "num_experts_per_tok", \
    .expert_ffn = "moe_intermediate_size", .layer_types = "layer_types"

#define LLAMA_KEYS                                                                    \
    LLAMA_SIZES, .ffn = "intermediate_size", .dense_layers = "first_k_dense_replace", \
                 .kv_lora_rank = "kv_lora_rank", .mtp_layers = "num_nextn_predict_layers"

static const pp_model_keys llama_keys = { LLAMA_KEYS };
static const pp_model_keys local_expert_keys = { LLAMA_KEYS, .experts = "num_local_experts" };
static const pp_model_keys expert_keys = { LLAMA_KEYS, .experts = "num_experts" };
static const pp_model_keys routed_keys = {
    LLAMA_KEYS,
    .experts = "n_routed_experts",
    .expert_groups = "n_group",
    .groups_per_token = "topk_group",
};

static const pp_model_keys gpt2_keys = {
    .layers = "n_layer",
    .hidden = "n_embd",
    .heads = "n_head",
    .ffn = "n_inner",
    .vocab = "vocab_size",
    .max_seq_length = "n_positions",
};

static const pp_model_keys bloom_keys = {
    .layers = "n_layer",
    .hidden = "hidden_size",
    .heads = "n_head",
    .vocab = "vocab_size",
    .max_seq_length = "seq_length",
};

/* Names that other files of the same family have. */
static const pp_model_keys other_bloom_keys = {
    .layers = "num_hidden_layers",
    .hidden = "n_embed",
    .heads = "num_attention_heads",
};

static const pp_model_keys falcon_keys = {
    .layers = "num_hidden_layers",
    .hidden = "hidden_size",
    .heads = "num_attention_heads",
    .kv_heads = "num_kv_heads",
    .ffn = "ffn_hidden_size",
    .vocab = "vocab_size",
    .max_seq_length = "max_position_embeddings",
};

static const pp_model_keys other_falcon_keys = {
    .layers = "n_layer",
    .heads = "n_head",
    .kv_heads = "n_head_kv",
};

static const pp_model_keys opt_keys = {
    .layers = "num_hidden_layers",
    .hidden = "hidden_size",
    .heads = "num_attention_heads",
    .ffn = "ffn_dim",
    .vocab = "vocab_size",
    .max_seq_length = "max_position_embeddings",
};

static const pp_model_keys ernie_keys = {
    .layers = "num_hidden_layers",
    .hidden = "hidden_size",
    .heads = "num_attention_heads",
    .kv_heads = "num_key_value_heads",
    .head_dim = "head_dim",
    .ffn = "intermediate_size",
    .vocab = "vocab_size",
    .max_seq_length = "max_position_embeddings",
    .experts = "moe_num_experts",
    .experts_per_token = "moe_k",
    .expert_ffn = "moe_intermediate_size",
    .mtp_layers = "num_nextn_predict_layers",
};

static const pp_model_keys hunyuan_keys = {
    .layers = "num_hidden_layers",
    .hidden = "hidden_size",
    .heads = "num_attention_heads",
    .kv_heads = "num_key_value_heads",
    .head_dim = "head_dim",
    .ffn = "intermediate_size",
    .vocab = "vocab_size",
    .max_seq_length = "max_position_embeddings",
    .experts = "num_experts",
    .experts_per_token = "moe_topk",
};

static const pp_model_keys nemotron_h_keys = {
    LLAMA_KEYS,
    .experts = "n_routed_experts",
    .scan_groups = "n_groups",
};

static const pp_model_keys falcon_h1_keys = { LLAMA_KEYS, .scan_groups = "mamba_n_groups" };
static const pp_model_keys qwen3_5_keys = {
    LLAMA_SIZES,
    .ffn = "intermediate_size",
    .mtp_layers = "mtp_num_hidden_layers",
    .scan_groups = "linear_num_key_heads",
};

static const pp_model_keys qwen3_5_moe_keys = {
    LLAMA_SIZES,
    .experts = "num_experts",
    .mtp_layers = "mtp_num_hidden_layers",
    .scan_groups = "linear_num_key_heads",
};

static const pp_model_keys qwen3_next_keys = {
    LLAMA_KEYS,
    .experts = "num_experts",
    .scan_groups = "linear_num_key_heads",
};

/* ---- readers of single families ------------------------------------------------------------- */

static pp_status fail(const reading *r, const char *key, const char *text, pp_err *err)
{
    return pp_hf_fail(r->file, key, text, err);
}

static pp_status need_flag(const reading *r, const char *key, bool needed, const char *why,
                           pp_err *err)
{
    bool value;
    pp_status status = pp_hf_flag(r->file, key, needed, &value, err);
    return status || value == needed ? status : fail(r, key, why, err);
}

/* DeepSeek-V2 has groups, but uses them with one of its methods only; "greedy" takes the best
 * experts of all. */
static pp_status read_groups(reading *r, pp_err *err)
{
    const pp_hf_family *f = r->family;
    pp_model *m = r->m;
    const char *method = "";
    pp_status status = pp_hf_size(r->file, "n_group", 0, f->groups, 0, &m->expert_groups, err);
    if (status || (status = pp_hf_size(r->file, "topk_group", 0, f->groups_per_token, 0,
                                       &m->groups_per_token, err)))
        return status;
    if (pp_hf_has(r->file, "topk_method") &&
        (status = pp_json_get_text(r->file->root, "topk_method", &method, err)))
        return status;
    if (strcmp(method, "greedy") == 0 || (!*method && !f->groups) ||
        (m->expert_groups == 1 && m->groups_per_token == 1)) /* one group is all experts */
        m->expert_groups = m->groups_per_token = 0;
    return PP_OK;
}

static pp_status more_gpt2(reading *r, pp_err *err)
{
    return need_flag(r, "add_cross_attention", false, "must be false: ppsim models only decoders",
                     err);
}

static pp_status more_gpt_oss(reading *r, pp_err *err)
{
    r->m->sinks = true;
    return need_flag(r, "attention_bias", true, "must be true: gpt_oss has biases everywhere", err);
}

static pp_status more_gpt_neox(reading *r, pp_err *err)
{
    pp_status status =
        pp_hf_flag(r->file, "use_parallel_residual", true, &r->m->parallel_block, err);
    return status ? status
                  : need_flag(r, "attention_bias", true,
                              "must be true: biases in the MLP alone are not modelled", err);
}

static pp_status more_phi(reading *r, pp_err *err)
{
    r->m->head_bias = true;
    return pp_hf_flag(r->file, "qk_layernorm", false, &r->m->qk_norm, err);
}

static pp_status more_stablelm(reading *r, pp_err *err)
{
    pp_status status = pp_hf_flag(r->file, "qk_layernorm", false, &r->m->qk_norm_wide, err);
    if (!status)
        status = pp_hf_flag(r->file, "use_parallel_residual", false, &r->m->parallel_block, err);
    r->m->norms = r->m->parallel_block ? 1 : 2;
    return status;
}

static pp_status more_opt(reading *r, pp_err *err)
{
    int64_t width;
    pp_status status =
        pp_hf_size(r->file, "word_embed_proj_dim", 1, r->m->hidden, r->m->hidden, &width, err);
    if (!status && width != r->m->hidden)
        return fail(r, "word_embed_proj_dim",
                    "must be hidden_size: embeddings of another width are not modelled", err);
    if (!status)
        status = need_flag(r, "do_layer_norm_before", true,
                           "must be true: norms behind each block are not modelled", err);
    if (!status)
        status = need_flag(r, "layer_norm_elementwise_affine", true, "must be true", err);
    r->m->max_seq_length += 2; /* OPTLearnedPositionalEmbedding: an offset of 2 */
    return status;
}

static pp_status more_bloom(reading *r, pp_err *err)
{
    (void)err;
    r->m->embedding_norm = true;
    return PP_OK;
}

/* falcon-7b has one key-value head and one norm; the newer decoder has groups and two norms. */
static pp_status more_falcon(reading *r, pp_err *err)
{
    bool newer, multi_query, alibi;
    int64_t norms;
    pp_status status = pp_hf_flag(r->file, "new_decoder_architecture", false, &newer, err);
    if (status || (status = pp_hf_flag(r->file, "multi_query", true, &multi_query, err)) ||
        (status = pp_hf_flag(r->file, "parallel_attn", true, &r->m->parallel_block, err)) ||
        (status = pp_hf_flag(r->file, "alibi", false, &alibi, err)) ||
        (status = pp_hf_size(r->file, "num_ln_in_parallel_attn", 1, 2, 2, &norms, err)))
        return status;
    if (!newer)
        r->m->kv_heads = multi_query ? 1 : r->m->heads;
    r->m->parallel_block |= newer;
    r->m->norms = !r->m->parallel_block ? 2 : newer ? norms : 1;
    return PP_OK;
}

static pp_status more_seed_oss(reading *r, pp_err *err)
{
    return pp_hf_flag(r->file, "attention_out_bias", false, &r->m->out_bias, err);
}

static pp_status more_hunyuan(reading *r, pp_err *err)
{
    (void)pp_hf_has(r->file, "attention_head_dim");
    (void)pp_hf_has(r->file, "use_qk_norm");
    (void)pp_hf_has(r->file, "use_mixed_mlp_moe");
    return need_flag(r, "use_cla", false,
                     "must be false: attention that shares keys between layers "
                     "is not modelled",
                     err);
}

static pp_status more_hunyuan_moe(reading *r, pp_err *err)
{
    pp_model *m = r->m;
    int64_t shared;
    pp_status status = more_hunyuan(r, err);
    if (status ||
        (status = pp_hf_equal(r->file, "moe_intermediate_size", 1, m->ffn, &m->expert_ffn, err)) ||
        (status = pp_hf_equal(r->file, "num_shared_expert", 0, 1, &shared, err)))
        return status;
    if (shared > PP_MODEL_SIZE_MAX / m->expert_ffn)
        return fail(r, "num_shared_expert", "the shared experts are too wide", err);
    m->shared_ffn = shared * m->expert_ffn;
    return PP_OK;
}

static pp_status more_glm4_moe(reading *r, pp_err *err)
{
    pp_status status = read_groups(r, err);
    return status ? status : pp_hf_flag(r->file, "use_qk_norm", false, &r->m->qk_norm, err);
}

static pp_status more_minimax(reading *r, pp_err *err)
{
    r->m->scan_heads = r->m->heads;
    r->m->scan_value_dim = r->m->scan_key_dim =
        r->m->head_dim ? r->m->head_dim : r->m->hidden / r->m->heads;
    r->m->scan_norm = true;
    return pp_hf_size(r->file, "block_size", 1, 256, 256, &r->m->scan_chunk, err);
}

static pp_status more_minimax_m2(reading *r, pp_err *err)
{
    bool mtp;
    int64_t modules, depth;
    pp_json_at list, item;
    size_t count;
    int64_t full;
    pp_status status = pp_hf_flag(r->file, "use_mtp", false, &mtp, err);
    if (status || (status = pp_hf_size(r->file, "num_mtp_modules", 0, 0, 0, &modules, err)) ||
        (status = pp_hf_size(r->file, "mtp_transformer_layers", 0, 1, 1, &depth, err)) ||
        (status = need_flag(r, "use_qk_norm", true, "must be true", err)) ||
        (status = pp_hf_list(r->file, "attn_type_list", &list, &count, err)))
        return status;
    for (size_t i = 0; i < count && !status; i++) {
        if (!(status = pp_json_item(&list, i, &item, err)))
            status = pp_json_read_int(&item, 1, 1, &full, err);
    }
    if (!status && mtp && depth != 1)
        return fail(r, "mtp_transformer_layers", "must be 1", err);
    r->m->mtp_layers = mtp ? modules : 0;
    return status;
}

static pp_status more_deepseek(reading *r, pp_err *err)
{
    pp_model *m = r->m;
    pp_hf_file *file = r->file;
    pp_status status = read_groups(r, err);
    if (status || (status = pp_hf_need(file, "kv_lora_rank", &m->kv_lora_rank, err)) ||
        (status = pp_hf_need(file, "qk_nope_head_dim", &m->qk_nope_head_dim, err)) ||
        (status = pp_hf_need(file, "qk_rope_head_dim", &m->qk_rope_head_dim, err)) ||
        (status = pp_hf_need(file, "v_head_dim", &m->v_head_dim, err)))
        return status;
    m->attention = PP_ATTENTION_MLA;
    const int64_t width = m->qk_nope_head_dim + m->qk_rope_head_dim;
    int64_t both;
    if ((status = pp_hf_size(file, "qk_head_dim", 1, width, width, &both, err)))
        return status;
    if (both != width)
        return fail(r, "qk_head_dim", "must be qk_nope_head_dim + qk_rope_head_dim", err);
    return pp_hf_size(file, "q_lora_rank", 0, 1536, 0, &m->q_lora_rank, err);
}

static pp_status more_deepseek_v32(reading *r, pp_err *err)
{
    pp_status status = more_deepseek(r, err);
    if (status || (status = pp_hf_need(r->file, "index_n_heads", &r->m->index_heads, err)) ||
        (status = pp_hf_need(r->file, "index_head_dim", &r->m->index_head_dim, err)))
        return status;
    return pp_hf_need(r->file, "index_topk", &r->m->index_topk, err);
}

static pp_status more_qwen3_next(reading *r, pp_err *err)
{
    pp_model *m = r->m;
    pp_hf_file *file = r->file;
    m->scan_norm = true;
    m->scan_chunk = 64; /* chunk_size of chunk_gated_delta_rule */
    pp_status status = pp_hf_flag(file, "attn_output_gate", true, &m->attention_gate, err);
    if (!status)
        status = pp_hf_size(file, "linear_num_value_heads", 1, 32, 32, &m->scan_heads, err);
    if (status ||
        (status = pp_hf_size(file, "linear_num_key_heads", 1, 16, 16, &m->scan_groups, err)) ||
        (status = pp_hf_size(file, "linear_key_head_dim", 1, 128, 128, &m->scan_key_dim, err)) ||
        (status = pp_hf_size(file, "linear_value_head_dim", 1, 128, 128, &m->scan_value_dim, err)))
        return status;
    return pp_hf_size(file, "linear_conv_kernel_dim", 1, 4, 4, &m->scan_conv, err);
}

/* The width of the dense MLPs is another than that of the experts. Layers without rotary positions
 * attend to all tokens, the others within chunks. */
static pp_status more_llama4(reading *r, pp_err *err)
{
    pp_model *m = r->m;
    m->expert_ffn = m->shared_ffn = m->ffn;
    pp_status status = pp_hf_need(r->file, "intermediate_size_mlp", &m->ffn, err);
    if (status || (status = pp_hf_size(r->file, "attention_chunk_size", 1, 8192, 0,
                                       &m->attention_chunk, err)))
        return status;
    (void)pp_hf_has(r->file, "use_qk_norm"); /* without weights */
    return PP_OK;
}

static pp_status read_mamba(reading *r, const char *const key[6], int64_t groups, int64_t chunk,
                            pp_err *err)
{
    pp_model *m = r->m;
    pp_hf_file *file = r->file;
    pp_status status = pp_hf_size(file, key[0], 1, 128, 128, &m->scan_heads, err);
    if (status || (status = pp_hf_size(file, key[1], 1, -1, 0, &m->scan_value_dim, err)) ||
        (status = pp_hf_size(file, key[2], 1, groups, groups, &m->scan_groups, err)) ||
        (status = pp_hf_size(file, key[3], 1, -1, 0, &m->scan_key_dim, err)) ||
        (status = pp_hf_size(file, key[4], 1, 4, 4, &m->scan_conv, err)))
        return status;
    return pp_hf_size(file, key[5], 1, chunk, chunk, &m->scan_chunk, err);
}

static pp_status more_falcon_h1(reading *r, pp_err *err)
{
    static const char *const key[] = { "mamba_n_heads", "mamba_d_head", "mamba_n_groups",
                                       "mamba_d_state", "mamba_d_conv", "mamba_chunk_size" };
    int64_t inner, expand;
    pp_status status = read_mamba(r, key, 1, 256, err);
    if (status || (status = pp_hf_size(r->file, "mamba_expand", 1, 2, 2, &expand, err)) ||
        (status = pp_hf_size(r->file, "mamba_d_ssm", 1, 1024, 0, &inner, err)) ||
        (status = pp_hf_flag(r->file, "mamba_conv_bias", true, &r->m->scan_conv_bias, err)) ||
        (status = pp_hf_flag(r->file, "mamba_rms_norm", false, &r->m->scan_norm, err)) ||
        (status =
             need_flag(r, "mamba_proj_bias", false, "must be false: it is not modelled", err)) ||
        (status = need_flag(r, "projectors_bias", false, "must be false: it is not modelled", err)))
        return status;
    if (inner && inner != r->m->scan_heads * r->m->scan_value_dim)
        return fail(r, "mamba_d_ssm", "must be mamba_n_heads x mamba_d_head", err);
    return PP_OK;
}

static pp_status layers_falcon_h1(reading *r, pp_err *err)
{
    (void)err;
    for (int64_t l = 0; l < r->m->layers; l++)
        r->types[l].mixer = PP_MIXER_HYBRID;
    return PP_OK;
}

static pp_status more_nemotron_h(reading *r, pp_err *err)
{
    static const char *const key[] = { "mamba_num_heads", "mamba_head_dim", "n_groups",
                                       "ssm_state_size",  "conv_kernel",    "chunk_size" };
    pp_model *m = r->m;
    int64_t expand, latent, shared;
    pp_status status = read_mamba(r, key, 8, 128, err);
    if (status || (status = pp_hf_size(r->file, "expand", 1, 2, 2, &expand, err)) ||
        (status = pp_hf_flag(r->file, "use_conv_bias", true, &m->scan_conv_bias, err)) ||
        (status = pp_hf_size(r->file, "attention_head_dim", 1, 0, 0, &latent, err)) ||
        (status = need_flag(r, "use_bias", false, "must be false: it is not modelled", err)) ||
        (status =
             need_flag(r, "mamba_proj_bias", false, "must be false: it is not modelled", err)) ||
        (status = pp_hf_size(r->file, "moe_latent_size", 0, 0, 0, &latent, err)))
        return status;
    if (latent)
        return fail(r, "moe_latent_size", "must be null: it is not modelled", err);
    if ((status = pp_hf_size(r->file, "n_shared_experts", 0, 1, 1, &shared, err)))
        return status;
    int64_t mtp;
    (void)pp_hf_has(r->file, "mtp_layers_block_type");
    if ((status = pp_hf_size(r->file, "num_nextn_predict_layers", 0, 0, 0, &mtp, err)))
        return status;
    if (mtp)
        return fail(r, "num_nextn_predict_layers",
                    "must be 0: modules of several layers are not modelled", err);
    if (shared > 1)
        return fail(r, "n_shared_experts", "must be 1: the width of more is not known", err);
    m->scan_norm = true;
    return m->experts ? read_groups(r, err) : PP_OK;
}

/* The layers are a letter each in hybrid_override_pattern or a word in layers_block_type: Mamba,
 * attention, MLP, or experts. */
static pp_status layers_nemotron_h(reading *r, pp_err *err)
{
    static const char letters[] = "M*-E";
    static const char *const words[] = { "linear_attention", "full_attention", "mlp", "moe" };
    static const pp_layer_type of[] = { { PP_MIXER_MAMBA, PP_MLP_NONE },
                                        { PP_MIXER_FULL, PP_MLP_NONE },
                                        { PP_MIXER_NONE, PP_MLP_DENSE },
                                        { PP_MIXER_NONE, PP_MLP_MOE } };
    const bool listed = pp_hf_has(r->file, "layers_block_type");
    const char *key = listed ? "layers_block_type" : "hybrid_override_pattern";
    const char *text = "";
    pp_json_at list, item;
    size_t count;
    pp_status status = PP_OK;
    if (listed)
        status = pp_hf_list(r->file, key, &list, &count, err);
    else if (!pp_hf_has(r->file, key))
        return fail(r, key, "the key \"hybrid_override_pattern\" is missing", err);
    else if (!(status = pp_json_get_text(r->file->root, key, &text, err)))
        count = strlen(text);
    if (status)
        return status;
    if (count != (size_t)r->m->layers)
        return fail(r, key, "must have an entry for each layer", err);
    for (size_t l = 0; l < count; l++) {
        const char *word = NULL;
        size_t k = 0;
        if (listed && ((status = pp_json_item(&list, l, &item, err)) ||
                       (status = pp_json_read_text(&item, &word, err))))
            return status;
        while (k < 4 && (listed ? strcmp(words[k], word) != 0 : letters[k] != text[l]))
            k++;
        if (k == 4)
            return fail(r, key,
                        listed
                            ? "must have the words linear_attention, full_attention, mlp and moe "
                              "only"
                            : "must have the letters M, *, - and E only",
                        err);
        r->types[l] = of[k];
    }
    return PP_OK;
}

/* no_rope_layers has a 0 for each layer without rotary positions, which attends to all tokens. */
static pp_status layers_llama4(reading *r, pp_err *err)
{
    pp_json_at list, item;
    size_t count;
    int64_t rope;
    pp_status status = pp_hf_list(r->file, "no_rope_layers", &list, &count, err);
    if (!status && count && (int64_t)count < r->m->layers)
        return fail(r, "no_rope_layers", "must have an entry for each layer", err);
    for (int64_t l = 0; l < r->m->layers && count && !status; l++) {
        if ((status = pp_json_item(&list, (size_t)l, &item, err)) ||
            (status = pp_json_read_int(&item, 0, 1, &rope, err)))
            return status;
        r->types[l].mixer = rope && r->m->attention_chunk ? PP_MIXER_CHUNK : PP_MIXER_FULL;
    }
    return status;
}

static pp_status more_smollm3(reading *r, pp_err *err)
{
    (void)pp_hf_has(r->file, "sliding_window");
    return need_flag(r, "use_sliding_window", false,
                     "must be false: a window in layers without rotary positions is not modelled",
                     err);
}

/* ---- the families --------------------------------------------------------------------------- */

#define FAMILY(name, class, ...)                         \
    {                                                    \
        .type = name, .architecture = class, __VA_ARGS__ \
    }

static const pp_hf_family families[] = {
    FAMILY("gpt2", "GPT2LMHeadModel", .keys = &gpt2_keys, .more = more_gpt2,
           .flags = TIED | UNGATED | LAYER_NORM | ALL_BIAS | FFN_4H | LEARNED_POSITIONS),
    FAMILY("llama", "LlamaForCausalLM", .flags = 0),
    FAMILY("mistral", "MistralForCausalLM", .kv_heads = 8, .window = 4096),
    FAMILY("mistral3", "Mistral3ForConditionalGeneration", .kv_heads = 8, .window = 4096),
    FAMILY("ministral3", "Ministral3ForCausalLM", .kv_heads = 8),
    FAMILY("mixtral", "MixtralForCausalLM", .keys = &local_expert_keys, .flags = EXPERTS_OF_FFN,
           .kv_heads = 8, .experts = 8, .top = 2),
    FAMILY("qwen2", "Qwen2ForCausalLM", .flags = QKV_BIAS | QKV_ONLY | SWITCHED_WINDOW,
           .kv_heads = 32, .window = 4096),
    FAMILY("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration",
           .flags = QKV_BIAS | QKV_ONLY | SWITCHED_WINDOW, .kv_heads = 8, .window = 4096),
    FAMILY("qwen2_moe", "Qwen2MoeForCausalLM", .keys = &expert_keys, .bias_key = "qkv_bias",
           .flags = QKV_BIAS | SWITCHED_WINDOW | SHARED_GATE, .kv_heads = 16, .window = 4096,
           .top = 4, .shared = "shared_expert_intermediate_size", .shared_experts = 5632,
           .moe = MOE_STEP),
    FAMILY("qwen3", "Qwen3ForCausalLM", .flags = QK_NORM | SWITCHED_WINDOW, .kv_heads = 32,
           .head_dim = 128, .window = 4096),
    FAMILY("qwen3_vl", "Qwen3VLForConditionalGeneration", .flags = QK_NORM, .kv_heads = 32,
           .head_dim = 128),
    FAMILY("qwen3_moe", "Qwen3MoeForCausalLM", .keys = &expert_keys,
           .flags = QK_NORM | SWITCHED_WINDOW, .kv_heads = 4, .window = 4096, .top = 8,
           .moe = MOE_STEP),
    FAMILY("qwen3_vl_moe", "Qwen3VLMoeForConditionalGeneration", .keys = &expert_keys,
           .flags = QK_NORM, .kv_heads = 16, .top = 4, .moe = MOE_STEP),
    FAMILY("qwen3_next", "Qwen3NextForCausalLM", .keys = &qwen3_next_keys,
           .flags = QK_NORM | SHARED_GATE, .more = more_qwen3_next, .kv_heads = 2, .head_dim = 256,
           .local = PP_MIXER_DELTA, .full_every = 4, .every_key = "full_attention_interval",
           .top = 10, .shared = "shared_expert_intermediate_size", .shared_experts = 512,
           .moe = MOE_STEP),
    FAMILY("qwen3_5", "Qwen3_5ForConditionalGeneration", .keys = &qwen3_5_keys, .flags = QK_NORM,
           .more = more_qwen3_next, .kv_heads = 4, .head_dim = 256, .local = PP_MIXER_DELTA,
           .full_every = 4, .every_key = "full_attention_interval"),
    FAMILY("qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration", .keys = &qwen3_5_moe_keys,
           .flags = QK_NORM | SHARED_GATE, .more = more_qwen3_next, .kv_heads = 2, .head_dim = 256,
           .local = PP_MIXER_DELTA, .full_every = 4, .every_key = "full_attention_interval",
           .top = 8, .shared = "shared_expert_intermediate_size", .shared_experts = 512),
    FAMILY("deepseek_v2", "DeepseekV2ForCausalLM", .keys = &routed_keys, .flags = MLA,
           .more = more_deepseek, .shared = "n_shared_experts", .shared_experts = 2,
           .moe = MOE_AFTER_FIRST),
    FAMILY("deepseek_v3", "DeepseekV3ForCausalLM", .keys = &routed_keys, .flags = MLA | ROUTER_BIAS,
           .more = more_deepseek, .shared = "n_shared_experts", .shared_experts = 1,
           .moe = MOE_AFTER_FIRST, .dense_layers = 3, .groups = 8, .groups_per_token = 4),
    FAMILY("deepseek_v32", "DeepseekV32ForCausalLM", .keys = &routed_keys,
           .flags = MLA | ROUTER_BIAS, .more = more_deepseek_v32, .shared = "n_shared_experts",
           .shared_experts = 1, .moe = MOE_AFTER_FIRST, .dense_layers = 3, .groups = 8,
           .groups_per_token = 4),
    FAMILY("kimi_k2", "KimiK2ForCausalLM", .keys = &routed_keys, .flags = MLA | ROUTER_BIAS,
           .more = more_deepseek, .shared = "n_shared_experts", .shared_experts = 1,
           .moe = MOE_AFTER_FIRST, .dense_layers = 3, .groups = 8, .groups_per_token = 4),
    FAMILY("llama4", "Llama4ForConditionalGeneration", .keys = &local_expert_keys,
           .more = more_llama4, .layers = layers_llama4, .kv_heads = 8, .head_dim = 128,
           .local = PP_MIXER_CHUNK, .full_every = 4, .every_key = "no_rope_layer_interval",
           .experts = 16, .top = 1, .moe = MOE_INTERLEAVED),
    FAMILY("gpt_oss", "GptOssForCausalLM", .keys = &local_expert_keys, .more = more_gpt_oss,
           .flags = ALL_BIAS | ROUTER_BIAS | EXPERTS_OF_FFN, .kv_heads = 8, .head_dim = 64,
           .window = 128, .full_every = 2, .top = 4),
    FAMILY("gemma", "GemmaForCausalLM", .flags = TIED, .kv_heads = 16, .head_dim = 256),
    FAMILY("gemma2", "Gemma2ForCausalLM", .flags = TIED, .kv_heads = 4, .head_dim = 256,
           .window = 4096, .full_every = 2, .norms = 4),
    FAMILY("gemma3", "Gemma3ForConditionalGeneration", .flags = TIED | QK_NORM, .heads = 8,
           .kv_heads = 4, .head_dim = 256, .vocab = 262208, .positions = 131072, .window = 4096,
           .full_every = 6, .every_key = "sliding_window_pattern", .norms = 4),
    FAMILY("gemma3_text", "Gemma3ForCausalLM", .flags = TIED | QK_NORM, .heads = 8, .kv_heads = 4,
           .head_dim = 256, .vocab = 262208, .positions = 131072, .window = 4096, .full_every = 6,
           .every_key = "sliding_window_pattern", .norms = 4),
    FAMILY("phi", "PhiForCausalLM", .more = more_phi,
           .flags = UNGATED | LAYER_NORM | ALL_BIAS | PARALLEL, .norms = 1),
    FAMILY("phi3", "Phi3ForCausalLM", .flags = 0),
    FAMILY("glm4", "Glm4ForCausalLM", .flags = QKV_BIAS | QKV_ONLY, .kv_heads = 2, .head_dim = 128,
           .norms = 4),
    FAMILY("glm4_moe", "Glm4MoeForCausalLM", .keys = &routed_keys, .flags = QKV_ONLY | ROUTER_BIAS,
           .more = more_glm4_moe, .kv_heads = 8, .top = 8, .shared = "n_shared_experts",
           .shared_experts = 1, .moe = MOE_AFTER_FIRST, .dense_layers = 1, .groups = 1,
           .groups_per_token = 1, .mtp = 1),
    FAMILY("minimax", "MiniMaxForCausalLM", .keys = &local_expert_keys, .flags = EXPERTS_OF_FFN,
           .more = more_minimax, .kv_heads = 8, .local = PP_MIXER_LIGHTNING, .full_every = 2,
           .experts = 8, .top = 2),
    FAMILY("minimax_m2", "MiniMaxM2ForCausalLM", .keys = &local_expert_keys,
           .flags = EXPERTS_OF_FFN | QK_NORM_WIDE | ROUTER_BIAS, .more = more_minimax_m2,
           .kv_heads = 8, .head_dim = 128, .experts = 256, .top = 8),
    FAMILY("olmo2", "Olmo2ForCausalLM", .flags = QK_NORM_WIDE),
    FAMILY("olmo3", "Olmo3ForCausalLM", .flags = QK_NORM_WIDE, .window = 4096, .full_every = 4),
    FAMILY("granite", "GraniteForCausalLM", .flags = 0),
    FAMILY("granitemoe", "GraniteMoeForCausalLM", .keys = &local_expert_keys,
           .flags = EXPERTS_OF_FFN, .experts = 8, .top = 2),
    FAMILY("cohere2", "Cohere2ForCausalLM", .flags = TIED | PARALLEL, .window = 4096,
           .full_every = 4, .every_key = "sliding_window_pattern", .norms = 1),
    FAMILY("seed_oss", "SeedOssForCausalLM", .flags = QKV_BIAS | QKV_ONLY, .more = more_seed_oss,
           .kv_heads = 8, .head_dim = 128),
    FAMILY("nemotron", "NemotronForCausalLM", .flags = UNGATED | LAYER_NORM),
    FAMILY("nemotron_h", "NemotronHForCausalLM", .keys = &nemotron_h_keys,
           .flags = UNGATED | ROUTER_BIAS, .more = more_nemotron_h, .layers = layers_nemotron_h,
           .kv_heads = 8, .head_dim = 128, .shared = "moe_shared_expert_intermediate_size",
           .shared_experts = 7688, .top = 2, .groups = 1, .groups_per_token = 1, .moe = MOE_LISTED),
    FAMILY("falcon", "FalconForCausalLM", .keys = &falcon_keys, .more = more_falcon,
           .flags = TIED | UNGATED | LAYER_NORM | FFN_4H, .bias_key = "bias", .positions = 2048),
    FAMILY("falcon_h1", "FalconH1ForCausalLM", .keys = &falcon_h1_keys, .more = more_falcon_h1,
           .layers = layers_falcon_h1, .kv_heads = 8),
    FAMILY("opt", "OPTForCausalLM", .keys = &opt_keys, .more = more_opt, .bias_key = "enable_bias",
           .flags = TIED | UNGATED | LAYER_NORM | ALL_BIAS | LEARNED_POSITIONS),
    FAMILY("gpt_neox", "GPTNeoXForCausalLM", .more = more_gpt_neox,
           .flags = UNGATED | LAYER_NORM | ALL_BIAS),
    FAMILY("bloom", "BloomForCausalLM", .keys = &bloom_keys, .more = more_bloom,
           .flags = TIED | UNGATED | LAYER_NORM | ALL_BIAS | FFN_4H, .positions = 2048),
    FAMILY("starcoder2", "Starcoder2ForCausalLM", .flags = TIED | UNGATED | LAYER_NORM | ALL_BIAS,
           .bias_key = "use_bias", .kv_heads = 2),
    FAMILY("stablelm", "StableLmForCausalLM", .flags = LAYER_NORM, .more = more_stablelm,
           .bias_key = "use_qkv_bias"),
    FAMILY("smollm3", "SmolLM3ForCausalLM", .flags = TIED, .more = more_smollm3, .kv_heads = 4),
    FAMILY("ernie4_5", "Ernie4_5ForCausalLM", .flags = TIED, .kv_heads = 2, .bias_key = "use_bias",
           .head_dim = 128),
    FAMILY("ernie4_5_moe", "Ernie4_5_MoeForCausalLM", .keys = &ernie_keys,
           .flags = TIED | ROUTER_BIAS, .bias_key = "use_bias", .kv_heads = 4, .top = 6,
           .shared = "moe_num_shared_experts", .shared_experts = 2, .moe = MOE_RANGE),
    FAMILY("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", .flags = QK_NORM, .more = more_hunyuan),
    FAMILY("hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", .keys = &hunyuan_keys,
           .more = more_hunyuan_moe, .flags = QK_NORM | EXPERTS_OF_FFN),
};

#define FAMILIES (sizeof families / sizeof families[0])

size_t pp_hf_family_count(void)
{
    return FAMILIES;
}

const pp_hf_family *pp_hf_family_at(size_t index)
{
    return &families[index];
}

const char *pp_hf_family_type(const pp_hf_family *family)
{
    return family->type;
}

/* Returns true if the name is this type, or that of its text model, such as qwen3_vl_text. */
static bool is_type(const char *type, const char *name)
{
    const size_t length = strlen(type);
    return strncmp(type, name, length) == 0 && (!name[length] || !strcmp(name + length, "_text"));
}

const pp_hf_family *pp_hf_family_find(const char *name)
{
    const pp_hf_family *found = NULL; /* gemma3_text is a family of its own */
    for (size_t i = 0; i < FAMILIES; i++) {
        if (strcmp(families[i].type, name) == 0 || strcmp(families[i].architecture, name) == 0)
            return &families[i];
        if (is_type(families[i].type, name))
            found = &families[i];
    }
    return found;
}

const pp_hf_family *pp_hf_family_of_keys(const pp_json_at *root)
{
    if (pp_json_has(root, "n_embd"))
        return pp_hf_family_find("gpt2");
    if (pp_json_has(root, "kv_lora_rank"))
        return pp_hf_family_find(pp_json_has(root, "index_topk") ? "deepseek_v32" : "deepseek_v3");
    if (pp_json_has(root, "layer_types")) /* of one of many newer families */
        return NULL;
    if (pp_json_has(root, "num_local_experts"))
        return pp_hf_family_find("mixtral");
    if (pp_json_has(root, "hidden_size") && pp_json_has(root, "rms_norm_eps"))
        return pp_hf_family_find("llama");
    return NULL;
}

/* ---- what families share -------------------------------------------------------------------- */

/* The keys of this file, which may have other names for some of them. */
static pp_model_keys keys_of(const pp_hf_family *family, const pp_hf_file *file)
{
    pp_model_keys keys = family->keys ? *family->keys : llama_keys;
    const pp_model_keys none = { 0 };
    const pp_model_keys *other = family->keys == &bloom_keys    ? &other_bloom_keys
                                 : family->keys == &falcon_keys ? &other_falcon_keys
                                                                : &none;
    const struct {
        const char **key;
        const char *other;
    } pairs[] = {
        { &keys.layers, other->layers },
        { &keys.hidden, other->hidden },
        { &keys.heads, other->heads },
        { &keys.kv_heads, other->kv_heads },
        /* transformers has two names for the number of experts */
        { &keys.experts, keys.experts ? "num_local_experts" : NULL },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (pairs[i].other && !pp_json_has(file->root, *pairs[i].key) &&
            pp_json_has(file->root, pairs[i].other))
            *pairs[i].key = pairs[i].other;
    }
    return keys;
}

/* A default of 0 is none. */
static int64_t or_required(int64_t value)
{
    return value ? value : -1;
}

static pp_status read_sizes(reading *r, pp_err *err)
{
    const pp_hf_family *f = r->family;
    const pp_model_keys *k = r->keys;
    pp_model *m = r->m;
    pp_hf_file *file = r->file;
    const bool mla = f->flags & MLA;
    const char *listed = "layers_block_type"; /* nemotron_h: the list has as many entries */
    pp_json_at list;
    size_t count = 0;
    pp_status status = PP_OK;
    (void)pp_hf_has(file, k->max_seq_length);
    if (!pp_hf_has(file, k->layers) && pp_json_has(file->root, listed) &&
        !(status = pp_hf_list(file, listed, &list, &count, err)))
        m->layers = (int64_t)count;
    if (!status && (m->layers < 1 || m->layers > PP_MODEL_LAYERS_MAX))
        status = pp_json_get_int(file->root, k->layers, 1, PP_MODEL_LAYERS_MAX, &m->layers, err);
    if (status || (status = pp_hf_need(file, k->hidden, &m->hidden, err)) ||
        (status = pp_hf_size(file, k->heads, 1, or_required(f->heads), f->heads, &m->heads, err)) ||
        (status = pp_hf_size(file, k->vocab, 1, or_required(f->vocab), f->vocab, &m->vocab, err)))
        return status;
    m->max_seq_length = f->positions;
    if (!f->positions || pp_json_has(file->root, k->max_seq_length))
        status = pp_json_get_int(file->root, k->max_seq_length, 1, PP_MODEL_SEQ_MAX,
                                 &m->max_seq_length, err);
    if (!status && k->ffn)
        status = pp_hf_size(file, k->ffn, 1, f->flags & FFN_4H ? 0 : -1, 0, &m->ffn, err);
    if (!status && f->flags & FFN_4H && m->ffn == 0)
        m->ffn = m->hidden > PP_MODEL_SIZE_MAX / 4 ? PP_MODEL_SIZE_MAX : 4 * m->hidden;
    if (!status && k->kv_heads)
        status = pp_hf_size(file, k->kv_heads, 1, f->kv_heads, 0, &m->kv_heads, err);
    if (mla) /* transformers sets it to the rotary part */
        (void)pp_hf_has(file, "head_dim");
    if (!status && k->head_dim && !mla)
        status = pp_hf_size(file, k->head_dim, 1, f->head_dim, 0, &m->head_dim, err);
    return status;
}

static pp_status read_biases(reading *r, pp_err *err)
{
    const unsigned flags = r->family->flags;
    const char *key = r->family->bias_key;
    pp_model *m = r->m;
    bool mlp;
    if (flags & MLA) {
        pp_status status =
            need_flag(r, "attention_bias", false,
                      "must be false: biases in latent attention are not modelled", err);
        return status ? status
                      : need_flag(r, "mlp_bias", false,
                                  "must be false: biases beside latent attention are not modelled",
                                  err);
    }
    if (key && (flags & QKV_BIAS || strcmp(key, "use_qkv_bias") == 0))
        return pp_hf_flag(r->file, key, flags & QKV_BIAS, &m->qkv_bias, err);
    if (key)
        return pp_hf_flag(r->file, key, flags & ALL_BIAS, &m->linear_bias, err);
    m->linear_bias = flags & ALL_BIAS;
    if (m->linear_bias)
        return PP_OK;
    pp_status status = pp_hf_flag(r->file, "attention_bias", flags & QKV_BIAS, &m->qkv_bias, err);
    if (status || (status = pp_hf_flag(r->file, "mlp_bias", false, &mlp, err)))
        return status;
    if (!(flags & QKV_ONLY))
        m->out_bias = m->qkv_bias;
    if (mlp && !m->out_bias)
        return fail(r, "mlp_bias",
                    "biases in the MLP without biases in the attention are not modelled; set both "
                    "or none",
                    err);
    m->linear_bias = mlp;
    return PP_OK;
}

/* Masks of dropout are kept if any rate is positive. */
static pp_status read_dropout(reading *r, pp_err *err)
{
    static const char *const keys[] = { "attn_pdrop",       "resid_pdrop",    "attention_dropout",
                                        "residual_dropout", "hidden_dropout", "dropout" };
    const bool gpt2 = r->family->keys == &gpt2_keys;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        double rate = gpt2 && i < 2 ? 0.1 : 0; /* GPT2Config */
        if (pp_hf_has(r->file, keys[i])) {
            pp_status status = pp_json_get_double(r->file->root, keys[i], 0, 1, &rate, err);
            if (status)
                return status;
        }
        r->m->dropout |= rate > 0;
    }
    return PP_OK;
}

static pp_status read_experts(reading *r, pp_err *err)
{
    const pp_hf_family *f = r->family;
    const pp_model_keys *k = r->keys;
    pp_model *m = r->m;
    int64_t shared = 0;
    if (!k->experts || (f->moe == MOE_LISTED && !pp_hf_present(r->file, k->experts)))
        return PP_OK;
    pp_status status =
        pp_hf_size(r->file, k->experts, 1, or_required(f->experts), f->experts, &m->experts, err);
    if (!status && f->flags & EXPERTS_OF_FFN)
        m->expert_ffn = m->ffn;
    else if (!status && f->moe != MOE_INTERLEAVED)
        status = pp_hf_need(r->file, k->expert_ffn, &m->expert_ffn, err);
    if (!status)
        status = pp_hf_equal(r->file, k->experts_per_token, 1, or_required(f->top),
                             &m->experts_per_token, err);
    if (status || !f->shared)
        return status;
    status = pp_hf_size(r->file, f->shared, 0, f->shared_experts, 0, &shared, err);
    if (strstr(f->shared, "_size")) {
        m->shared_ffn = shared; /* where n_shared_experts is read, too, it is 1 */
    } else if (!status && shared > PP_MODEL_SIZE_MAX / m->expert_ffn) {
        return fail(r, f->shared, "the shared experts are too wide", err);
    } else if (!status) {
        m->shared_ffn = shared * m->expert_ffn;
    }
    return status;
}

static pp_status read_window(reading *r, pp_err *err)
{
    const pp_hf_family *f = r->family;
    bool used = true;
    int64_t window;
    if (f->local || f->more == more_smollm3 || f->flags & MLA) {
        if (f->more == more_minimax) /* MiniMaxConfig has it, and its attention does not use it */
            (void)pp_hf_has(r->file, "sliding_window");
        return PP_OK;
    }
    pp_status status = pp_hf_size(r->file, "sliding_window", 0, f->window, 0, &window, err);
    if (!status && f->flags & SWITCHED_WINDOW)
        status = pp_hf_flag(r->file, "use_sliding_window", false, &used, err);
    r->m->sliding_window = used ? window : 0;
    return status;
}

/* The mixer of layers without full attention, if its size is not 0. */
static uint8_t local_mixer(const reading *r)
{
    const uint8_t local = r->family->local ? r->family->local : PP_MIXER_WINDOW;
    const bool off = (local == PP_MIXER_WINDOW && !r->m->sliding_window) ||
                     (local == PP_MIXER_CHUNK && !r->m->attention_chunk);
    return off ? PP_MIXER_FULL : local;
}

static pp_status mixer_of_word(const reading *r, const pp_json_at *at, uint8_t *mixer_out,
                               pp_err *err)
{
    const uint8_t local = r->family->local;
    const char *word;
    pp_status status = pp_json_read_text(at, &word, err);
    if (status)
        return status;
    if (strcmp(word, "full_attention") == 0 ||
        (strcmp(word, "indexed_attention") == 0 && r->m->index_heads))
        *mixer_out = PP_MIXER_FULL;
    else if (strcmp(word, local == PP_MIXER_CHUNK ? "chunked_attention"
                          : local                 ? "linear_attention"
                                                  : "sliding_attention") == 0)
        *mixer_out = local_mixer(r);
    else
        return pp_json_fail(at, err, "\"%.40s\" is not a layer of model_type %s that is modelled",
                            word, r->family->type);
    return PP_OK;
}

/* Sets the mixers of all layers: from a list of words or from a period. */
static pp_status read_mixers(reading *r, pp_err *err)
{
    const pp_hf_family *f = r->family;
    pp_json_at list, item;
    size_t count = 0;
    int64_t every = f->full_every, first = 0;
    pp_status status = pp_hf_list(r->file, "layer_types", &list, &count, err);
    if (!status && f->every_key)
        status = pp_hf_size(r->file, f->every_key, 1, every, every, &every, err);
    if (!status && f->flags & SWITCHED_WINDOW && r->m->sliding_window)
        status = pp_hf_size(r->file, "max_window_layers", 0, 28, 0, &first, err);
    if (!status && pp_hf_present(r->file, "layer_types") && count && (int64_t)count != r->m->layers)
        return pp_json_fail(&list, err, "has %zu entries for a model of %lld layers", count,
                            (long long)r->m->layers);
    for (int64_t l = 0; l < r->m->layers && !status; l++) {
        if (!count)
            r->types[l].mixer =
                l < first || (every && (l + 1) % every == 0) ? PP_MIXER_FULL : local_mixer(r);
        else if (!(status = pp_json_item(&list, (size_t)l, &item, err)))
            status = mixer_of_word(r, &item, &r->types[l].mixer, err);
    }
    return status || count || !f->layers ? status : f->layers(r, err);
}

/* Marks the layers that a list names as those with experts or those without. */
static pp_status mark_layers(reading *r, const char *key, uint8_t mlp, size_t *count_out,
                             pp_err *err)
{
    pp_json_at list, item;
    int64_t layer;
    pp_status status = pp_hf_list(r->file, key, &list, count_out, err);
    for (size_t i = 0; i < *count_out && !status; i++) {
        if ((status = pp_json_item(&list, i, &item, err)) ||
            (status = pp_json_read_int(&item, 0, r->m->layers - 1, &layer, err)))
            return status;
        r->types[layer].mlp = mlp;
    }
    return status;
}

/* Marks every `every`-th layer from `first` to `last` as one with experts. */
static void mark_every(reading *r, int64_t first, int64_t last, int64_t every)
{
    for (int64_t l = first; l <= last && l < r->m->layers; l++) {
        if ((l + 1) % every == 0)
            r->types[l].mlp = PP_MLP_MOE;
    }
}

/* Sets which layers have experts from a word each, dense or sparse. */
static pp_status read_listed_moe(reading *r, pp_json_at *list, size_t count, pp_err *err)
{
    pp_json_at item;
    const char *word;
    if ((int64_t)count != r->m->layers)
        return pp_json_fail(list, err, "must have an entry for each layer");
    for (size_t l = 0; l < count; l++) {
        pp_status status = pp_json_item(list, l, &item, err);
        if (status || (status = pp_json_read_text(&item, &word, err)))
            return status;
        if (strcmp(word, "dense") != 0 && strcmp(word, "sparse") != 0)
            return pp_json_fail(&item, err, "must be \"dense\" or \"sparse\"");
        r->types[l].mlp = *word == 's' ? PP_MLP_MOE : PP_MLP_DENSE;
    }
    return PP_OK;
}

/* Sets which layers have experts. */
static pp_status read_moe_layers(reading *r, pp_err *err)
{
    pp_json_at list;
    pp_model *m = r->m;
    pp_hf_file *file = r->file;
    int64_t every = 1, first = 0, last = m->layers - 1;
    size_t listed = 0;
    pp_status status = PP_OK;
    if (!m->experts)
        return PP_OK;
    if ((status = pp_hf_list(file, "mlp_layer_types", &list, &listed, err)))
        return status;
    if (listed) { /* a rule beside the list is what it was made from */
        (void)pp_hf_has(file, "first_k_dense_replace");
        (void)pp_hf_has(file, "moe_layer_freq");
        return read_listed_moe(r, &list, listed, err);
    }
    switch (r->family->moe) {
    case MOE_LISTED:
        return PP_OK;
    case MOE_ALL:
        break;
    case MOE_AFTER_FIRST:
        status =
            pp_hf_size(file, "first_k_dense_replace", 0, r->family->dense_layers, 0, &first, err);
        if (!status)
            status = pp_hf_size(file, "moe_layer_freq", 1, 1, 1, &every, err);
        if (!status && first > m->layers)
            return fail(r, "first_k_dense_replace", "is more than the number of layers", err);
        for (int64_t l = first; l < m->layers && !status; l++)
            r->types[l].mlp = l % every ? PP_MLP_DENSE : PP_MLP_MOE;
        return status;
    case MOE_STEP:
        if ((status = pp_hf_size(file, "decoder_sparse_step", 1, 1, 1, &every, err)))
            return status;
        mark_every(r, first, last, every);
        return mark_layers(r, "mlp_only_layers", PP_MLP_DENSE, &listed, err);
    case MOE_INTERLEAVED:
        if ((status = pp_hf_size(file, "interleave_moe_layer_step", 1, 1, 1, &every, err)) ||
            (status = mark_layers(r, "moe_layers", PP_MLP_MOE, &listed, err)) || listed)
            return status;
        break;
    case MOE_RANGE:
        if ((status = pp_hf_size(file, "moe_layer_start_index", 0, 1, 1, &first, err)) ||
            (status = pp_hf_size(file, "moe_layer_interval", 1, 1, 1, &every, err)))
            return status;
        /* -1 is the last layer */
        if (pp_hf_has(file, "moe_layer_end_index") &&
            (status =
                 pp_json_get_int(file->root, "moe_layer_end_index", -1, m->layers - 1, &last, err)))
            return status;
        last = last < 0 ? m->layers - 1 : last;
        break;
    }
    mark_every(r, first, last, every);
    return PP_OK;
}

static void free_types(pp_layer_type **types)
{
    free(*types);
}

static pp_status read_layers(reading *r, pp_err *err)
{
    pp_layer_type *types PP_CLEANUP(free_types) =
        pp_alloc_array((size_t)r->m->layers, sizeof *types);
    if (!types)
        return pp_err_nomem(err);
    r->types = types;
    pp_status status = read_mixers(r, err);
    if (status || (status = read_moe_layers(r, err)))
        return status;
    bool windows = false;
    for (int64_t l = 0; l < r->m->layers; l++)
        windows |= types[l].mixer == PP_MIXER_WINDOW;
    if (!windows) /* no layer uses it */
        r->m->sliding_window = 0;
    const char *wrong = pp_model_set_layers(r->m, types);
    return wrong ? fail(r, r->keys->layer_types, wrong, err) : PP_OK;
}

/* Forgets the experts of a model in which no layer has any. */
static void drop_unused_experts(pp_model *m)
{
    if (pp_model_moe_layers(m))
        return;
    m->expert_groups = m->groups_per_token = 0;
    m->experts = m->experts_per_token = m->expert_ffn = m->shared_ffn = m->dense_layers = 0;
    m->router_bias = m->shared_gate = false;
}

/* Sizes of a scan come from defaults, too, and no layer may have one. */
static void drop_unused_scan(pp_model *m)
{
    for (int k = 0; k < pp_model_types(m); k++) {
        if (pp_mixer_has_scan((pp_mixer)pp_model_type(m, k).mixer))
            return;
    }
    m->scan_heads = m->scan_groups = m->scan_key_dim = m->scan_value_dim = 0;
}

pp_status pp_hf_family_read(const pp_hf_family *family, pp_hf_file *file, pp_model *model,
                            pp_err *err)
{
    const unsigned flags = family->flags;
    const pp_model_keys keys = keys_of(family, file);
    reading r = { .file = file, .family = family, .keys = &keys, .m = model };
    model->gated_mlp = !(flags & UNGATED);
    model->rms_norm = !(flags & LAYER_NORM);
    model->qk_norm = flags & QK_NORM;
    model->qk_norm_wide = flags & QK_NORM_WIDE;
    model->parallel_block = flags & PARALLEL;
    model->learned_positions = flags & LEARNED_POSITIONS;
    model->norms = family->norms;
    pp_status status = read_sizes(&r, err);
    if (!status)
        status =
            pp_hf_flag(file, "tie_word_embeddings", flags & TIED, &model->tied_embeddings, err);
    if (!status)
        status = read_biases(&r, err);
    if (!status)
        status = read_dropout(&r, err);
    if (!status)
        status = read_window(&r, err);
    if (!status)
        status = read_experts(&r, err);
    model->router_bias = model->experts && flags & ROUTER_BIAS;
    model->shared_gate = model->experts && flags & SHARED_GATE;
    if (!status && family->more)
        status = family->more(&r, err);
    if (!status && keys.mtp_layers)
        status = pp_hf_size(file, keys.mtp_layers, 0, family->mtp, 0, &model->mtp_layers, err);
    if (!status)
        status = read_layers(&r, err);
    if (status)
        return status;
    drop_unused_experts(model);
    drop_unused_scan(model);
    return pp_model_complete(file->root, &keys, model, err);
}
