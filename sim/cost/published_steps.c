/* The table of comparisons with published steps, one line per hardware, stack and width of the
 * GEMMs. Sources and the single errors: docs/explanation/cost-model.md, section 9, and
 * docs/accuracy.md. */
#include "sim/cost/published_steps.h"

#include <stddef.h>
#include <string.h>

static const char dense[] = "dense models with 1f1b and interleaved, to which its speed was fitted";

static const pp_published_steps table[] = {
    { "a100-80g", NULL, false, "dense GPT models with 1f1b and interleaved", false, 19, 2, 5 },
    { "h100-80g", "nemo-2025", false, dense, true, 11, 1, 1 },
    { "h100-80g", "nemo-2025", true, dense, true, 17, 7, 11 },
    { "h100-80g", "megatron-bridge-2026", true, dense, false, 2, 6, 6 },
    { "gb200-nvl72", "nemo-2025", false, dense, false, 6, 1, 2 },
    { "gb200-nvl72", "nemo-2025", true, dense, false, 6, 2, 3 },
    { "gb200-nvl72", "megatron-bridge-2026", true, dense, false, 2, 5, 5 },
    { "gb300-nvl72", "megatron-bridge-2026", true, dense, false, 3, 12, 32 },
    { "b200-180g", "megatron-2025", false, dense, true, 17, 3, 6 },
};

const pp_published_steps *pp_published_steps_of(const char *hardware, const char *stack, bool low)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const pp_published_steps *row = &table[i];
        if (strcmp(row->hardware, hardware) == 0 &&
            (!stack || (row->low == low && (!row->stack || strcmp(row->stack, stack) == 0))))
            return row;
    }
    return NULL;
}
