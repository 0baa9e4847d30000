/* Probe of throttling: the same product on a GPU that was idle and on one that has computed for
 * long, since clocks fall as power and temperature rise. */
#include "calib/measure/gpu_probe.h"
#include "calib/probe/probe.h"

enum { BURST, SUSTAINED, SERIES };

static pp_status power_open(const pp_probe_options *options, void **state_out,
                            const pp_subject **subject_out, pp_err *err)
{
    static const pp_subject_series series[SERIES] = {
        [BURST] = { .class_name = "product_burst" },
        [SUSTAINED] = { .class_name = "product_sustained" },
    };
    static const pp_ns rest_ns[] = {
        [PP_PROBE_FULL] = 500000000, [PP_PROBE_QUICK] = 100000000, [PP_PROBE_TINY] = 100000
    };
    static const pp_ns heat_ns[] = {
        [PP_PROBE_FULL] = 20000000000, [PP_PROBE_QUICK] = 3000000000, [PP_PROBE_TINY] = 100000
    };
    int64_t tokens[PP_GPU_PROBE_TOKENS];
    pp_gpu_probe *p;
    pp_status status = pp_gpu_probe_open(options, "gpu-power", series, SERIES, &p, err);
    if (status)
        return status;
    (void)pp_gpu_probe_tokens(p, options->scale, tokens);
    for (uint32_t k = 0; k < SERIES; k++) {
        const pp_gpu_shapes *s = &p->settings;
        const pp_gpu_probe_point of = {
            .work = { .kind = PP_GPU_MULTIPLY,
                      .in = PP_GPU_BF16,
                      .out = PP_GPU_BF16,
                      .product = PP_GPU_ABT,
                      .m = tokens[0],
                      .n = (s->gated ? 2 : 1) * s->mlp / s->tp,
                      .k = s->hidden },
            .rest_ns = k == BURST ? rest_ns[options->scale] : 0,
            .heat_ns = heat_ns[options->scale],
        };
        pp_point *point = pp_gpu_probe_add(p, k, &of);
        point->at[PP_VARIABLE_ROWS] = (double)of.work.m;
        point->at[PP_VARIABLE_COLUMNS] = (double)of.work.n;
        point->at[PP_VARIABLE_DEPTH] = (double)of.work.k;
    }
    *state_out = p;
    *subject_out = &p->subject;
    return PP_OK;
}

const pp_probe pp_probe_gpu_power = {
    .name = "gpu-power",
    .summary =
        "time of a matrix product on a GPU that was idle, and on one that has computed for long",
    .share = 10,
    .asked = true,
    .open = power_open,
    .close = pp_gpu_probe_close,
};
