/* Probe of the matrix products of a layer on a GPU: forward, gradient of the input and gradient of
 * the weight, each for the four weights. Weights are stored as in PyTorch, outputs x inputs;
 * gradients of weights are accumulated in float. */
#include "calib/measure/gemm_series.h"
#include "calib/measure/gpu_probe.h"
#include "calib/probe/probe.h"

enum { FWD, DGRAD, WGRAD, PASSES, WEIGHTS = 4 };

/* The input is tokens x rows, the output tokens x columns; variables are as in cpu_gemm.c. */
static void add(pp_gpu_probe *p, int pass, uint32_t weight, int64_t tokens, bool cold)
{
    const pp_gpu_shapes *s = &p->settings;
    const int64_t head = s->hidden / s->heads;
    const int64_t rows[WEIGHTS] = { s->hidden, s->hidden / s->tp, s->hidden, s->mlp / s->tp };
    const int64_t columns[WEIGHTS] = { (s->heads + 2 * s->kv_heads) * head / s->tp, s->hidden,
                                       (s->gated ? 2 : 1) * s->mlp / s->tp, s->hidden };
    const int64_t in = rows[weight], out = columns[weight];
    const pp_gpu_work works[PASSES] = {
        [FWD] = { .product = PP_GPU_ABT, .m = tokens, .n = out, .k = in, .out = PP_GPU_BF16 },
        [DGRAD] = { .product = PP_GPU_AB, .m = tokens, .n = in, .k = out, .out = PP_GPU_BF16 },
        [WGRAD] = { .product = PP_GPU_ATB, .m = out, .n = in, .k = tokens, .add = true },
    };
    pp_gpu_probe_point of = { .work = works[pass] };
    of.work.kind = PP_GPU_MULTIPLY;
    of.work.in = PP_GPU_BF16;
    pp_point *point = pp_gpu_probe_add(p, (uint32_t)pass * WEIGHTS + weight, &of);
    point->at[PP_VARIABLE_ROWS] = (double)(pass == WGRAD ? in : tokens);
    point->at[PP_VARIABLE_COLUMNS] = (double)(pass == DGRAD ? in : out);
    point->at[PP_VARIABLE_DEPTH] = (double)(pass == WGRAD ? tokens : pass == DGRAD ? out : in);
    point->cold = cold;
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
    for (int pass = 0; pass < PASSES; pass++) {
        for (uint32_t weight = 0; weight < WEIGHTS; weight++) {
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
