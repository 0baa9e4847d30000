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
#define PP_LAYER_TYPES_MAX 8                       /* different layers of one model */
#define PP_LAYER_RUNS_MAX 256

typedef enum pp_attention_kind {
    PP_ATTENTION_GQA, /* multi-head when kv_heads == heads */
    PP_ATTENTION_MLA, /* DeepSeek's low-rank latent attention */
} pp_attention_kind;

/* How a layer mixes the tokens of a sequence. */
typedef enum pp_mixer {
    PP_MIXER_FULL,      /* attention to all earlier tokens */
    PP_MIXER_WINDOW,    /* attention to the last sliding_window tokens */
    PP_MIXER_CHUNK,     /* attention within chunks of attention_chunk tokens (Llama 4) */
    PP_MIXER_DELTA,     /* a gated delta net (arXiv 2412.06464) */
    PP_MIXER_MAMBA,     /* Mamba-2 (arXiv 2405.21060) */
    PP_MIXER_LIGHTNING, /* lightning attention, which is linear (MiniMax-01, arXiv 2501.08313) */
    PP_MIXER_HYBRID,    /* full attention and Mamba-2 side by side (Falcon-H1) */
    PP_MIXER_NONE,
} pp_mixer;

typedef enum pp_mlp_kind {
    PP_MLP_DENSE,
    PP_MLP_MOE, /* a mixture of experts */
    PP_MLP_NONE,
} pp_mlp_kind;

/* Layers of one type have the same weights and costs. */
typedef struct pp_layer_type {
    uint8_t mixer, mlp; /* pp_mixer, pp_mlp_kind */
} pp_layer_type;

/* Consecutive layers of one type. */
typedef struct pp_layer_run {
    int32_t layers;
    uint8_t type; /* index into pp_layer_pattern.type */
} pp_layer_run;

/* The types of all layers in order: the runs one after the other, those from `repeat` on again and
 * again until the last layer. Without runs, the first dense_layers layers (without experts: all)
 * are of type 0 and the others of type 1; both have attention, and only type 1 has experts. */
typedef struct pp_layer_pattern {
    int32_t types, runs, repeat;
    pp_layer_type type[PP_LAYER_TYPES_MAX];
    pp_layer_run run[PP_LAYER_RUNS_MAX];
} pp_layer_pattern;

