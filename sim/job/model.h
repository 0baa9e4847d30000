/* The sizes of a transformer to be trained. They are read from a ppsim.model file
 * ("format":"ppsim.model") or from a Hugging Face config.json; both are recognised by content. */
#ifndef PPSIM_SIM_JOB_MODEL_H
#define PPSIM_SIM_JOB_MODEL_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_MODEL_LAYERS_MAX 100000
#define PP_MODEL_SIZE_MAX ((int64_t)1 << 31) /* for sizes without a limit of their own */
#define PP_MODEL_SEQ_MAX ((int64_t)1 << 24)  /* sums of its squares must fit 64 bits */
#define PP_MODEL_EXPERTS_MAX ((int64_t)1 << 20)
#define PP_MODEL_GROUPS_MAX 1024 /* of experts: ways to choose some of them fit a double */
#define PP_MODEL_MTP_MAX 64
#define PP_MODEL_PARAMETERS_MAX ((int64_t)1 << 53) /* exact as a double */

typedef enum pp_attention_kind {
    PP_ATTENTION_GQA, /* multi-head when kv_heads == heads */
    PP_ATTENTION_MLA, /* DeepSeek's low-rank latent attention */
} pp_attention_kind;

typedef struct pp_model {
    char name[64];
    char summary[160];    /* one line with the source */
    bool no_source_given; /* a ppsim.model file without the source of its numbers */
    int64_t layers;       /* decoder layers, without MTP modules */
    int64_t hidden;
    int64_t heads;
    int64_t kv_heads;
    int64_t head_dim; /* of q and k; MLA: qk_nope_head_dim + qk_rope_head_dim */
    int64_t ffn;      /* inner width of the dense MLP (one of the two halves when gated) */
    int64_t vocab;    /* as published, not padded; 0: there is neither embedding nor head */
    int64_t max_seq_length;

    bool gated_mlp;         /* three matrices (SwiGLU); false: two (GELU) */
    bool rms_norm;          /* false: layer norm with bias */
    bool linear_bias;       /* biases in all linear layers of a block, including qkv and output */
    bool qkv_bias;          /* in the q, k and v projections (Qwen2) */
    bool out_bias;          /* in the attention's output projection */
    bool qk_norm;           /* an RMS norm of head_dim on q and one on k (Qwen3) */
    bool tied_embeddings;   /* the head shares the embedding table */
    bool learned_positions; /* a max_seq_length x hidden table on the first stage */
    bool dropout;           /* masks are kept for the backward (GPT-2, GPT-3, Megatron) */
    int64_t sliding_window; /* 0: none */

    int64_t experts; /* 0: dense */
    int64_t experts_per_token;
    int64_t expert_groups; /* equal ranges of experts; a token has experts of some only; 0: none */
    int64_t groups_per_token; /* from which its experts come */
    int64_t expert_ffn;       /* inner width of one routed expert */
    int64_t shared_ffn;       /* inner width of all shared experts together; 0: none */
    int64_t dense_layers;     /* MoE models: number of dense layers, which come first */
    bool router_bias;         /* a bias per expert that balances the load (DeepSeek-V3) */

    pp_attention_kind attention;
    int64_t q_lora_rank;      /* MLA; 0: q is projected directly */
    int64_t kv_lora_rank;     /* MLA */
    int64_t qk_nope_head_dim; /* MLA */
    int64_t qk_rope_head_dim; /* MLA */
    int64_t v_head_dim;       /* MLA; otherwise head_dim */

    int64_t mtp_layers; /* multi-token prediction (MTP) modules, before the loss */
} pp_model;

/* Parses the content of a model file. file: what messages call it; a config.json gives the model
 * the stem of this name.
 * Fails: INPUT (an unknown architecture or a missing key), NOMEM. */
PP_MUST_CHECK pp_status pp_model_parse(const char *text, size_t bytes, const char *file,
                                       pp_model *model_out, pp_err *err);

/* The number of parameters, with embedding and head (counted once if tied) and without MTP modules,
 * as in the names of models. */
int64_t pp_model_parameters(const pp_model *model);
/* The number of parameters of all MTP modules, which share embedding and head with the model. */
int64_t pp_model_mtp_parameters(const pp_model *model);

/* Returns true if a layer is a mixture-of-experts layer. layer: 0-based; MTP modules are numbered
 * from model->layers on. */
bool pp_model_layer_is_moe(const pp_model *model, int64_t layer);
/* The number of dense layers among `layers` ones from `first` on; dense layers come first. */
int64_t pp_model_dense_layers(const pp_model *model, int64_t first, int64_t layers);

#endif
