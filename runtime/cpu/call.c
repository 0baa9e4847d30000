/* Computes the addresses of the matrices of a stage in its weights and gradients. */
#include "runtime/cpu/call.h"

const void *pp_cpu_weights_at(const pp_cpu_call *c, size_t index)
{
    return (const char *)c->weights + pp_cpu_matrix_at(c->model, c->stage, index).offset;
}

void *pp_cpu_gradients_at(const pp_cpu_call *c, size_t index)
{
    size_t element = pp_cpu_matrix_at(c->model, c->stage, index).offset / c->model->real_bytes;
    return (char *)c->gradients + element * c->model->sum_bytes;
}
