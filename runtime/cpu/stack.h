/* The ops of one stage. Equations: docs/runtime-cpu.md. */
#ifndef PPSIM_RUNTIME_CPU_STACK_H
#define PPSIM_RUNTIME_CPU_STACK_H

#include "runtime/cpu/matmul.h"
#include "runtime/cpu/model.h"

/* One op. Elements are of the model's type. */
typedef struct pp_cpu_call {
    const pp_cpu_blas *blas;
    const pp_cpu_model *model;
    const pp_cpu_stage *stage;
    const pp_cpu_batch *batch;
    const pp_cpu_layout *layout;
    const void *weights; /* of the stage, as pp_cpu_matrix_at lays them out */
    void *gradients;     /* the same; W adds to them */
    void *loss;          /* F on the last stage: one element */
    const pp_op_tensors *tensors;
} pp_cpu_call;

/* One table per element type. */
typedef struct pp_cpu_math {
    void (*forward)(const pp_cpu_call *call);
    void (*backward_input)(const pp_cpu_call *call);
    void (*backward_weight)(const pp_cpu_call *call);
    void (*fill)(const pp_cpu_matrix *matrix, uint64_t seed, void *weights);
    /* weights -= rate gradients */
    void (*update)(size_t count, double rate, const void *gradients, void *weights);
    void (*add)(size_t count, const void *first, const void *second, void *sum);
} pp_cpu_math;

extern const pp_cpu_math pp_cpu_math_f64, pp_cpu_math_f32;

/* runtime/cpu/ends.c. x: [tokens][hidden], the residual stream. */
void pp_cpu_first_input(const pp_cpu_call *call, pp_real *x);
/* x becomes its own gradient (without a vocabulary); the logits become theirs. */
void pp_cpu_loss_forward(const pp_cpu_call *call, pp_real *x);
/* With a vocabulary: x becomes the gradient of what the head's norm got. */
void pp_cpu_loss_backward(const pp_cpu_call *call, pp_real *x);
void pp_cpu_ends_weight(const pp_cpu_call *call);

#endif
