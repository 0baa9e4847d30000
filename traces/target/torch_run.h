/* Turns a plan into a training run of a framework that loads PyTorch's schedule rows (torchtitan,
 * NeMo AutoModel): the rules that they share, and the common parts of their configurations. */
#ifndef PPSIM_TRACES_TARGET_TORCH_RUN_H
#define PPSIM_TRACES_TARGET_TORCH_RUN_H

#include "traces/format/export/format.h"
#include "traces/format/export/pytorch_facts.h"

/* The settings of such a run. Batch sizes are numbers of sequences. */
typedef struct pp_torch_run {
    pp_pytorch_facts facts;
    const char *schedule;      /* the name of a schedule with the stage placement of the rows */
    pp_recompute recompute;    /* none, selective, full or unknown */
    bool known;                /* the plan has parallel degrees and batch sizes */
    int64_t micro_batch_size;  /* 1 when it is not known */
    int64_t local_batch_size;  /* of a replica and pipeline run */
    int64_t global_batch_size; /* of a step; 0: not known */
    int64_t seq_length;        /* tokens per sequence of the longest microbatch; 0: not known */
} pp_torch_run;

/* The names that a framework's models have for their modules. */
typedef struct pp_module_names {
    const char *embedding, *layers, *head; /* layers: the text before the layer's number */
    const char *norm;                      /* in the stage of the head */
    const char *every;                     /* in every stage; NULL: none */
} pp_module_names;

/* What pp_target_limits of these frameworks have in common. */
#define PP_TORCH_LIMITS                                                                         \
    .orders = true, .one_order = true, .recompute_uniform = true, .fsdp = true, .no_mtp = true, \
    .constant_shapes = true, .no_cp_heads = true,                                               \
    .dispatchers =                                                                              \
        1 << PP_DISPATCHER_ALLTOALL | 1 << PP_DISPATCHER_DEEPEP | 1 << PP_DISPATCHER_HYBRIDEP,  \
    .dispatcher = PP_DISPATCHER_DEEPEP

/* Derives the settings from a plan. name: of the framework, for errors. Fails: USAGE when the rows
 * cannot be written next to the configuration, INFEASIBLE when PyTorch's runtime does not run the
 * order, or not as planned, NOMEM. */
PP_MUST_CHECK pp_status pp_torch_run_of(const char *name, const pp_export *data,
                                        pp_torch_run *run_out, pp_err *err);

/* Checks the configuration in `text`, and puts the rows into FILE.csv. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_torch_finish(const pp_export *data, const pp_text *text,
                                        pp_companion *companion, pp_err *err);

/* Prints comment lines: the command that made the file, and the sentence `where_to`. */
void pp_torch_print_head(const pp_export *data, const char *where_to, pp_text *text);
/* Prints `words` and `suffix` as one quoted text, which TOML, YAML and Python read alike. */
void pp_torch_print_quoted(const char *words, const char *suffix, pp_text *text);
/* Prints `head` and the layers at the ends of the model that the plan's precision leaves in 16
 * bits, as parts of module names: ["lm_head", "layers.0.", "layers.31."]. The plan has a partition.
 */
void pp_torch_print_16bit(const pp_export *data, const char *head, pp_text *text);
/* Prints the modules of a stage as a list: ["tok_embeddings", "layers.0"]. */
void pp_torch_print_modules(const pp_stage *stage, const pp_module_names *names, pp_text *text);

#endif
