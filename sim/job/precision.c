/* The recipes of low-precision training, as TransformerEngine carries them out and as Megatron-Core
 * and Megatron-Bridge configure them (mixed_precision.py there: which layers stay in 16 bits, and
 * whether weights are gathered in 8 bits). The memory traffic of a quantization is counted, not
 * measured: it reads 2 bytes, and writes an element as it is and an element transposed; a scale
 * that depends on the whole tensor takes another pass to find its largest element. Exchange over tp
 * does not overlap in NVFP4: Megatron-Bridge's recipes for Llama 3 switch tp_comm_overlap off with
 * it (scripts/performance/configs/llama/llama3_llm_pretrain.py). */
#include "sim/job/precision.h"

#include <stddef.h>

static const char *const format_names[] = { "16bit", "fp8", "fp8-block", "mxfp8", "nvfp4", NULL };

/* Scales: fp8-block 4 bytes per 128 elements, mxfp8 1 per 32, nvfp4 1 per 16. */
static const pp_recipe recipes[PP_PRECISIONS] = {
    [PP_PRECISION_BF16] = { "bf16", PP_GEMM_16BIT, 2, 0, false, 0, false, true },
    [PP_PRECISION_FP8] = { "fp8", PP_GEMM_FP8, 1, 4, false, 0, true, true },
    [PP_PRECISION_FP8_CURRENT] = { "fp8-current", PP_GEMM_FP8, 1, 6, true, 1, true, true },
    [PP_PRECISION_FP8_CURRENT_ALL] = { "fp8-current-all", PP_GEMM_FP8, 1, 6, true, 0, true, true },
    [PP_PRECISION_FP8_BLOCK] = { "fp8-block", PP_GEMM_FP8_BLOCK, 1 + 4.0 / 128, 4 + 8.0 / 128,
                                 false, 0, false, true },
    [PP_PRECISION_MXFP8] = { "mxfp8", PP_GEMM_MXFP8, 1 + 1.0 / 32, 4 + 2.0 / 32, false, 0, true,
                             true },
    [PP_PRECISION_NVFP4] = { "nvfp4", PP_GEMM_NVFP4, 0.5 + 1.0 / 16, 5 + 2.0 / 16, false, 0, false,
                             false },
};

static const char *const precision_names[] = {
    "bf16", "fp8", "fp8-current", "fp8-current-all", "fp8-block", "mxfp8", "nvfp4", NULL
};

const char *const *pp_gemm_format_names(void)
{
    return format_names;
}

const pp_recipe *pp_recipe_of(pp_precision precision)
{
    return &recipes[precision];
}

const char *const *pp_precision_names(void)
{
    return precision_names;
}
