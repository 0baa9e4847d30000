/* torch.distributed.pipelining, _PipelineScheduleRuntime. */
#include "sim/lower_torch.h"
#include "sim/shapes.h"

static pp_status torch_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    return pp_torch_lower(order, "torch", PP_TORCH_EARLY, program_out, err);
}

const pp_executor pp_executor_torch = {
    .name = "torch",
    .summary = "PyTorch pipelining's passes: a send and its receive are issued at the same moment",
    .lower = torch_lower,
    .shape_habit = &pp_shape_habit_torch,
};
