/* The steps of lowering that are common to all frameworks. */
#include "sim/framework/framework.h"

#include "sim/framework/sizes/lower_sizes.h"
#include "sim/program/comm.h"

pp_status pp_framework_lower(const pp_framework *framework, const pp_order *order,
                             const pp_costs *costs, pp_program **program_out, pp_err *err)
{
    pp_status status = costs && framework->lower_timed
                           ? framework->lower_timed(order, costs, program_out, err)
                           : framework->lower(order, program_out, err);
    if (!status && (*program_out)->comm)
        (*program_out)->comm->buffers = framework->buffers;
    return status;
}

pp_status pp_exchange_lower(const pp_framework *framework, const pp_exchange_options *exchange,
                            const pp_costs *costs, pp_program *program, pp_err *err)
{
    return pp_sizes_lower(framework->name, framework->size_protocols, exchange, costs, program,
                          err);
}
