/* Completes the sizes of a model, refuses inconsistent combinations, and counts the parameters. */
#include "sim/job/model_json_check.h"

#include "sim/job/model_layers.h"

#include <inttypes.h>
#include <stdio.h>

/* Counts of parameters are doubles: sums and products of whole numbers are exact up to
 * PP_MODEL_PARAMETERS_MAX, and larger ones still show that they exceed this limit. */
static double norm_parameters(const pp_model *m, double width)
{
    return m->rms_norm ? width : 2 * width;
}

static double attention_parameters(const pp_model *m)
{
    double h = (double)m->hidden;
    double a = (double)m->heads;
    double kv_heads = (double)m->kv_heads;
    double qk = (double)m->head_dim;
    double v = (double)m->v_head_dim;
    if (m->attention == PP_ATTENTION_MLA) {
        double q_rank = (double)m->q_lora_rank;
        double kv_rank = (double)m->kv_lora_rank;
        double rope = (double)m->qk_rope_head_dim;
        double index = (double)m->index_heads;
        double index_dim = (double)m->index_head_dim;
        double q = q_rank > 0 ? h * q_rank + q_rank + q_rank * a * qk : h * a * qk;
        double kv = h * (kv_rank + rope) + kv_rank + kv_rank * a * (qk - rope + v);
        /* queries from the latent, one key with a layer norm, and a weight per head */
        double indexer = q_rank * index * index_dim + h * index_dim + 2 * index_dim + h * index;
        return q + kv + a * v * h + (index > 0 ? indexer : 0);
    }
    double wide = ((m->attention_gate ? 2 : 1) * a + 2 * kv_heads) * qk;
    return h * wide + a * qk * h + (m->qkv_bias ? wide : 0) + (m->out_bias ? h : 0) +
           (m->qk_norm ? 2 * qk : 0) + (m->qk_norm_wide ? (a + kv_heads) * qk : 0) +
           (m->sinks ? a : 0);
}

/* A delta net, Mamba-2 or lightning attention: a projection to queries, keys, values and gates, a
 * convolution of the first three, numbers of each head (decay, step, skip), a norm, and the output
 * projection. */
static double scan_parameters(const pp_model *m, pp_mixer mixer)
{
    const bool delta = mixer == PP_MIXER_DELTA, lightning = mixer == PP_MIXER_LIGHTNING;
    double h = (double)m->hidden;
    double heads = (double)m->scan_heads;
    double keys = 2 * (double)m->scan_groups * (double)m->scan_key_dim;
    double values = heads * (double)m->scan_value_dim;
    double inner = keys + 2 * values + (delta ? 2 : lightning ? 0 : 1) * heads;
    double taps = m->scan_conv ? (double)m->scan_conv + m->scan_conv_bias : 0;
    double per_head = delta ? 2 : lightning ? 0 : 3;
    return h * inner + (keys + values) * taps + per_head * heads +
           (m->scan_norm ? (delta ? (double)m->scan_value_dim : values) : 0) + values * h;
}

static double mlp_parameters(const pp_model *m, double inner)
{
    double h = (double)m->hidden;
    double up = m->gated_mlp ? 2 * inner : inner;
    return h * up + inner * h + (m->linear_bias && inner > 0 ? up + h : 0);
}

static double layer_parameters(const pp_model *m, pp_layer_type type)
{
    double h = (double)m->hidden;
    double experts = (double)m->experts;
    double sum = pp_model_norms(m, type) * norm_parameters(m, h);
    if (pp_mixer_has_attention(type.mixer))
        sum += attention_parameters(m);
    if (pp_mixer_has_scan(type.mixer))
        sum += scan_parameters(m, type.mixer);
    if (type.mlp == PP_MLP_DENSE)
        sum += mlp_parameters(m, (double)m->ffn);
    if (type.mlp == PP_MLP_MOE)
        sum += experts * mlp_parameters(m, (double)m->expert_ffn) +
               mlp_parameters(m, (double)m->shared_ffn) + h * experts +
               (m->router_bias ? experts : 0) + (m->shared_gate ? h : 0);
    return sum;
}

