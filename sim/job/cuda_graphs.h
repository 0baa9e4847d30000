/* What CUDA graphs capture. The host launches what one graph holds at once, and is never late with
 * it. */
#ifndef PPSIM_SIM_JOB_CUDA_GRAPHS_H
#define PPSIM_SIM_JOB_CUDA_GRAPHS_H

#include <stdbool.h>

/* Megatron-Core's modules (CudaGraphModule), or the whole iteration. */
typedef enum pp_graph {
    PP_GRAPH_FULL,       /* forward and backward of all microbatches */
    PP_GRAPH_ATTENTION,  /* attention with its norm and residual */
    PP_GRAPH_MLP,        /* the same of a dense MLP */
    PP_GRAPH_MOE,        /* all of an MLP with experts, whose rows are padded to a capacity */
    PP_GRAPH_ROUTER,     /* of an MLP with experts: norm, router, and shared experts, unless they
                            compute beside the exchange */
    PP_GRAPH_PREPROCESS, /* what follows the router, up to the exchange */
    PP_GRAPHS,
} pp_graph;

/* A set of graphs has the bit 1 << graph of each. */
#define PP_GRAPHS_FULL (1U << PP_GRAPH_FULL)

/* "full", and Megatron-Core's names: "attn", "mlp", "moe", "moe_router", "moe_preprocess", NULL; a
 * name's index is its graph. */
const char *const *pp_graph_names(void);

/* What is wrong with the set whatever the model, as Megatron-Core's TransformerConfig asserts:
 * "full captures all; leave out the other names"; NULL: nothing. pads: experts have as many rows
 * each, padded to a capacity. */
const char *pp_graphs_fault(unsigned graphs, bool pads);

/* Whether layers may be recomputed whole, as Megatron-Core's TransformerConfig asserts: with no
 * graphs, or with full. */
bool pp_graphs_allow_full_recompute(unsigned graphs);

#endif
