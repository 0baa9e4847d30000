/* Probe of the products of experts on a GPU: each expert has rows of its own, from half to one and
 * a half times as many as the mean, and a product of its own for each pass; in bf16 and, if the GPU
 * has them, in 8 bits. The time is that of all experts of the GPU together. */
#include "calib/measure/gpu_products.h"
#include "calib/probe/probe.h"

#include "sim/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

enum { MATRICES = 2, PLAIN = PP_GPU_PASSES * MATRICES, SERIES = 2 * PLAIN /* and in 8 bits */ };
enum { UNIT = PP_GPU_TOKENS_UNIT };

typedef struct grouped {
    pp_gpu_probe *probe;
    char name[SERIES][64];
    int64_t rows[PP_GPU_PROBE_TOKENS][PP_GPU_EXPERTS_MAX]; /* referenced by the points */
} grouped;

static void grouped_close(void *state)
{
    grouped *g = state;
    if (!g)
        return;
    pp_gpu_probe_close(g->probe);
    free(g);
}

/* Few and many rows take turns, so that no stream gets all of the largest products. */
static void divide(int64_t tokens, int64_t experts, int64_t *rows_out)
{
    int64_t left = tokens / UNIT;
    for (int64_t e = 0; e < experts; e++) {
        const int64_t rank = e % 2 ? experts - 1 - e / 2 : e / 2;
        const double share = experts > 1 ? 0.5 + (double)rank / (double)(experts - 1) : 1;
        const int64_t later = experts - 1 - e; /* who need one each */
        int64_t units = (int64_t)(share * (double)(tokens / UNIT) / (double)experts);
        units = units < 1 ? 1 : units;
        units = e == experts - 1 || units > left - later ? left - later : units;
        rows_out[e] = units * UNIT;
        left -= units;
    }
}

static void name_series(grouped *g, int64_t experts, pp_subject_series *series_out)
{
    static const char *const passes[PP_GPU_PASSES] = { "fwd", "dgrad", "wgrad" };
    for (int k = 0; k < SERIES; k++) {
        snprintf(g->name[k], sizeof g->name[k], "gemm_%s_grouped%s %d %s",
                 passes[k / MATRICES % PP_GPU_PASSES], k < PLAIN ? "" : "_fp8", (int)experts,
                 k % MATRICES ? "mlp_down" : "mlp_up");
        series_out[k] = (pp_subject_series){ .class_name = g->name[k] };
    }
}

static void add_points(grouped *g, uint32_t series, pp_probe_scale scale)
{
    const pp_gpu_shapes *s = &g->probe->settings;
    const int64_t wide = (s->gated ? 2 : 1) * s->expert_mlp;
    int64_t tokens[PP_GPU_PROBE_TOKENS];
    const size_t count = pp_gpu_probe_tokens(g->probe, scale, tokens);
    if (scale == PP_PROBE_TINY)
        tokens[0] = 2 * UNIT * s->experts;
    for (size_t t = 0; t < count; t++) {
        if (tokens[t] % UNIT || tokens[t] / UNIT < s->experts)
            continue;
        divide(tokens[t], s->experts, g->rows[t]);
        for (uint32_t k = 0; k < series; k++) {
            const pp_gpu_layer_product of = {
                .pass = (pp_gpu_pass)(k / MATRICES % PP_GPU_PASSES),
                .in = k % MATRICES ? s->expert_mlp : s->hidden,
                .out = k % MATRICES ? s->hidden : wide,
                .tokens = tokens[t],
                .low = k >= PLAIN,
                .rows = g->rows[t],
                .experts = (size_t)s->experts,
            };
            pp_gpu_product_add(g->probe, k, &of);
        }
    }
}

static pp_status check_settings(const pp_gpu_shapes *s, pp_err *err)
{
    if (s->experts < 2)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS),
                          "experts=1: a single expert is a product of gpu-gemm; set two or more");
    if (s->tokens < UNIT * s->experts)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS),
            "tokens=%lld: each of %lld experts has %d rows at least; set %lld or more",
            (long long)s->tokens, (long long)s->experts, UNIT, (long long)(UNIT * s->experts));
    return PP_OK;
}

static pp_status grouped_open(const pp_probe_options *options, void **state_out,
                              const pp_subject **subject_out, pp_err *err)
{
    const char *text = options->settings ? options->settings : PP_GPU_PROBE_SETTINGS;
    pp_subject_series series[SERIES];
    pp_gpu_shapes shapes;
    pp_status status = pp_gpu_shapes_parse(text, &shapes, err);
    if (!status && options->scale != PP_PROBE_TINY)
        status = check_settings(&shapes, err);
    if (status)
        return status;
    grouped *g = pp_alloc_array(1, sizeof *g);
    if (!g)
        return pp_err_nomem(err);
    name_series(g, shapes.experts, series);
    status = pp_gpu_probe_open(options, "gpu-grouped", series, SERIES, &g->probe, err);
    if (status) {
        grouped_close(g);
        return status;
    }
    pp_gpu_probe *p = g->probe;
    if (p->calls->facts(p->gpu)->capability < PP_GPU_CAPABILITY_OF_8_BITS) {
        p->subject.series_count = PLAIN;
    } else {
        pp_gpu_probe_describe(p, "gpu-grouped, device time: bf16, fp8");
    }
    add_points(g, (uint32_t)p->subject.series_count, options->scale);
    *state_out = g;
    *subject_out = &p->subject;
    return PP_OK;
}

const pp_probe pp_probe_gpu_grouped = {
    .name = "gpu-grouped",
    .summary = "time of the products of all experts of a GPU, with unequal numbers of rows "
               "(cuBLASLt, bf16 and 8 bits)",
    .share = 60,
    .asked = true,
    .open = grouped_open,
    .close = grouped_close,
};
