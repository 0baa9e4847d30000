/* The components of a rank's memory, and what ops change in them. */
#ifndef PPSIM_SIM_ANALYSIS_MEMORY_CHANGE_H
#define PPSIM_SIM_ANALYSIS_MEMORY_CHANGE_H

#include "sim/cost/costs.h"
#include "sim/order/order.h"

/* X(name in the enum, key in reports); sim/program/buffers.h and docs/reference/formats.md define
 * them. */
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
    X(WORKSPACE, workspace)       \
    X(COMM_LIBRARY, comm_library)

typedef enum pp_memory_component {
#define PP_MEMORY_ENUM(name, key) PP_MEMORY_##name,
    PP_MEMORY_MAP(PP_MEMORY_ENUM)
#undef PP_MEMORY_ENUM
        PP_MEMORY_COUNT,
} pp_memory_component;

const char *pp_memory_key(pp_memory_component component);
/* True for what a rank holds from before its first op until after its last one, or with sharded
 * parameters gathers and reduces meanwhile. */
bool pp_memory_is_static(pp_memory_component component);
/* Sets the static components of a rank, and all others to 0. forward_only: without gradients and
 * optimizer. */
void pp_memory_set_static(const pp_costs *costs, uint32_t rank, bool forward_only,
                          int64_t bytes_out[PP_MEMORY_COUNT]);

/* Adds what a stage needs beside its shards while one of its ops runs: gathered parameters and,
 * with `gradients`, whole gradients. Returns their sum. Nothing if parameters are not sharded. */
int64_t pp_memory_add_unsharded(const pp_costs *costs, uint32_t stage, bool gradients,
                                int64_t bytes[PP_MEMORY_COUNT]);

typedef struct pp_memory_peak {
    int64_t total_bytes;
    int64_t bytes[PP_MEMORY_COUNT]; /* at the peak; they sum to total_bytes */
    pp_ns at_ns;
    size_t instruction; /* the one that runs at the peak, else the next one, else the last */
    int64_t recv_bytes; /* the largest size of the receive buffers at any time */
    int64_t send_bytes; /* the largest size of the send buffers at any time */
} pp_memory_peak;

/* Called at every change, in the order of time; for programs that communicate, also at time 0.
 * `bytes` holds from `at_ns` on. */
typedef void (*pp_memory_sample)(void *context, pp_ns at_ns, const int64_t bytes[PP_MEMORY_COUNT]);

/* Larger sums are refused. One more addition of PP_BYTES_MAX still fits 64 bits. */
#define PP_MEMORY_TOTAL_MAX ((int64_t)1 << 61)

int64_t pp_memory_total(const int64_t bytes[PP_MEMORY_COUNT]);
pp_status pp_memory_too_large(uint32_t rank, pp_err *err);
/* Apply to `bytes` what `op` changes at its start and at its end, and return the sum of the
 * changes. forward_only: there is no backward that releases what a forward keeps. */
int64_t pp_memory_at_start(pp_op op, const pp_costs *costs, int64_t bytes[PP_MEMORY_COUNT]);
int64_t pp_memory_at_end(bool forward_only, pp_op op, const pp_costs *costs,
                         int64_t bytes[PP_MEMORY_COUNT]);

#endif
