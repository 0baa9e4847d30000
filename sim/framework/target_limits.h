/* What a training runtime can execute, as limits of a search. Each target of traces/targets.def has
 * them; docs/reference/targets.md gives rules and sources. */
#ifndef PPSIM_SIM_FRAMEWORK_TARGET_LIMITS_H
#define PPSIM_SIM_FRAMEWORK_TARGET_LIMITS_H

#include "sim/base/status.h"
#include "sim/framework/framework.h"
#include "sim/job/precision.h"
#include "sim/job/software.h"
#include "sim/schedule/schedule.h"

#include <stdbool.h>

typedef struct pp_target_limits {
    const char *name;
    const char *rules; /* the limits in words, for the plan's assumptions */
    /* Frameworks whose communication it may use, ends with NULL; the first is its own. */
    const pp_framework *const *frameworks;
    const pp_schedule *const *only; /* schedules, ends with NULL; NULL: all that can be planned */
    bool orders;                    /* it takes an order from a file */
    bool one_order;                 /* all replicas run the same order */
    bool recompute_alike;           /* all stages recompute equally many layers */
    bool recompute_modules;         /* it can be told which modules */
    bool recompute_chunks;          /* several layers at a time, of which one input is kept */
    bool recompute_uniform;         /* all stages recompute either all layers or none */
    bool experts_in_all_copies;     /* with fsdp: several copies of the parameters share experts */
    bool fsdp; /* data parallelism shards the optimizer; tensor parallelism does not overlap */
    unsigned precisions;       /* 1 << pp_precision: formats below 16 bits that ppsim can tell it */
    unsigned dense_precisions; /* the same, for models without experts only */
    bool low_parameters;       /* it can keep weights in these formats alone */
    const char *no_precision;  /* why it has no others, the end of a sentence */
    const char *no_low_state;  /* why it has gradients and optimizer in fp32 alone; NULL: it takes
                                  all types of both */
    pp_experts experts;        /* which etp it has */
    unsigned dispatchers;      /* 1 << pp_dispatcher: those that it has */
    pp_dispatcher dispatcher;  /* that it takes if none is asked for and it has not the stack's */
    bool fp8_dispatch;         /* these can be told to send rows to experts in 8 bits */
    bool shared_expert_overlap; /* it can be told to compute shared experts beside the exchange */
    bool expert_capacity;       /* it can be told to drop tokens, and pad, to a capacity */
    bool cuda_graphs;           /* it can be told what CUDA graphs capture */
    bool full_graphs_pad;       /* those of all capture experts only if their rows are padded */
    bool pads_with_hybridep;    /* experts in mxfp8 need rows that only this dispatcher pads */
    bool no_cp_heads; /* context parallelism exchanges keys and values only: a ring, all-gather */
    bool no_mtp;      /* it has no multi-token prediction modules */
    bool constant_shapes;          /* all microbatches of a step have one size, by padding */
    bool drops_outputs;            /* by default its trainer keeps no outputs of the last stage */
    pp_size_protocol_kind unequal; /* default protocol for unequal sizes, if not constant_shapes */
} pp_target_limits;

/* Whether ppsim can tell the target to compute, and keep weights, as a plan does. experts: the
 * model has some. what: the option or file that messages name. Fails: `refusal`, with the formats
 * that it can be told. */
PP_MUST_CHECK pp_status pp_target_check_precision(const pp_target_limits *target,
                                                  pp_precision precision, bool low_parameters,
                                                  bool experts, pp_status refusal, const char *what,
                                                  pp_err *err);
/* The same for gradients in bf16 and for the optimizer's moments. (Gradients in fp16 are those of
 * training in fp16.) */
PP_MUST_CHECK pp_status pp_target_check_state(const pp_target_limits *target, pp_dtype grad_dtype,
                                              pp_moments moments, pp_status refusal,
                                              const char *what, pp_err *err);
/* The same for the exchange of context parallelism. */
PP_MUST_CHECK pp_status pp_target_check_cp_comm(const pp_target_limits *target, pp_cp_comm kind,
                                                pp_status refusal, const char *what, pp_err *err);
/* The same for the dispatch of tokens to experts. */
PP_MUST_CHECK pp_status pp_target_check_dispatcher(const pp_target_limits *target,
                                                   pp_dispatcher kind, pp_status refusal,
                                                   const char *what, pp_err *err);
/* The same for a setting that is on or off. told: one of the limits. words: what it does, after
 * "cannot be told to". */
PP_MUST_CHECK pp_status pp_target_check_told(const pp_target_limits *target, bool on, bool told,
                                             const char *words, pp_status refusal, const char *what,
                                             pp_err *err);
/* The same for a set of graphs. experts: the model has some. pads: their rows are padded. */
PP_MUST_CHECK pp_status pp_target_check_graphs(const pp_target_limits *target, unsigned graphs,
                                               bool experts, bool pads, pp_status refusal,
                                               const char *what, pp_err *err);
#define PP_TARGET_CHUNKS "recompute several layers at a time"
#define PP_TARGET_FP8_DISPATCH "dispatch in 8 bits"
#define PP_TARGET_SHARED_OVERLAP "compute shared experts beside the exchange"
#define PP_TARGET_CAPACITY "drop tokens of experts"

#endif
