/* The work of the first and the last stage in addition to their blocks.
 * docs/explanation/runtime-cpu.md has the equations. */
#ifndef PPSIM_RUNTIME_CPU_END_STAGES_H
#define PPSIM_RUNTIME_CPU_END_STAGES_H

#include "runtime/cpu/call.h"

/* Writes the input of the first block to x, the residual stream: [tokens][hidden]. */
void pp_cpu_first_input(const pp_cpu_call *call, void *x);
/* Writes call->loss. With a vocabulary the logits are replaced by their gradient, otherwise x is.
 * */
void pp_cpu_loss_forward(const pp_cpu_call *call, void *x);
/* With a vocabulary: replaces x by the gradient of the input of the head's norm. */
void pp_cpu_loss_backward(const pp_cpu_call *call, void *x);
void pp_cpu_end_stage_weight(const pp_cpu_call *call);

#endif
