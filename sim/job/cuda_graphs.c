/* Names of what CUDA graphs capture, and which of them exclude each other. */
#include "sim/job/cuda_graphs.h"

#include <stddef.h>

const char *const *pp_graph_names(void)
{
    static const char *const names[] = { "full",       "attn",           "mlp", "moe",
                                         "moe_router", "moe_preprocess", NULL };
    return names;
}

const char *pp_graphs_fault(unsigned graphs, bool pads)
{
    const bool moe = graphs >> PP_GRAPH_MOE & 1, router = graphs >> PP_GRAPH_ROUTER & 1;
    if (graphs & PP_GRAPHS_FULL && graphs != PP_GRAPHS_FULL)
        return "full captures all; leave out the other names";
    if (graphs >> PP_GRAPH_PREPROCESS & 1 && !router)
        return "moe_preprocess needs moe_router; add it";
    if (moe && router)
        return "moe holds moe_router; leave out one of them";
    if (moe && !pads)
        return "moe is captured only if each expert has as many rows, padded to a capacity";
    return NULL;
}

bool pp_graphs_allow_full_recompute(unsigned graphs)
{
    return !(graphs & ~PP_GRAPHS_FULL);
}
