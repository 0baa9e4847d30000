/* Opens a GPU through the module ppsim_cuda.so. */
#include "runtime/gpu/gpu.h"

pp_status pp_gpu_open(uint32_t number, const pp_gpu_table **table_out, pp_gpu **gpu_out,
                      pp_err *err)
{
    const pp_module *module;
    pp_status status = pp_module_load(&pp_module_cuda, &module, err);
    if (!status)
        status = module->gpu->open(&pp_module_services_table, number, gpu_out, err);
    if (!status)
        *table_out = module->gpu;
    return status;
}