typedef struct pp_model {
    char name[64];
    char summary[160];        /* one line with the source */
    char not_understood[160]; /* keys of its file that had no meaning here; "": none */
    bool no_source_given;     /* a ppsim.model file without the source of its numbers */
    bool text_part;           /* of a model that sees images; the rest of it is not modelled */
    int64_t released;         /* year and month, such as 202504; 0: not known */
    int64_t layers;           /* decoder layers, without MTP modules */
    int64_t hidden;
    int64_t heads;
    int64_t kv_heads;
    int64_t head_dim; /* of q and k; MLA: qk_nope_head_dim + qk_rope_head_dim */
    int64_t ffn;      /* inner width of the dense MLP (one of the two halves when gated) */
    int64_t vocab;    /* as published, not padded; 0: there is neither embedding nor head */
    int64_t max_seq_length;

    bool gated_mlp;         /* three matrices (SwiGLU, GeGLU); false: two (GELU, squared ReLU) */
    bool rms_norm;          /* also layer norm without bias; false: layer norm with bias */
    bool linear_bias;       /* biases in all linear layers of a block, including qkv and output */
    bool qkv_bias;          /* in the q, k and v projections (Qwen2) */
    bool out_bias;          /* in the attention's output projection */
    bool qk_norm;           /* an RMS norm of head_dim on q and one on k (Qwen3) */
    bool qk_norm_wide;      /* the same over all heads of q and of k (OLMo 2) */
    bool sinks;             /* attention has a learned logit per head (gpt-oss) */
    bool attention_gate;    /* q is twice as wide, and its half gates the output (Qwen3-Next) */
    bool parallel_block;    /* attention and MLP read the same input (GPT-NeoX, Falcon) */
    bool tied_embeddings;   /* the head shares the embedding table */
    bool head_bias;         /* a bias per token in the head (Phi) */
    bool embedding_norm;    /* a norm after the embedding (BLOOM) */
    bool learned_positions; /* a max_seq_length x hidden table on the first stage */
    bool dropout;           /* masks are kept for the backward (GPT-2, GPT-3, Megatron) */
    int64_t norms;          /* of the hidden size in a layer with mixer and MLP; 2 unless given */
    int64_t sliding_window; /* 0: none */
    int64_t attention_chunk;

    int64_t experts; /* 0: dense */
    int64_t experts_per_token;
    int64_t expert_groups; /* equal ranges of experts; a token has experts of some only; 0: none */
    int64_t groups_per_token; /* from which its experts come */
    int64_t expert_ffn;       /* inner width of one routed expert */
    int64_t shared_ffn;       /* inner width of all shared experts together; 0: none */
    int64_t dense_layers; /* MoE models without pattern: the number of dense layers at the start */
    bool router_bias;     /* a bias per expert (DeepSeek-V3: balances the load) */
    bool shared_gate;     /* a gate of hidden weights for the shared expert (Qwen2-MoE) */

    pp_attention_kind attention;
    int64_t q_lora_rank;      /* MLA; 0: q is projected directly */
    int64_t kv_lora_rank;     /* MLA */
    int64_t qk_nope_head_dim; /* MLA */
    int64_t qk_rope_head_dim; /* MLA */
    int64_t v_head_dim;       /* MLA; otherwise head_dim */
    int64_t index_heads;      /* MLA: those of the indexer of sparse attention; 0: not sparse */
    int64_t index_head_dim;
    int64_t index_topk; /* the tokens that a token attends to (DeepSeek-V3.2, arXiv 2512.02556) */

    /* of delta nets, Mamba-2 and lightning attention: keys (B, C) have scan_groups heads of
     * scan_key_dim (the state), values (x) scan_heads of scan_value_dim */
    int64_t scan_heads;
    int64_t scan_groups;
    int64_t scan_key_dim;
    int64_t scan_value_dim;
    int64_t scan_conv;  /* taps of the convolution over keys and values; 0: none */
    int64_t scan_chunk; /* tokens that are multiplied as a block */
    bool scan_conv_bias;
    bool scan_norm; /* a norm before the output projection, of scan_value_dim (delta nets) or of all
                       values */

    int64_t mtp_layers; /* multi-token prediction (MTP) modules, before the loss */

    pp_layer_pattern pattern;
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

/* The number of types of layers, and a type; index: from 0 on. */
int pp_model_types(const pp_model *model);
pp_layer_type pp_model_type(const pp_model *model, int index);
/* The index of the type of a layer. layer: 0-based; MTP modules, which are numbered from
 * model->layers on, have that of the last layer. */
int pp_model_type_at(const pp_model *model, int64_t layer);
/* Counts the layers of each type among `layers` ones from `first` on, in O(runs).
 * counts_out: [PP_LAYER_TYPES_MAX]. */
void pp_model_count_types(const pp_model *model, int64_t first, int64_t layers,
                          int64_t counts_out[]);
/* Returns true if the layers of each type are consecutive, in the order of the types. */
bool pp_model_types_are_sorted(const pp_model *model);
/* Returns true if a layer is a mixture-of-experts layer. layer: as in pp_model_type_at. */
bool pp_model_layer_is_moe(const pp_model *model, int64_t layer);
/* The number of layers with experts. */
int64_t pp_model_moe_layers(const pp_model *model);

/* The number of norms of the hidden size in a layer. */
double pp_model_norms(const pp_model *model, pp_layer_type type);

bool pp_mixer_has_attention(pp_mixer mixer);
/* Returns true if the mixer scans the tokens in chunks, with a state. */
bool pp_mixer_has_scan(pp_mixer mixer);

#endif
