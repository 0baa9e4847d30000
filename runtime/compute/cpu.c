/* Compute cpu: the forward and backward math of a residual transformer stack on this processor,
 * in double or in float. The ops are those of runtime/cpu/stage_math.c;
 * docs/explanation/runtime-cpu.md has the equations. */
#include "runtime/cpu/matmul.h"
#include "runtime/cpu/stage_math.h"

static pp_status cpu_describe(const pp_compute_work *work, pp_costs *costs, pp_err *err)
{
    pp_cpu_blas blas;
    pp_status status = pp_cpu_blas_open(&blas, err);
    return status ? status : pp_stage_math_describe(work, false, costs, err);
}

static pp_status cpu_open(const pp_compute_work *work, const bool *holds, void **worker_out,
                          pp_err *err)
{
    pp_cpu_model *model = NULL;
    pp_status status = pp_cpu_model_new(work, false, &model, err);
    if (status)
        return status;
    const pp_math *math = model->settings.single ? &pp_cpu_math_f32 : &pp_cpu_math_f64;
    return pp_stage_math_open(work, model, math, NULL, holds, worker_out, err);
}

const pp_compute pp_compute_cpu = {
    .name = "cpu",
    .summary = "computes a transformer on this processor, in double or float (OpenBLAS)",
    .describe = cpu_describe,
    .open = cpu_open,
    PP_WORKER_CALLS,
    PP_WORKER_SHARDS,
    .value_nudge = pp_stage_math_value_nudge,
};
