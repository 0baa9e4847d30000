/* Probe of the matrix products of a layer on a GPU in 8 bits with one scale per tensor: those of
 * probe gpu-gemm with operands in E4M3, and gradients in E5M2. The quantization of the operands is
 * not in them; probe gpu-quantize measures it. */
#include "calib/measure/gpu_products.h"
#include "calib/probe/probe.h"

enum { SERIES = PP_GPU_PASSES * PP_GPU_WEIGHTS };

static const pp_subject_series series[SERIES] = {
    { .class_name = "gemm_fwd_fp8 qkv" },      { .class_name = "gemm_fwd_fp8 proj" },
    { .class_name = "gemm_fwd_fp8 mlp_up" },   { .class_name = "gemm_fwd_fp8 mlp_down" },
    { .class_name = "gemm_dgrad_fp8 qkv" },    { .class_name = "gemm_dgrad_fp8 proj" },
    { .class_name = "gemm_dgrad_fp8 mlp_up" }, { .class_name = "gemm_dgrad_fp8 mlp_down" },
    { .class_name = "gemm_wgrad_fp8 qkv" },    { .class_name = "gemm_wgrad_fp8 proj" },
    { .class_name = "gemm_wgrad_fp8 mlp_up" }, { .class_name = "gemm_wgrad_fp8 mlp_down" },
};

static void add_points(pp_gpu_probe *p, pp_probe_scale scale)
{
    int64_t tokens[PP_GPU_PROBE_TOKENS];
    const size_t count = pp_gpu_probe_tokens(p, scale, tokens);
    for (uint32_t k = 0; k < SERIES; k++) {
        pp_gpu_layer_product of = { .pass = (pp_gpu_pass)(k / PP_GPU_WEIGHTS), .low = true };
        pp_gpu_weight_shape(&p->settings, k % PP_GPU_WEIGHTS, &of.in, &of.out);
        for (size_t t = 0; t < count; t++) {
            of.tokens = tokens[t];
            if (tokens[t] % PP_GPU_TOKENS_UNIT == 0)
                pp_gpu_product_add(p, k, &of);
        }
    }
}

static pp_status fp8_open(const pp_probe_options *options, void **state_out,
                          const pp_subject **subject_out, pp_err *err)
{
    pp_gpu_probe *p;
    pp_status status = pp_gpu_probe_open(options, "gpu-fp8", series, SERIES, &p, err);
    if (status)
        return status;
    const pp_gpu_facts *facts = p->calls->facts(p->gpu);
    if (facts->capability < PP_GPU_CAPABILITY_OF_8_BITS) {
        status = pp_err_set(err, PP_UNAVAILABLE, NULL,
                            "%.60s (sm_%d) multiplies nothing in 8 bits; GPUs from sm_%d on do",
                            facts->name, facts->capability, PP_GPU_CAPABILITY_OF_8_BITS);
        pp_gpu_probe_close(p);
        return status;
    }
    pp_gpu_probe_describe(p, "gpu-fp8, device time: e4m3, e5m2");
    add_points(p, options->scale);
    *state_out = p;
    *subject_out = &p->subject;
    return PP_OK;
}

const pp_probe pp_probe_gpu_fp8 = {
    .name = "gpu-fp8",
    .summary = "time of the matrix products of a layer on a GPU in 8 bits, a scale per tensor "
               "(cuBLASLt, e4m3 and e5m2)",
    .share = 60,
    .asked = true,
    .open = fp8_open,
    .close = pp_gpu_probe_close,
};
