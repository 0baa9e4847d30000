/* Probe of the kernels of compute cuda other than products and attention. Memory bandwidth limits
 * them. */
#include "calib/measure/gpu_probe.h"
#include "calib/probe/probe.h"

enum { BYTES_OF_16 = 2 };

/* In the order of `series`. */
static const struct {
    pp_gpu_work_kind kind;
    pp_variable variable;
    int64_t tensors; /* of rows x width that are read or written, for BYTES */
    bool mlp;        /* the width is that of the MLP */
} works[] = {
    { PP_GPU_NORM_FORWARD, PP_VARIABLE_BYTES, 2, false },
    { PP_GPU_NORM_BACKWARD, PP_VARIABLE_BYTES, 4, false },
    { PP_GPU_GELU_FORWARD, PP_VARIABLE_BYTES, 2, true },
    { PP_GPU_GELU_BACKWARD, PP_VARIABLE_BYTES, 3, true },
    { PP_GPU_SWIGLU_FORWARD, PP_VARIABLE_BYTES, 3, true },
    { PP_GPU_SWIGLU_BACKWARD, PP_VARIABLE_BYTES, 5, true },
    { PP_GPU_CROSS_ENTROPY, PP_VARIABLE_TOKENS, 0, false },
    { PP_GPU_EMBEDDING_FORWARD, PP_VARIABLE_TOKENS, 0, false },
    { PP_GPU_EMBEDDING_BACKWARD, PP_VARIABLE_TOKENS, 0, false },
    { PP_GPU_ADAM, PP_VARIABLE_PARAMETERS, 0, false },
};

enum { SERIES = sizeof works / sizeof works[0] };

static const pp_subject_series series[SERIES] = {
    { .class_name = "norm_fwd" },      { .class_name = "norm_bwd" },
    { .class_name = "gelu_fwd" },      { .class_name = "gelu_bwd" },
    { .class_name = "swiglu_fwd" },    { .class_name = "swiglu_bwd" },
    { .class_name = "cross_entropy" }, { .class_name = "embedding_fwd" },
    { .class_name = "embedding_bwd" }, { .class_name = "adam" },
};

static void add(pp_gpu_probe *p, uint32_t k, int64_t tokens, bool cold)
{
    const pp_gpu_shapes *s = &p->settings;
    const pp_gpu_probe_point of = {
        .work = { .kind = works[k].kind,
                  .in = PP_GPU_BF16,
                  .rows = works[k].kind == PP_GPU_ADAM ? tokens * s->hidden : tokens,
                  .width = works[k].mlp ? s->mlp / s->tp : s->hidden,
                  .vocab = (s->vocab + s->tp - 1) / s->tp },
    };
    const int64_t bytes = works[k].tensors * of.work.rows * of.work.width * BYTES_OF_16;
    pp_point *point = pp_gpu_probe_add(p, k, &of);
    point->at[works[k].variable] =
        (double)(works[k].variable == PP_VARIABLE_BYTES ? bytes : of.work.rows);
    point->cold = cold;
}

static pp_status rows_open(const pp_probe_options *options, void **state_out,
                           const pp_subject **subject_out, pp_err *err)
{
    int64_t tokens[PP_GPU_PROBE_TOKENS];
    pp_gpu_probe *p;
    pp_status status = pp_gpu_probe_open(options, "gpu-rows", series, SERIES, &p, err);
    if (status)
        return status;
    const size_t count = pp_gpu_probe_tokens(p, options->scale, tokens);
    for (uint32_t k = 0; k < SERIES; k++) {
        for (size_t t = 0; t < count; t++) {
            add(p, k, tokens[t], false);
            if (t < 4 && options->scale == PP_PROBE_FULL)
                add(p, k, tokens[t], true);
        }
    }
    *state_out = p;
    *subject_out = &p->subject;
    return PP_OK;
}

const pp_probe pp_probe_gpu_rows = {
    .name = "gpu-rows",
    .summary = "time of norms, GELU, SwiGLU, cross-entropy, embedding and Adam on a GPU by size",
    .share = 30,
    .asked = true,
    .open = rows_open,
    .close = pp_gpu_probe_close,
};
