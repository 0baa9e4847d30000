/* What the first and the last stage do besides their blocks. Equations: docs/runtime-cpu.md. */
#ifndef PPSIM_RUNTIME_CPU_END_STAGES_H
#define PPSIM_RUNTIME_CPU_END_STAGES_H

#include "runtime/cpu/call.h"

/* x: [tokens][hidden], the residual stream. */
void pp_cpu_first_input(const pp_cpu_call *call, void *x);
/* Writes c->loss. x becomes its own gradient (without a vocabulary); the logits become theirs. */
void pp_cpu_loss_forward(const pp_cpu_call *call, void *x);
/* With a vocabulary: x becomes the gradient of the input of the head's norm. */
void pp_cpu_loss_backward(const pp_cpu_call *call, void *x);
void pp_cpu_end_stage_weight(const pp_cpu_call *call);

#endif
