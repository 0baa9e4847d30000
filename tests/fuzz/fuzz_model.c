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
    require(parameters > 0 && parameters <= PP_MODEL_PARAMETERS_MAX);
    require(mtp >= 0 && parameters + mtp <= PP_MODEL_PARAMETERS_MAX);
    require((mtp > 0) == (m.mtp_layers > 0));
    return 0;
}
