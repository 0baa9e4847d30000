/* Memory of one rank over time, by component. Changes happen at the start and the end of ops. */
#ifndef PPSIM_SIM_MEMORY_H
#define PPSIM_SIM_MEMORY_H

#include "sim/costs.h"
#include "sim/timeline.h"

/* enum, key in reports */
#define PP_MEMORY_MAP(X)          \
    X(PARAMETERS, parameters)     \
    X(GRADIENTS, gradients)       \
    X(OPTIMIZER, optimizer)       \
    X(ACTIVATIONS, activations)   \
    X(WEIGHT_STASH, weight_stash) \
    X(RECOMPUTE, recompute)       \
    X(RECV_BUFFERS, recv_buffers) \
    X(SEND_BUFFERS, send_buffers) \
    X(LOGITS, logits)             \
    X(COMM_LIBRARY, comm_library)

typedef enum pp_memory_component {
#define PP_MEMORY_ENUM(name, key) PP_MEMORY_##name,
    PP_MEMORY_MAP(PP_MEMORY_ENUM)
#undef PP_MEMORY_ENUM
        PP_MEMORY_COUNT,
} pp_memory_component;

const char *pp_memory_key(pp_memory_component component);

typedef struct pp_memory_peak {
    int64_t total_bytes;
    int64_t bytes[PP_MEMORY_COUNT]; /* at the peak; they sum to total_bytes */
    pp_ns at_ns;
    size_t instruction; /* that runs at the peak */
} pp_memory_peak;

/* Called at every change, in time order: `bytes` hold from `at_ns` on. */
typedef void (*pp_memory_sample)(void *context, pp_ns at_ns, const int64_t bytes[PP_MEMORY_COUNT]);

/* costs.has_memory must be set. sample: may be NULL. The first instant of the peak is reported.
 * Fails: INPUT when a sum leaves 64 bits. */
PP_MUST_CHECK pp_status pp_memory_walk(const pp_program *program, const pp_timeline *timeline,
                                       const pp_costs *costs, uint32_t rank,
                                       pp_memory_sample sample, void *context,
                                       pp_memory_peak *peak_out, pp_err *err);

#endif
