/* Probe of the slow-down of a matrix product by transfers on the same GPU: on fewer
 * multiprocessors, during copies in the GPU's memory, and during messages of the GPU to itself.
 * Such messages occupy multiprocessors and memory as transfers do, but use no link. */
#include "calib/import/nccl/nccl_version.h"
#include "calib/measure/gpu_probe.h"
#include "calib/probe/probe.h"

#include "runtime/gpu/gpu_link.h"

#include <stdio.h>

enum { ALONE, FEWER, BESIDE_COPY, BESIDE_SELF, SERIES };

/* Returns the first product of an MLP for this number of tokens. */
static pp_gpu_probe_point product_of(const pp_gpu_probe *p, int64_t tokens)
{
    const pp_gpu_shapes *s = &p->settings;
    return (pp_gpu_probe_point){ .work = { .kind = PP_GPU_MULTIPLY,
                                           .in = PP_GPU_BF16,
                                           .out = PP_GPU_BF16,
                                           .product = PP_GPU_ABT,
                                           .m = tokens,
                                           .n = (s->gated ? 2 : 1) * s->mlp / s->tp,
                                           .k = s->hidden } };
}

/* Adds a point; `channels` is the number of multiprocessors taken from it, or 0. */
static void add(pp_gpu_probe *p, uint32_t series, const pp_gpu_probe_point *of, int32_t channels)
{
    pp_point *point = pp_gpu_probe_add(p, series, of);
    point->at[PP_VARIABLE_ROWS] = (double)of->work.m;
    point->at[PP_VARIABLE_COLUMNS] = (double)of->work.n;
    point->at[PP_VARIABLE_DEPTH] = (double)of->work.k;
    if (channels)
        point->at[PP_VARIABLE_CHANNELS] = channels;
}

static void add_all(pp_gpu_probe *p, pp_probe_scale scale, int64_t tokens)
{
    static const int32_t taken[] = { 4, 16, 8, 32, 2, 1, 24 };
    static const size_t counts[] = {
        [PP_PROBE_FULL] = 7, [PP_PROBE_QUICK] = 4, [PP_PROBE_TINY] = 1
    };
    const int32_t all = p->calls->facts(p->gpu)->multiprocessors;
    const int64_t bytes = scale == PP_PROBE_TINY ? 4 << 20 : 64 << 20;
    pp_gpu_probe_point of = product_of(p, tokens);
    add(p, ALONE, &of, 0);
    of.has_beside = true;
    of.beside = (pp_gpu_work){ .kind = PP_GPU_COPY, .bytes = bytes };
    add(p, BESIDE_COPY, &of, 0);
    for (size_t i = 0; i < counts[scale]; i++) {
        if (taken[i] >= all)
            continue;
        of = product_of(p, tokens);
        of.work.multiprocessors = all - taken[i];
        add(p, FEWER, &of, taken[i]);
        if (taken[i] & (taken[i] - 1)) /* NCCL uses powers of two */
            continue;
        of = product_of(p, tokens);
        of.has_beside = true;
        of.beside =
            (pp_gpu_work){ .kind = PP_GPU_MESSAGE, .bytes = bytes, .channels = (uint32_t)taken[i] };
        add(p, BESIDE_SELF, &of, taken[i]);
    }
}

static pp_status pair_open(const pp_probe_options *options, void **state_out,
                           const pp_subject **subject_out, pp_err *err)
{
    static const pp_subject_series series[SERIES] = {
        [ALONE] = { .class_name = "product_alone" },
        [FEWER] = { .class_name = "product_fewer_sms" },
        [BESIDE_COPY] = { .class_name = "product_beside_copy" },
        [BESIDE_SELF] = { .class_name = "product_beside_self_send" },
    };
    int64_t tokens[PP_GPU_PROBE_TOKENS];
    char version[32] = "";
    pp_gpu_probe *p;
    pp_status status = pp_gpu_probe_open(options, "gpu-interference", series, SERIES, &p, err);
    if (status)
        return status;
    const size_t count = pp_gpu_probe_tokens(p, options->scale, tokens);
    for (size_t t = 0; t < count && t < 2; t++)
        add_all(p, options->scale, tokens[t]);
    pp_nccl_version_text("nccl", p->calls->facts(p->gpu)->nccl, version, sizeof version);
    snprintf(p->library, sizeof p->library, "%.20s to itself", version);
    p->series[BESIDE_SELF].library = p->library;
    *state_out = p;
    *subject_out = &p->subject;
    return PP_OK;
}

const pp_probe pp_probe_gpu_interference = {
    .name = "gpu-interference",
    .summary = "slow-down of a matrix product on a GPU by busy multiprocessors, copies and its own "
               "messages",
    .share = 10,
    .asked = true,
    .check = pp_gpu_link_check_settings,
    .open = pair_open,
    .close = pp_gpu_probe_close,
};
