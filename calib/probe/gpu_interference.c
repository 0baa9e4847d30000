/* What a product loses to transfers on the same GPU: without the multiprocessors that they occupy,
 * and beside copies in the GPU's memory. */
#include "calib/gpu_probe.h"

enum { ALONE, FEWER, BESIDE_COPY, SERIES, BESIDE_BYTES = 64 << 20, TINY_BYTES = 4 << 20 };

static void add(pp_gpu_probe *p, uint32_t series, int64_t tokens, int32_t taken, int64_t bytes)
{
    const pp_gpu_shapes *s = &p->settings;
    const int32_t all = p->calls->facts(p->gpu)->multiprocessors;
    const pp_gpu_probe_point of = {
        .work = { .kind = PP_GPU_MULTIPLY,
                  .in = PP_GPU_BF16,
                  .out = PP_GPU_BF16,
                  .product = PP_GPU_ABT,
                  .m = tokens,
                  .n = (s->gated ? 2 : 1) * s->mlp / s->tp,
                  .k = s->hidden,
                  .multiprocessors = taken ? all - taken : 0 },
        .beside = { .kind = PP_GPU_COPY, .bytes = bytes },
        .has_beside = bytes > 0,
    };
    if (taken >= all)
        return;
    pp_point *point = pp_gpu_probe_add(p, series, &of);
    point->at[PP_VARIABLE_ROWS] = (double)of.work.m;
    point->at[PP_VARIABLE_COLUMNS] = (double)of.work.n;
    point->at[PP_VARIABLE_DEPTH] = (double)of.work.k;
    if (taken)
        point->at[PP_VARIABLE_CHANNELS] = taken; /* NCCL's take one each */
}

static pp_status pair_open(const pp_probe_options *options, void **state_out,
                           const pp_subject **subject_out, pp_err *err)
{
    static const pp_subject_series series[SERIES] = {
        [ALONE] = { .class_name = "product_alone" },
        [FEWER] = { .class_name = "product_fewer_sms" },
        [BESIDE_COPY] = { .class_name = "product_beside_copy" },
    };
    static const int32_t taken[] = { 4, 16, 8, 32, 2, 1, 24 };
    static const size_t counts[] = {
        [PP_PROBE_FULL] = 7, [PP_PROBE_QUICK] = 4, [PP_PROBE_TINY] = 1
    };
    int64_t tokens[PP_GPU_PROBE_TOKENS];
    const bool tiny = options->scale == PP_PROBE_TINY;
    pp_gpu_probe *p;
    pp_status status = pp_gpu_probe_open(options, "gpu-interference", series, SERIES, &p, err);
    if (status)
        return status;
    const size_t count = pp_gpu_probe_tokens(p, options->scale, tokens);
    for (size_t t = 0; t < count && t < 2; t++) {
        add(p, ALONE, tokens[t], 0, 0);
        add(p, BESIDE_COPY, tokens[t], 0, tiny ? TINY_BYTES : BESIDE_BYTES);
        for (size_t i = 0; i < counts[options->scale]; i++)
            add(p, FEWER, tokens[t], taken[i], 0);
    }
    *state_out = p;
    *subject_out = &p->subject;
    return PP_OK;
}

const pp_probe pp_probe_gpu_interference = {
    .name = "gpu-interference",
    .summary = "a product on a GPU with n multiprocessors taken, and beside copies in its memory",
    .share = 10,
    .asked = true,
    .open = pair_open,
    .close = pp_gpu_probe_close,
};
