/* What the passes of sim/framework/sizes/lower_sizes.c share. */
#ifndef PPSIM_SIM_FRAMEWORK_SIZES_LOWER_SIZES_H
#define PPSIM_SIM_FRAMEWORK_SIZES_LOWER_SIZES_H

#include "sim/framework/sizes/size_protocol.h"

/* Bytes of the tensor above `stage`; where no bytes are known its duration tells sizes apart. */
int64_t pp_size_above(const pp_costs *costs, uint32_t stage, uint32_t microbatch);

/* `message` and `cached` where receives are late (pp_size_protocol_support.late_receive): adds all
 * steps of `from`, a communication of `program` in which each group is one transfer and nothing
 * waits but ops. parts: tensors per boundary. costs: sizes and pairs; may be NULL for `message`.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_lower_shapes_late(const pp_program *program, const pp_comm *from,
                                             bool cached, uint32_t parts, const pp_costs *costs,
                                             pp_comm_builder *builder, pp_err *err);

#endif
