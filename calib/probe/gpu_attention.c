/* Causal attention on a GPU over mixes of sequence lengths, forward and backward, by the kernels of
 * compute cuda. Frameworks have faster ones: tools/measure_torch.py measures those. */
#include "calib/gpu_probe.h"
#include "calib/ops.h"
#include "runtime/cpu/settings.h"
#include "sim/alloc.h"

#include <stdlib.h>

#define SQUARES_MAX (8192.0 * 8192)

enum { FWD, BWD, SERIES, MIXES = 3 * PP_GPU_PROBE_TOKENS };

typedef struct attention {
    pp_gpu_probe *probe;
    pp_mix mix[MIXES]; /* the points' work refers to them */
    size_t mixes;
} attention;

static void attention_close(void *state)
{
    attention *a = state;
    if (!a)
        return;
    pp_gpu_probe_close(a->probe);
    free(a);
}

static void add(attention *a, pp_mix mix)
{
    const pp_gpu_shapes *s = &a->probe->settings;
    double at[PP_VARIABLE_COUNT];
    pp_mix_variables(&mix, at);
    if (at[PP_VARIABLE_SQUARES] > SQUARES_MAX) /* takes seconds */
        return;
    pp_mix *kept = &a->mix[a->mixes++];
    *kept = mix;
    for (uint32_t series = FWD; series < SERIES; series++) {
        pp_gpu_probe_point of = {
            .work = { .kind = series == FWD ? PP_GPU_ATTENTION_FORWARD : PP_GPU_ATTENTION_BACKWARD,
                      .in = PP_GPU_BF16,
                      .heads = s->heads / s->tp,
                      .width = s->hidden / s->heads,
                      .lengths = kept->lengths,
                      .sequences = kept->count },
        };
        for (size_t i = 0; i < kept->count; i++)
            of.work.rows += kept->lengths[i];
        pp_mix_variables(kept, pp_gpu_probe_add(a->probe, series, &of)->at);
    }
}

static pp_status attention_open(const pp_probe_options *options, void **state_out,
                                const pp_subject **subject_out, pp_err *err)
{
    static const pp_subject_series series[SERIES] = {
        [FWD] = { .class_name = "attn_fwd" },
        [BWD] = { .class_name = "attn_bwd" },
    };
    int64_t tokens[PP_GPU_PROBE_TOKENS];
    attention *a = pp_alloc_array(1, sizeof *a);
    if (!a)
        return pp_err_nomem(err);
    pp_status status = pp_gpu_probe_open(options, "gpu-attention", series, SERIES, &a->probe, err);
    if (!status && a->probe->settings.hidden / a->probe->settings.heads > PP_GPU_HEAD_MAX)
        status = pp_err_set(err, PP_USAGE, "--compute-settings",
                            "hidden=%lld in heads=%lld: a head has at most %d elements; say more "
                            "heads",
                            (long long)a->probe->settings.hidden,
                            (long long)a->probe->settings.heads, PP_GPU_HEAD_MAX);
    if (status) {
        attention_close(a);
        return status;
    }
    const size_t count = pp_gpu_probe_tokens(a->probe, options->scale, tokens);
    for (size_t t = 0; t < count; t++) {
        add(a, pp_mix_one(tokens[t]));
        if (tokens[t] % 16 == 0)
            add(a, pp_mix_skewed(tokens[t]));
        if (tokens[t] % 4 == 0 && options->scale == PP_PROBE_FULL)
            add(a, pp_mix_four(tokens[t]));
    }
    *state_out = a;
    *subject_out = &a->probe->subject;
    return PP_OK;
}

const pp_probe pp_probe_gpu_attention = {
    .name = "gpu-attention",
    .summary = "attention of compute cuda on a GPU, bf16, over mixes of sequence lengths",
    .share = 40,
    .asked = true,
    .open = attention_open,
    .close = attention_close,
};
