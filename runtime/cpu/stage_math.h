/* The worker of the backends that compute a transformer (runtime/compute/cpu.c and
 * runtime/compute/cuda.c): weights, gradients and losses, and the ops on them. The functions are
 * those of pp_compute. */
#ifndef PPSIM_RUNTIME_CPU_STAGE_MATH_H
#define PPSIM_RUNTIME_CPU_STAGE_MATH_H

#include "runtime/cpu/math.h"

struct pp_module_services;

PP_MUST_CHECK pp_status pp_stage_math_describe(const pp_compute_work *work, bool gpu,
                                               pp_costs *costs, pp_err *err);
/* Opens a worker. It takes over the model, even if it fails. services: as in pp_math.open. */
PP_MUST_CHECK pp_status pp_stage_math_open(const pp_compute_work *work, pp_cpu_model *model,
                                           const pp_math *math,
                                           const struct pp_module_services *services,
                                           const bool *holds, void **worker_out, pp_err *err);

#define PP_WORKER_CALLS                                                                   \
    .close = pp_stage_math_close, .begin = pp_stage_math_begin, .run = pp_stage_math_run, \
    .end = pp_stage_math_end, .tied_bytes = pp_stage_math_tied_bytes,                     \
    .tied_get = pp_stage_math_tied_get, .tied_put = pp_stage_math_tied_put,               \
    .value_bytes = pp_stage_math_value_bytes, .value_count = pp_stage_math_value_count,   \
    .value_read = pp_stage_math_value_read
void pp_stage_math_close(void *worker);
pp_status pp_stage_math_begin(void *worker, uint32_t step, pp_err *err);
pp_status pp_stage_math_run(void *worker, pp_op op, const pp_op_tensors *tensors, pp_err *err);
pp_status pp_stage_math_end(void *worker, pp_err *err);
size_t pp_stage_math_tied_bytes(const void *worker);
void pp_stage_math_tied_get(const void *worker, uint32_t stage, void *out);
void pp_stage_math_tied_put(void *worker, uint32_t stage, const void *other);
size_t pp_stage_math_value_bytes(const void *worker);
size_t pp_stage_math_value_count(const void *worker, uint32_t stage, pp_values which);
void pp_stage_math_value_read(const void *worker, uint32_t stage, pp_values which, void *out);
void pp_stage_math_value_nudge(void *worker, uint32_t stage, size_t index, double by);
void pp_stage_math_times(const void *worker, pp_ns *start_ns, pp_ns *end_ns);
uint32_t pp_stage_math_gpu(const void *worker);
pp_status pp_stage_math_check(void *worker, pp_err *err);

/* The members of pp_compute for replicas, of backends whose values are in this process's memory. */
#define PP_WORKER_SHARDS                                                                  \
    .block = pp_stage_math_block, .hold = pp_stage_math_hold, .drop = pp_stage_math_drop, \
    .add = pp_stage_math_add, .update = pp_stage_math_update, .take = pp_stage_math_take, \
    .give = pp_stage_math_give, .copy = pp_stage_math_copy
void *pp_stage_math_block(const void *worker, uint32_t stage, pp_values which, size_t *bytes_out);
pp_status pp_stage_math_hold(void *worker, uint32_t stage, pp_values which, pp_err *err);
void pp_stage_math_drop(void *worker, uint32_t stage, pp_values which);
void pp_stage_math_add(void *worker, size_t bytes, const void *other, void *sum);
void pp_stage_math_update(void *worker, size_t bytes, const void *gradients, void *parameters);
pp_status pp_stage_math_take(void *worker, size_t bytes, void **at_out, pp_err *err);
void pp_stage_math_give(void *worker, void *at);
void pp_stage_math_copy(void *worker, void *to, const void *from, size_t bytes);

#endif
