/* Opens the task farm of the module ppsim_mpi.so. */
#include "runtime/module/farm.h"

bool pp_farm_launched(void)
{
    return pp_module_launched();
}

pp_status pp_farm_open(const pp_farm_table **table_out, pp_farm **farm_out, uint32_t *process_out,
                       uint32_t *processes_out, pp_err *err)
{
    const pp_module *module;
    pp_status status = pp_module_load(&pp_module_mpi, &module, err);
    if (!status)
        status = module->farm->open(&pp_module_services_table, farm_out, process_out, processes_out,
                                    err);
    if (!status)
        *table_out = module->farm;
    return status;
}
