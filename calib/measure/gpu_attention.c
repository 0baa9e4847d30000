/* The common part of probes of attention on a GPU: for each token count up to three mixes of
 * sequence lengths (one sequence, one long among short ones, four equal ones), each forward and
 * backward, so that the forms can separate squares, tokens and the longest sequence. */
#include "calib/measure/gpu_attention.h"

#include "calib/measure/probe_options.h"
#include "runtime/cpu/settings.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <stdlib.h>

void pp_gpu_attention_close(void *attention)
{
    pp_gpu_attention *a = attention;
    if (!a)
        return;
    pp_gpu_probe_close(a->probe);
    free(a);
}

static void add(pp_gpu_attention *a, const pp_gpu_attention_how *how, pp_mix mix)
{
    const pp_gpu_shapes *s = &a->probe->settings;
    double at[PP_VARIABLE_COUNT];
    pp_mix_variables(&mix, at);
    if (at[PP_VARIABLE_SQUARES] > how->squares || at[PP_VARIABLE_LONGEST] <= 1)
        return;
    pp_mix *kept = &a->mix[a->mixes++];
    *kept = mix;
    for (uint32_t series = 0; series < PP_GPU_ATTENTION_SERIES; series++) {
        pp_gpu_probe_point of = {
            .work = { .kind = series ? how->backward : how->forward,
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

static pp_status check_heads(const pp_gpu_shapes *s, pp_err *err)
{
    if (s->hidden / s->heads <= PP_GPU_HEAD_MAX)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS),
                      "hidden=%lld in heads=%lld: a head has at most %d elements; set more heads",
                      (long long)s->hidden, (long long)s->heads, PP_GPU_HEAD_MAX);
}

pp_status pp_gpu_attention_open(const pp_probe_options *options, const pp_gpu_attention_how *how,
                                pp_gpu_attention **attention_out, pp_err *err)
{
    int64_t tokens[PP_GPU_PROBE_TOKENS];
    pp_gpu_attention *a = pp_alloc_array(1, sizeof *a);
    if (!a)
        return pp_err_nomem(err);
    pp_status status =
        pp_gpu_probe_open(options, how->name, how->series, PP_GPU_ATTENTION_SERIES, &a->probe, err);
    if (!status)
        status = check_heads(&a->probe->settings, err);
    if (status) {
        pp_gpu_attention_close(a);
        return status;
    }
    const size_t all = pp_gpu_probe_tokens(a->probe, options->scale, tokens);
    for (size_t t = 0; t < all && t < how->tokens; t++) {
        add(a, how, pp_mix_one(tokens[t]));
        if (tokens[t] % 16 == 0)
            add(a, how, pp_mix_skewed(tokens[t]));
        if (tokens[t] % 4 == 0 && options->scale == PP_PROBE_FULL)
            add(a, how, pp_mix_four(tokens[t]));
    }
    *attention_out = a;
    return PP_OK;
}
