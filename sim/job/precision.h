/* Number formats of training: which format the GEMMs of transformer layers run in, and what their
 * operands need. docs/explanation/cost-model.md (section 8) has the sources. */
#ifndef PPSIM_SIM_JOB_PRECISION_H
#define PPSIM_SIM_JOB_PRECISION_H

#include <stdbool.h>

/* The format of a GEMM's operands. Hardware has a curve for each format that it supports. */
typedef enum pp_gemm_format {
    PP_GEMM_16BIT,     /* bf16 or fp16 */
    PP_GEMM_FP8,       /* one scale per tensor */
    PP_GEMM_FP8_BLOCK, /* one scale per 128 inputs, or per 128 x 128 weights */
    PP_GEMM_MXFP8,     /* one scale per 32 elements */
    PP_GEMM_NVFP4,     /* one scale per 16 elements, and one per tensor */
    PP_GEMM_FORMATS,
} pp_gemm_format;

/* "16bit", "fp8", "fp8-block", "mxfp8", "nvfp4", NULL; a name's index is the format. */
const char *const *pp_gemm_format_names(void);

typedef enum pp_precision {
    PP_PRECISION_BF16, /* and fp16: the data type tells them apart */
    PP_PRECISION_FP8,
    PP_PRECISION_FP8_CURRENT,
    PP_PRECISION_FP8_CURRENT_ALL, /* the first and last layer, too */
    PP_PRECISION_FP8_BLOCK,
    PP_PRECISION_MXFP8,
    PP_PRECISION_NVFP4,
    PP_PRECISIONS,
} pp_precision;

/* How a precision is carried out by TransformerEngine. Attention, norms, router, embedding, head
 * and loss stay in 16 bits with each of them. */
typedef struct pp_recipe {
    const char *name;
    pp_gemm_format format;
    double element_bytes;  /* a quantized element with its share of the scales */
    double quantize_bytes; /* memory traffic that quantizing one 16-bit element takes, with the
                              transposed copy that the weight gradient needs */
    bool current;          /* the scale is that of the tensor's own largest element, found before */
    int edge_layers;       /* so many first and so many last layers stay in 16 bits */
    bool parameters;       /* weights are kept, and gathered, in this format (--fp8-params) */
    bool tp_overlap;       /* exchange over tp can overlap with GEMMs (--tp-overlap) */
} pp_recipe;

const pp_recipe *pp_recipe_of(pp_precision precision);

/* "bf16", "fp8", "fp8-current", "fp8-current-all", "fp8-block", "mxfp8", "nvfp4", NULL; a name's
 * index is its precision. */
const char *const *pp_precision_names(void);

#endif
