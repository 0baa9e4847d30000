/* Shape messages of a runtime that posts the receive of a tensor only when its size has been read.
 */
#ifndef PPSIM_SIM_FRAMEWORK_SIZES_LATE_RECEIVES_H
#define PPSIM_SIM_FRAMEWORK_SIZES_LATE_RECEIVES_H

#include "sim/cost/costs.h"
#include "sim/program/comm.h"

/* `message` and `cached` where receives are late (pp_size_protocol_support.late_receive): adds all
 * steps of `from`, a communication of `program` in which each group is one transfer and nothing
 * waits but ops. parts: tensors per boundary. costs: sizes and pairs; may be NULL for `message`.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_lower_shapes_late(const pp_program *program, const pp_comm *from,
                                             bool cached, uint32_t parts, const pp_costs *costs,
                                             pp_comm_builder *builder, pp_err *err);

#endif
