/* The ops of one stage. Equations: docs/runtime-cpu.md. */
#ifndef PPSIM_RUNTIME_CPU_STACK_H
#define PPSIM_RUNTIME_CPU_STACK_H

#include "runtime/cpu/math.h"

/* One op. */
typedef struct pp_cpu_call {
    const pp_math *math;
    void *machine;
    const pp_cpu_model *model;
    const pp_cpu_stage *stage;
    const pp_cpu_batch *batch;
    const pp_cpu_layout *layout;
    const void *weights; /* of the stage, as pp_cpu_matrix_at lays them out */
    void *gradients;     /* the same, in sums; W adds to them */
    void *loss;          /* F on the last stage: one sum */
    const pp_op_tensors *tensors;
} pp_cpu_call;

void pp_cpu_forward(const pp_cpu_call *call);
void pp_cpu_backward_input(const pp_cpu_call *call);
void pp_cpu_backward_weight(const pp_cpu_call *call);

/* Of the index-th matrix of the stage. */
const void *pp_cpu_weights_at(const pp_cpu_call *call, size_t index);
void *pp_cpu_gradients_at(const pp_cpu_call *call, size_t index);

/* runtime/cpu/ends.c. x: [tokens][hidden], the residual stream. */
void pp_cpu_first_input(const pp_cpu_call *call, void *x);
/* x becomes its own gradient (without a vocabulary); the logits become theirs. */
void pp_cpu_loss_forward(const pp_cpu_call *call, void *x);
/* With a vocabulary: x becomes the gradient of what the head's norm got. */
void pp_cpu_loss_backward(const pp_cpu_call *call, void *x);
void pp_cpu_ends_weight(const pp_cpu_call *call);

#endif
