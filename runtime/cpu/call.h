/* The arguments of one op of a stage. */
#ifndef PPSIM_RUNTIME_CPU_CALL_H
#define PPSIM_RUNTIME_CPU_CALL_H

#include "runtime/cpu/math.h"

/* The math that does the op, what it works on, and the memory of weights and tensors. */
typedef struct pp_cpu_call {
    const pp_math *math;
    void *machine;
    const pp_cpu_model *model;
    const pp_cpu_stage *stage;
    const pp_cpu_batch *batch;
    const pp_cpu_layout *layout;
    const void *weights; /* of the stage, as pp_cpu_matrix_at lays them out */
    void *gradients; /* laid out in the same way, in the type of sums; W accumulates into them */
    void *loss;      /* F of the last stage writes one value of the type of sums */
    const pp_op_tensors *tensors;
} pp_cpu_call;

/* Return the address of the index-th matrix of the stage. */
const void *pp_cpu_weights_at(const pp_cpu_call *call, size_t index);
void *pp_cpu_gradients_at(const pp_cpu_call *call, size_t index);

#endif
