/* The last step of reading a model from JSON, for any names of keys. */
#ifndef PPSIM_SIM_JOB_MODEL_JSON_CHECK_H
#define PPSIM_SIM_JOB_MODEL_JSON_CHECK_H

#include "sim/base/json.h"
#include "sim/job/model.h"

/* The keys of the sizes that are checked against each other; NULL: the format has no such key. */
typedef struct pp_model_keys {
    const char *layers;
    const char *hidden;
    const char *heads;
    const char *kv_heads;
    const char *head_dim;
    const char *ffn;
    const char *vocab;
    const char *max_seq_length;
    const char *experts;
    const char *experts_per_token;
    const char *expert_groups;
    const char *groups_per_token;
    const char *expert_ffn;
    const char *dense_layers;
    const char *kv_lora_rank;
    const char *mtp_layers;
    const char *layer_types;
    const char *scan_groups;
} pp_model_keys;

/* Reports INPUT with `text` at the member `key` of `root`, or at `root` if key is NULL or absent.
 */
pp_status pp_model_fail(const pp_json_at *root, const char *key, pp_err *err, const char *text);

/* Fills in the members that follow from others if they are 0 (kv_heads, head_dim, v_head_dim, ffn
 * of a model without dense layers, norms, scan_groups, the biases that linear_bias implies), and
 * checks that the sizes are consistent.
 * Fails: INPUT at the wrong key. */
PP_MUST_CHECK pp_status pp_model_complete(const pp_json_at *root, const pp_model_keys *keys,
                                          pp_model *model, pp_err *err);

#endif
