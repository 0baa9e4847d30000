/* Probe of attention on a GPU with the kernels of compute cuda. Frameworks run the faster ones of
 * cuDNN, which gpu_cudnn.c measures. */
#include "calib/measure/gpu_attention.h"
#include "calib/probe/probe.h"

static pp_status attention_open(const pp_probe_options *options, void **state_out,
                                const pp_subject **subject_out, pp_err *err)
{
    static const pp_subject_series series[PP_GPU_ATTENTION_SERIES] = {
        { .class_name = "attn_fwd ppsim" },
        { .class_name = "attn_bwd ppsim" },
    };
    static const pp_gpu_attention_how how = { .name = "gpu-attention",
                                              .series = series,
                                              .forward = PP_GPU_ATTENTION_FORWARD,
                                              .backward = PP_GPU_ATTENTION_BACKWARD,
                                              .tokens = PP_GPU_PROBE_TOKENS,
                                              .squares = 8192.0 * 8192 }; /* seconds */
    pp_gpu_attention *a;
    pp_status status = pp_gpu_attention_open(options, &how, &a, err);
    if (status)
        return status;
    *state_out = a;
    *subject_out = &a->probe->subject;
    return PP_OK;
}

const pp_probe pp_probe_gpu_attention = {
    .name = "gpu-attention",
    .summary = "time of attention on a GPU by mix of sequence lengths (compute cuda, bf16)",
    .share = 40,
    .asked = true,
    .open = attention_open,
    .close = pp_gpu_attention_close,
};