static double main_parameters(const pp_model *m)
{
    double h = (double)m->hidden;
    double sum = norm_parameters(m, h) + (m->tied_embeddings ? 1 : 2) * (double)m->vocab * h +
                 (m->head_bias ? (double)m->vocab : 0) +
                 (m->embedding_norm ? norm_parameters(m, h) : 0);
    int64_t counts[PP_LAYER_TYPES_MAX];
    pp_model_count_types(m, 0, m->layers, counts);
    for (int k = 0; k < pp_model_types(m); k++) {
        if (counts[k])
            sum += (double)counts[k] * layer_parameters(m, pp_model_type(m, k));
    }
    return m->learned_positions ? sum + (double)m->max_seq_length * h : sum;
}

/* The MTP module of DeepSeek-V3 has two norms for hidden state and embedding, a projection of both
 * to h, a layer like the last ones, and a norm before the shared head (README_WEIGHTS.md of
 * deepseek-ai/DeepSeek-V3). */
static double mtp_parameters(const pp_model *m)
{
    double h = (double)m->hidden;
    double one = 2 * h * h + 3 * norm_parameters(m, h) + (m->linear_bias ? h : 0) +
                 layer_parameters(m, pp_model_type(m, pp_model_type_at(m, m->layers)));
    return m->mtp_layers ? (double)m->mtp_layers * one : 0;
}

static int64_t whole(double count)
{
    return count <= (double)PP_MODEL_PARAMETERS_MAX ? (int64_t)count : INT64_MAX;
}

int64_t pp_model_parameters(const pp_model *model)
{
    return whole(main_parameters(model));
}

int64_t pp_model_mtp_parameters(const pp_model *model)
{
    return whole(mtp_parameters(model));
}

pp_status pp_model_fail(const pp_json_at *root, const char *key, pp_err *err, const char *text)
{
    pp_json_at at = *root;
    if (key && pp_json_has(root, key)) {
        pp_status status = pp_json_get(root, key, &at, err);
        if (status)
            return status;
    }
    return pp_json_fail(&at, err, "%s", text);
}

static pp_status complete_gqa(const pp_json_at *root, const pp_model_keys *keys, pp_model *m,
                              pp_err *err)
{
    char text[200];
    if (m->kv_lora_rank || m->q_lora_rank || m->qk_nope_head_dim || m->qk_rope_head_dim ||
        m->index_heads)
        return pp_model_fail(root, keys->kv_lora_rank, err,
                             "low-rank sizes belong to \"attention\": \"mla\"");
    if (m->kv_heads == 0)
        m->kv_heads = m->heads;
    if (m->heads % m->kv_heads != 0) {
        snprintf(text, sizeof text,
                 "%" PRId64 " heads are not a multiple of %" PRId64 " key-value heads", m->heads,
                 m->kv_heads);
        return pp_model_fail(root, keys->kv_heads, err, text);
    }
    if (m->head_dim == 0 && m->hidden % m->heads != 0) {
        snprintf(text, sizeof text,
                 "%" PRId64 " does not divide over %" PRId64
                 " heads; change one of them or give the head dimension",
                 m->hidden, m->heads);
        return pp_model_fail(root, keys->hidden, err, text);
    }
    if (m->head_dim == 0)
        m->head_dim = m->hidden / m->heads;
    if (m->v_head_dim && m->v_head_dim != m->head_dim)
        return pp_model_fail(root, "v_head_dim", err,
                             "differs from head_dim; only MLA allows that");
    m->v_head_dim = m->head_dim;
    return PP_OK;
}

