/* The last step of reading a model from JSON, whatever its keys are called. */
#ifndef PPSIM_SIM_JOB_MODEL_JSON_CHECK_H
#define PPSIM_SIM_JOB_MODEL_JSON_CHECK_H

#include "sim/base/json.h"
#include "sim/job/model.h"

/* What a file calls the sizes whose relations are checked; NULL where it has no word for one. */
typedef struct pp_model_keys {
    const char *hidden;
    const char *heads;
    const char *kv_heads;
    const char *head_dim;
    const char *ffn;
    const char *experts;
    const char *experts_per_token;
    const char *expert_ffn;
    const char *dense_layers;
    const char *kv_lora_rank;
    const char *mtp_layers;
} pp_model_keys;

/* Fails with `text` at the member `key` of `root`, or at `root` when key is NULL or absent. */
pp_status pp_model_fail(const pp_json_at *root, const char *key, pp_err *err, const char *text);

/* Fills what follows from the rest (kv_heads, head_dim, v_head_dim, ffn of a pure MoE model, the
 * biases that linear_bias implies; 0 means not given) and checks how the sizes fit together.
 * Fails: INPUT at the key to blame. */
PP_MUST_CHECK pp_status pp_model_complete(const pp_json_at *root, const pp_model_keys *keys,
                                          pp_model *model, pp_err *err);

#endif
