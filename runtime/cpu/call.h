/* One op of a stage: what it works on, and where its weights lie. */
#ifndef PPSIM_RUNTIME_CPU_CALL_H
#define PPSIM_RUNTIME_CPU_CALL_H

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

/* Of the index-th matrix of the stage. */
const void *pp_cpu_weights_at(const pp_cpu_call *call, size_t index);
void *pp_cpu_gradients_at(const pp_cpu_call *call, size_t index);

#endif
