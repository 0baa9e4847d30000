/* Compute cuda: the math of compute cpu on GPUs, in float or bf16. Everything that calls CUDA is
 * in the module ppsim_cuda.so; compute cpu in double is the reference of its verification. */
#include "runtime/cpu/stage_math.h"
#include "runtime/module/module.h"

#include <stdio.h>

extern const pp_compute pp_compute_cpu, pp_compute_cuda;

static pp_status cuda_describe(const pp_compute_work *work, pp_costs *costs, pp_err *err)
{
    const pp_module *module;
    pp_cpu_settings settings;
    pp_status status = pp_module_load(&pp_module_cuda, &module, err);
    if (!status)
        status = pp_gpu_settings_parse(work->settings, &settings, err);
    if (!status && work->zero &&
        settings.bf16) /* the update would need parts of the float weights */
        status = pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS),
                            "dtype=bf16: replicas that share their update compute in float; take "
                            "dtype=float, or let each update all parameters (%s 0)",
                            pp_err_name(err, PP_FIELD_ZERO));
    return status ? status : pp_stage_math_describe(work, true, costs, err);
}

static pp_status cuda_open(const pp_compute_work *work, const bool *holds, void **worker_out,
                           pp_err *err)
{
    const pp_module *module;
    pp_cpu_model *model = NULL;
    pp_status status = pp_module_load(&pp_module_cuda, &module, err);
    if (status || (status = pp_cpu_model_new(work, true, &model, err)))
        return status;
    return pp_stage_math_open(work, model, module->math, &pp_module_services_table, holds,
                              worker_out, err);
}

static pp_status cuda_memory(pp_device_memory *memory_out, pp_err *err)
{
    const pp_module *module;
    pp_status status = pp_module_load(&pp_module_cuda, &module, err);
    if (status)
        return status;
    *memory_out = *module->memory;
    memory_out->services = &pp_module_services_table;
    return PP_OK;
}

static pp_status cuda_reference(const pp_compute_work *work, const pp_compute **compute_out,
                                double *tolerance_out, char *settings_out, pp_err *err)
{
    pp_cpu_settings s;
    pp_status status = pp_gpu_settings_parse(work->settings, &s, err);
    if (status)
        return status;
    snprintf(settings_out, PP_SETTINGS_MAX,
             "hidden=%lld,heads=%lld,mlp=%lld,vocab=%lld,tied=%s,tokens=%lld,lr=%.17g",
             (long long)s.hidden, (long long)s.heads, (long long)s.mlp, (long long)s.vocab,
             s.tied ? "on" : "off", (long long)s.tokens, s.lr);
    *compute_out = &pp_compute_cpu;
    *tolerance_out = s.bf16 ? PP_GPU_TOLERANCE_BF16 : PP_GPU_TOLERANCE_F32;
    return PP_OK;
}

const pp_compute pp_compute_cuda = {
    .name = "cuda",
    .summary = "computes a transformer on GPUs, in float or bf16 (CUDA, cuBLASLt)",
    .sleeps = true, /* the threads of its ranks sleep while the GPU computes */
    .describe = cuda_describe,
    .open = cuda_open,
    PP_WORKER_CALLS,
    PP_WORKER_SHARDS,
    .times = pp_stage_math_times,
    .gpu = pp_stage_math_gpu,
    .memory = cuda_memory,
    .check = pp_stage_math_check,
    .reference = cuda_reference,
};
