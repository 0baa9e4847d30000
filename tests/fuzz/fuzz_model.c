/* Any bytes: pp_model_parse refuses them with a message, or gives a model whose sizes fit together.
 */
#include "sim/job/model.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int truth)
{
    if (!truth)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pp_model m;
    pp_err err = { 0 };
    pp_status status = pp_model_parse((const char *)data, bytes, "a/config.json", &m, &err);
    if (status) {
        require(status == PP_INPUT || status == PP_NOMEM);
        require(err.status == status && *err.text);
        return 0;
    }
    int64_t parameters = pp_model_parameters(&m);
    int64_t mtp = pp_model_mtp_parameters(&m);
    require(*m.name && m.layers >= 1 && m.layers <= PP_MODEL_LAYERS_MAX);
    require(m.kv_heads >= 1 && m.heads % m.kv_heads == 0 && m.head_dim >= 1 && m.v_head_dim >= 1);
    require(m.ffn >= 1 && m.max_seq_length >= 1 && m.max_seq_length <= PP_MODEL_SEQ_MAX);
    require(m.experts_per_token <= m.experts && m.dense_layers <= m.layers);
    int64_t counts[PP_LAYER_TYPES_MAX], layers = 0;
    pp_model_count_types(&m, 0, m.layers, counts);
    for (int k = 0; k < PP_LAYER_TYPES_MAX; k++) {
        require(counts[k] >= 0 && (counts[k] == 0 || k < pp_model_types(&m)));
        layers += counts[k];
        if (!counts[k])
            continue;
        const pp_layer_type type = pp_model_type(&m, k);
        require(type.mixer <= PP_MIXER_NONE && type.mlp <= PP_MLP_NONE);
        require(type.mlp != PP_MLP_MOE || (m.experts > 0 && m.expert_ffn > 0));
        require(!pp_mixer_has_scan((pp_mixer)type.mixer) || (m.scan_heads > 0 && m.scan_chunk > 0));
    }
    require(layers == m.layers && m.norms >= 1);
    require(parameters > 0 && parameters <= PP_MODEL_PARAMETERS_MAX);
    require(mtp >= 0 && parameters + mtp <= PP_MODEL_PARAMETERS_MAX);
    require((mtp > 0) == (m.mtp_layers > 0));
    return 0;
}
