/* What the file of a timeline holds in addition to the times of its ops: transfers, waits,
 * memory. */
#ifndef PPSIM_TRACES_READ_RECORDED_H
#define PPSIM_TRACES_READ_RECORDED_H

#include "sim/analysis/memory.h"
#include "sim/analysis/waits.h"

/* A tensor that went from one rank to another. */
typedef struct pp_recorded_transfer {
    pp_ns start_ns, end_ns;
    uint32_t from, to;
    uint32_t microbatch;
    uint16_t stage; /* the stage that made the tensor */
    bool forward;
} pp_recorded_transfer;

/* The memory of `rank` from `at_ns` until its next sample. Of several samples at one instant, the
 * last one holds. */
typedef struct pp_memory_sample_row {
    pp_ns at_ns;
    uint32_t rank;
    int64_t bytes[PP_MEMORY_COUNT]; /* by pp_memory_component */
} pp_memory_sample_row;

/* Replaces the costs of a simulation, from which these lists are otherwise computed. All lists are
 * in the order of the file. */
typedef struct pp_recorded {
    pp_recorded_transfer *transfer;
    size_t transfer_count, transfer_capacity;
    pp_memory_sample_row *sample;
    size_t sample_count, sample_capacity;
    pp_blocked_list waits;
} pp_recorded;

#endif
