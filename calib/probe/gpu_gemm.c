/* Probe of the matrix products of a layer on a GPU: forward, gradient of the input and gradient of
 * the weight, each for the four weights; gradients of weights are accumulated in float. */
#include "calib/measure/gemm_series.h"
#include "calib/measure/gpu_products.h"
#include "calib/probe/probe.h"

static void add(pp_gpu_probe *p, int pass, uint32_t weight, int64_t tokens, bool cold)
{
    pp_gpu_layer_product of = { .pass = (pp_gpu_pass)pass, .tokens = tokens, .cold = cold };
    pp_gpu_weight_shape(&p->settings, weight, &of.in, &of.out);
    pp_gpu_product_add(p, (uint32_t)pass * PP_GPU_WEIGHTS + weight, &of);
}

static pp_status gemm_open(const pp_probe_options *options, void **state_out,
                           const pp_subject **subject_out, pp_err *err)
{
    int64_t tokens[PP_GPU_PROBE_TOKENS];
    pp_gpu_probe *p;
    pp_status status =
        pp_gpu_probe_open(options, "gpu-gemm", pp_gemm_series, PP_GEMM_SERIES, &p, err);
    if (status)
        return status;
    const size_t count = pp_gpu_probe_tokens(p, options->scale, tokens);
    for (int pass = 0; pass < PP_GPU_PASSES; pass++) {
        for (uint32_t weight = 0; weight < PP_GPU_WEIGHTS; weight++) {
            for (size_t t = 0; t < count; t++)
                add(p, pass, weight, tokens[t], false);
            if (options->scale != PP_PROBE_QUICK)
                add(p, pass, weight, tokens[0], true);
        }
    }
    *state_out = p;
    *subject_out = &p->subject;
    return PP_OK;
}

const pp_probe pp_probe_gpu_gemm = {
    .name = "gpu-gemm",
    .summary =
        "time of the matrix products of a layer on a GPU by number of tokens (cuBLASLt, bf16)",
    .share = 60,
    .asked = true,
    .open = gemm_open,
    .close = pp_gpu_probe_close,
};
