/* Probe of quantization on a GPU: a tensor in bf16 to E4M3 with one scale, and a transposed copy,
 * which products in 8 bits need. With a scale that is there already (recipe fp8), and with that of
 * the tensor's own largest element, which takes another pass over it (fp8-current). */
#include "calib/measure/gpu_probe.h"
#include "calib/probe/probe.h"
#include "sim/job/precision.h"

static const struct {
    pp_gpu_work_kind kind;
    pp_precision precision; /* whose traffic it is */
} works[] = {
    { PP_GPU_QUANTIZE, PP_PRECISION_FP8 },
    { PP_GPU_QUANTIZE_CURRENT, PP_PRECISION_FP8_CURRENT },
};

enum { SERIES = sizeof works / sizeof works[0] };

static const pp_subject_series series[SERIES] = {
    { .class_name = "quantize_fp8" },
    { .class_name = "quantize_fp8_current" },
};

static void add(pp_gpu_probe *p, uint32_t k, int64_t rows, int64_t width)
{
    const pp_gpu_probe_point of = {
        .work = { .kind = works[k].kind, .in = PP_GPU_BF16, .rows = rows, .width = width }
    };
    pp_gpu_probe_add(p, k, &of)->at[PP_VARIABLE_BYTES] =
        pp_recipe_of(works[k].precision)->quantize_bytes * (double)rows * (double)width;
}

/* Tensors as wide as the layer, and as wide as its MLP where they are larger than all of these. */
static pp_status quantize_open(const pp_probe_options *options, void **state_out,
                               const pp_subject **subject_out, pp_err *err)
{
    int64_t tokens[PP_GPU_PROBE_TOKENS], most = 0;
    pp_gpu_probe *p;
    pp_status status = pp_gpu_probe_open(options, "gpu-quantize", series, SERIES, &p, err);
    if (status)
        return status;
    const int64_t hidden = p->settings.hidden;
    const int64_t wide = (p->settings.gated ? 2 : 1) * p->settings.mlp / p->settings.tp;
    const size_t count = pp_gpu_probe_tokens(p, options->scale, tokens);
    for (size_t t = 0; t < count; t++)
        most = tokens[t] > most ? tokens[t] : most;
    for (uint32_t k = 0; k < SERIES; k++) {
        for (size_t t = 0; t < count; t++) {
            add(p, k, tokens[t], hidden);
            if (tokens[t] * wide > most * hidden)
                add(p, k, tokens[t], wide);
        }
    }
    *state_out = p;
    *subject_out = &p->subject;
    return PP_OK;
}

const pp_probe pp_probe_gpu_quantize = {
    .name = "gpu-quantize",
    .summary = "time of quantization to 8 bits on a GPU by bytes, a scale per tensor",
    .share = 30,
    .asked = true,
    .open = quantize_open,
    .close = pp_gpu_probe_close,
};