static pp_status complete_mla(const pp_json_at *root, const pp_model_keys *keys, pp_model *m,
                              pp_err *err)
{
    if (m->kv_lora_rank == 0 || m->qk_nope_head_dim == 0 || m->qk_rope_head_dim == 0 ||
        m->v_head_dim == 0)
        return pp_model_fail(
            root, NULL, err,
            "latent attention needs kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim "
            "and v_head_dim, all positive");
    if (m->kv_heads && m->kv_heads != m->heads)
        return pp_model_fail(root, keys->kv_heads, err,
                             "must equal the number of heads in latent attention");
    if (m->head_dim && m->head_dim != m->qk_nope_head_dim + m->qk_rope_head_dim)
        return pp_model_fail(root, keys->head_dim, err,
                             "must be qk_nope_head_dim + qk_rope_head_dim in latent attention");
    if (m->linear_bias || m->qkv_bias || m->out_bias || m->qk_norm || m->qk_norm_wide || m->sinks ||
        m->attention_gate)
        return pp_model_fail(
            root, NULL, err,
            "latent attention has no biases, norms of q and k, sinks or gate here");
    if (m->index_heads && (!m->index_head_dim || !m->index_topk || !m->q_lora_rank))
        return pp_model_fail(root, "index_n_heads", err,
                             "sparse attention needs q_lora_rank, index_head_dim and index_topk");
    m->kv_heads = m->heads;
    m->head_dim = m->qk_nope_head_dim + m->qk_rope_head_dim;
    return PP_OK;
}

/* Experts per token are checked before. */
static pp_status check_groups(const pp_json_at *root, const pp_model_keys *keys, const pp_model *m,
                              pp_err *err)
{
    char text[200];
    const int64_t groups = m->expert_groups, chosen = m->groups_per_token;
    if (groups == 0 && chosen == 0)
        return PP_OK;
    if (groups == 0 || m->experts % groups != 0 || groups > PP_MODEL_GROUPS_MAX) {
        snprintf(text, sizeof text,
                 "groups of experts must divide the %" PRId64
                 " experts and be at most %d, but there are %" PRId64,
                 m->experts, PP_MODEL_GROUPS_MAX, groups);
        return pp_model_fail(root, keys->expert_groups, err, text);
    }
    const int64_t size = m->experts / groups, least = (m->experts_per_token + size - 1) / size;
    if (chosen < least || chosen > groups) {
        snprintf(text, sizeof text,
                 "groups per token must be from %" PRId64 " (for %" PRId64
                 " experts per token in groups of %" PRId64 ") to %" PRId64 ", not %" PRId64,
                 least, m->experts_per_token, size, groups, chosen);
        return pp_model_fail(root, keys->groups_per_token, err, text);
    }
    return PP_OK;
}

static pp_status complete_moe(const pp_json_at *root, const pp_model_keys *keys, pp_model *m,
                              pp_err *err)
{
    char text[200];
    pp_status status;
    if (m->experts == 0) {
        if (m->experts_per_token || m->expert_groups || m->groups_per_token || m->expert_ffn ||
            m->shared_ffn || m->dense_layers || m->router_bias || m->shared_gate)
            return pp_model_fail(root, keys->experts, err,
                                 "sizes of experts are given, but the number of experts is not");
        return PP_OK;
    }
    if (m->experts > PP_MODEL_EXPERTS_MAX)
        return pp_model_fail(root, keys->experts, err,
                             "there are more experts than the limit of 2^20");
    if (m->experts_per_token < 1 || m->experts_per_token > m->experts) {
        snprintf(text, sizeof text,
                 "experts per token must be from 1 to %" PRId64
                 " (the number of experts), not %" PRId64,
                 m->experts, m->experts_per_token);
        return pp_model_fail(root, keys->experts_per_token, err, text);
    }
    if ((status = check_groups(root, keys, m, err)))
        return status;
    if (m->expert_ffn == 0)
        return pp_model_fail(root, keys->expert_ffn, err,
                             "the inner width of an expert is missing");
    if (m->dense_layers > m->layers) {
        snprintf(text, sizeof text,
                 "%" PRId64 " dense layers are more than the model's %" PRId64 " layers",
                 m->dense_layers, m->layers);
        return pp_model_fail(root, keys->dense_layers, err, text);
    }
    return PP_OK;
}

