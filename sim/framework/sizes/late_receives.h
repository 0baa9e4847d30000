/* Size messages of a runtime that posts the receive of a tensor only after it has read the tensor's
 * size. */
#ifndef PPSIM_SIM_FRAMEWORK_SIZES_LATE_RECEIVES_H
#define PPSIM_SIM_FRAMEWORK_SIZES_LATE_RECEIVES_H

#include "sim/cost/costs.h"
#include "sim/program/comm.h"

/* Implements the protocols `message` and `cached` with late receives
 * (pp_size_protocol_support.late_receive). Adds to `builder` all steps of `from`, a communication
 * of `program` in which each group is one transfer and only ops wait, and the messages. parts:
 * tensors per stage boundary. costs: for sizes and pairs; may be NULL unless `cached`. Fails:
 * NOMEM. */
PP_MUST_CHECK pp_status pp_lower_shapes_late(const pp_program *program, const pp_comm *from,
                                             bool cached, uint32_t parts, const pp_costs *costs,
                                             pp_comm_builder *builder, pp_err *err);

#endif
