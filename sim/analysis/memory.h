/* Memory of one rank over time, by component. Changes happen at the start and the end of ops, and
 * in programs that communicate where transfers are posted, waited for and done
 * (sim/program/buffers.h).
 *
 * At one instant transfers end first, then the rank's steps follow in its order; what one of them
 * releases and allocates it does at once. */
#ifndef PPSIM_SIM_ANALYSIS_MEMORY_H
#define PPSIM_SIM_ANALYSIS_MEMORY_H

#include "sim/cost/costs.h"
#include "sim/program/timeline.h"

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
    X(TEMPORARIES, temporaries)   \
    X(OUTPUTS, outputs)           \
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
    size_t instruction; /* that runs at the peak, or is the next to run, or was the last */
    int64_t recv_bytes; /* the most that receive buffers have at any time */
    int64_t send_bytes; /* the same of send buffers */
} pp_memory_peak;

/* Called at every change, in time order, and of programs that communicate at 0 first: `bytes` hold
 * from `at_ns` on. */
typedef void (*pp_memory_sample)(void *context, pp_ns at_ns, const int64_t bytes[PP_MEMORY_COUNT]);

/* Receive buffers of one rank as its program needs them: a post takes a slot; it is free again when
 * F has run (buffers.recv_copied) or the backward has, a gradient's when the backward has. */
typedef struct pp_recv_pool {
    uint64_t slots; /* of all pools of the rank; ON_POST counts as one pool */
    int64_t bytes;  /* a slot is as large as the largest tensor of its pool; 0 without costs */
} pp_recv_pool;

/* program: with communication. costs: may be NULL. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_recv_pool_of(const pp_program *program, const pp_costs *costs,
                                        uint32_t rank, pp_recv_pool *pool_out, pp_err *err);

/* costs.has_memory must be set. sample: may be NULL. The first instant of the peak is reported.
 * Fails: INPUT when a sum leaves 64 bits, NOMEM. */
PP_MUST_CHECK pp_status pp_memory_walk(const pp_program *program, const pp_timeline *timeline,
                                       const pp_costs *costs, uint32_t rank,
                                       pp_memory_sample sample, void *context,
                                       pp_memory_peak *peak_out, pp_err *err);

/* The same up to the first instant at which the rank holds more than `limit_bytes`, which is the
 * peak then. Fails: as above. */
PP_MUST_CHECK pp_status pp_memory_first_over(const pp_program *program, const pp_timeline *timeline,
                                             const pp_costs *costs, uint32_t rank,
                                             int64_t limit_bytes, pp_memory_peak *over_out,
                                             pp_err *err);

#endif
