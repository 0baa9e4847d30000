/* Names of what CUDA graphs capture. */
#include "sim/job/cuda_graphs.h"

#include <stddef.h>

const char *const *pp_graph_names(void)
{
    static const char *const names[] = { "full",       "attn",           "mlp", "moe",
                                         "moe_router", "moe_preprocess", NULL };
    return names;
}
