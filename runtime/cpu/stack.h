/* The ops of one stage: F, and the two parts of B, which are I and W.
 * docs/explanation/runtime-cpu.md has the equations. */
#ifndef PPSIM_RUNTIME_CPU_STACK_H
#define PPSIM_RUNTIME_CPU_STACK_H

#include "runtime/cpu/call.h"

void pp_cpu_forward(const pp_cpu_call *call);
void pp_cpu_backward_input(const pp_cpu_call *call);
void pp_cpu_backward_weight(const pp_cpu_call *call);
/* B with recomputation: each block forward again from its input, then both parts of its backward.
 */
void pp_cpu_backward_again(const pp_cpu_call *call);

#endif
