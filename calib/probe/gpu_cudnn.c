/* Probe of attention on a GPU with cuDNN, which frameworks run and the cost model therefore
 * prefers. */
#include "calib/measure/gpu_attention.h"
#include "calib/probe/probe.h"

#include <stdio.h>
#include <string.h>

static pp_status check_cudnn(pp_gpu_probe *p, pp_err *err)
{
    const pp_gpu_shapes *s = &p->settings;
    const pp_gpu_facts *facts = p->calls->facts(p->gpu);
    const char *version;
    const char *products = strstr(facts->software, ", cuBLASLt"); /* has no part in it */
    const size_t bytes = products ? (size_t)(products - facts->software) : strlen(facts->software);
    pp_status status =
        p->calls->open_cudnn(p->gpu, s->heads / s->tp, s->hidden / s->heads, &version, err);
    if (!status)
        snprintf(p->source, sizeof p->source,
                 "probe gpu-cudnn, device time: bf16, %.40s, cuDNN %.10s, %.*s", facts->name,
                 version, (int)bytes, facts->software);
    return status;
}

/* A graph of cuDNN takes a second or more to make, so there are fewer. */
static pp_status cudnn_open(const pp_probe_options *options, void **state_out,
                            const pp_subject **subject_out, pp_err *err)
{
    static const pp_subject_series series[PP_GPU_ATTENTION_SERIES] = {
        { .class_name = "attn_fwd" },
        { .class_name = "attn_bwd" },
    };
    const pp_gpu_attention_how how = { .name = "gpu-cudnn",
                                       .series = series,
                                       .forward = PP_GPU_CUDNN_FORWARD,
                                       .backward = PP_GPU_CUDNN_BACKWARD,
                                       .tokens = options->scale == PP_PROBE_FULL ? 5 : 4,
                                       .squares = 32768.0 * 32768 };
    pp_gpu_attention *a;
    pp_status status = pp_gpu_attention_open(options, &how, &a, err);
    if (status)
        return status;
    status = check_cudnn(a->probe, err);
    if (status) {
        pp_gpu_attention_close(a);
        return status;
    }
    *state_out = a;
    *subject_out = &a->probe->subject;
    return PP_OK;
}

const pp_probe pp_probe_gpu_cudnn = {
    .name = "gpu-cudnn",
    .summary = "time of attention on a GPU by mix of sequence lengths (cuDNN, bf16)",
    .share = 40,
    .asked = true,
    .open = cudnn_open,
    .close = pp_gpu_attention_close,
};