static pp_status complete_scan(const pp_json_at *root, const pp_model_keys *keys, bool used,
                               pp_model *m, pp_err *err)
{
    if (!used)
        return m->scan_heads || m->scan_key_dim || m->scan_value_dim
                   ? pp_model_fail(root, keys->layer_types, err,
                                   "sizes of a scan are given, but no layer has one")
                   : PP_OK;
    if (!m->scan_heads || !m->scan_key_dim || !m->scan_value_dim || !m->scan_chunk)
        return pp_model_fail(
            root, keys->layer_types, err,
            "a layer that scans needs heads, key and value dimensions and a chunk, "
            "all positive");
    if (!m->scan_groups)
        m->scan_groups = m->scan_heads;
    if (m->scan_heads % m->scan_groups)
        return pp_model_fail(root, keys->scan_groups, err,
                             "the value heads of the scan are not a multiple of its key heads");
    return PP_OK;
}

/* Checks the types of layers against the sizes, and fills in the ffn that no layer uses. */
static pp_status complete_layers(const pp_json_at *root, const pp_model_keys *keys, pp_model *m,
                                 pp_err *err)
{
    bool scans = false, dense = false;
    int64_t counts[PP_LAYER_TYPES_MAX];
    pp_model_count_types(m, 0, m->layers, counts);
    for (int k = 0; k < pp_model_types(m); k++) {
        const pp_layer_type type = pp_model_type(m, k);
        if (!counts[k])
            continue;
        scans |= pp_mixer_has_scan(type.mixer);
        dense |= type.mlp == PP_MLP_DENSE;
        const char *wrong = type.mixer == PP_MIXER_NONE && type.mlp == PP_MLP_NONE
                                ? "a layer is empty"
                            : type.mlp == PP_MLP_MOE && !m->experts
                                ? "a layer has experts, but their number is not given"
                            : type.mixer == PP_MIXER_WINDOW && !m->sliding_window
                                ? "a layer has a sliding window, but its size is not given"
                            : type.mixer == PP_MIXER_CHUNK && !m->attention_chunk
                                ? "a layer attends within chunks, but their size is not given"
                                : NULL;
        if (wrong)
            return pp_model_fail(root, keys->layer_types, err, wrong);
    }
    if (m->ffn == 0 && !dense)
        m->ffn = m->expert_ffn ? m->expert_ffn : m->hidden;
    if (m->ffn == 0)
        return pp_json_fail(root, err, "the key \"%s\" is missing", keys->ffn);
    return complete_scan(root, keys, scans, m, err);
}

pp_status pp_model_complete(const pp_json_at *root, const pp_model_keys *keys, pp_model *m,
                            pp_err *err)
{
    pp_status status = m->attention == PP_ATTENTION_MLA ? complete_mla(root, keys, m, err)
                                                        : complete_gqa(root, keys, m, err);
    if (status || (status = complete_moe(root, keys, m, err)) ||
        (status = complete_layers(root, keys, m, err)))
        return status;
    if (m->norms == 0)
        m->norms = 2;
    if (m->linear_bias) {
        m->qkv_bias = true;
        m->out_bias = true;
    }
    if (m->mtp_layers > PP_MODEL_MTP_MAX)
        return pp_model_fail(root, keys->mtp_layers, err,
                             "there are more MTP modules than the limit of 64");
    double parameters = main_parameters(m) + mtp_parameters(m);
    if (!(parameters <= (double)PP_MODEL_PARAMETERS_MAX))
        return pp_json_fail(root, err, "the model would have %.3g parameters; the limit is %.3g",
                            parameters, (double)PP_MODEL_PARAMETERS_MAX);
    return PP_OK;
}
