/* A plan as a training run of a framework that loads PyTorch schedule rows: the rules they share,
 * and what their configurations have in common. */
#ifndef PPSIM_TRACES_TARGET_TORCH_RUN_H
#define PPSIM_TRACES_TARGET_TORCH_RUN_H

#include "traces/format/export/format.h"
#include "traces/format/export/pytorch_facts.h"

typedef struct pp_torch_run {
    pp_pytorch_facts facts;
    const char *schedule;      /* that places the stages as the rows do */
    pp_recompute recompute;    /* none, selective, full, unknown */
    bool known;                /* degrees and batch sizes; otherwise they are left alone */
    int64_t micro_batch_size;  /* sequences; 1 where the plan does not know */
    int64_t local_batch_size;  /* of a replica and step */
    int64_t global_batch_size; /* 0: dp is not known */
    int64_t seq_length;        /* of the longest microbatch's sequences; 0: not known */
} pp_torch_run;

/* What a model calls its parts. */
typedef struct pp_module_names {
    const char *embedding, *layers, *head; /* layers: before the number */
    const char *norm;                      /* goes with the head */
    const char *every;                     /* in every stage; NULL: none */
} pp_module_names;

/* What pp_target_limits of these frameworks have in common. */
#define PP_TORCH_LIMITS                                                                         \
    .orders = true, .one_order = true, .recompute_uniform = true, .fsdp = true, .no_mtp = true, \
    .constant_shapes = true

/* name: of the framework. Fails: USAGE when the rows cannot lie beside the configuration,
 * INFEASIBLE when PyTorch's runtime does not run the order, or not as planned, NOMEM. */
PP_MUST_CHECK pp_status pp_torch_run_of(const char *name, const pp_export *data,
                                        pp_torch_run *run_out, pp_err *err);

/* Checks the configuration in `text`, and puts the rows into FILE.csv. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_torch_finish(const pp_export *data, const pp_text *text,
                                        pp_companion *companion, pp_err *err);

/* Comment lines: what made the file. where_to: a sentence. */
void pp_torch_print_head(const pp_export *data, const char *where_to, pp_text *text);
/* In quotes, as TOML, YAML and Python read it. suffix: goes behind. */
void pp_torch_print_quoted(const char *words, const char *suffix, pp_text *text);
/* ["tok_embeddings", "layers.0"] */
void pp_torch_print_modules(const pp_stage *stage, const pp_module_names *names, pp_text *text);

#endif
