/* Memory of a rank that communicates (sim/program/buffers.h says who holds what). For
 * sim/analysis/memory.c. */
#ifndef PPSIM_SIM_ANALYSIS_MEMORY_COMM_H
#define PPSIM_SIM_ANALYSIS_MEMORY_COMM_H

#include "sim/analysis/memory.h"
#include "sim/program/comm.h"

/* A sum beyond this is refused; one more addition of PP_BYTES_MAX still fits 64 bits. */
#define PP_MEMORY_TOTAL_MAX ((int64_t)1 << 61)

int64_t pp_memory_total(const int64_t bytes[PP_MEMORY_COUNT]);
pp_status pp_memory_too_large(uint32_t rank, pp_err *err);
/* What `op` changes at its start and at its end, in `bytes`. */
void pp_memory_at_start(pp_op op, const pp_costs *costs, int64_t bytes[PP_MEMORY_COUNT]);
void pp_memory_at_end(const pp_program *program, pp_op op, const pp_costs *costs,
                      int64_t bytes[PP_MEMORY_COUNT]);

/* As pp_memory_walk, of a program with communication; ends at the first instant beyond
 * `limit_bytes`. bytes: before the step; used up. */
PP_MUST_CHECK pp_status pp_memory_walk_comm(const pp_program *program, const pp_timeline *timeline,
                                            const pp_costs *costs, uint32_t rank,
                                            int64_t limit_bytes, pp_memory_sample sample,
                                            void *context, int64_t bytes[PP_MEMORY_COUNT],
                                            pp_memory_peak *peak_out, pp_err *err);

/* Transfers of one rank by what they carry. */
typedef struct pp_rank_transfers {
    const pp_program *program;
    uint32_t rank;
    uint32_t *local;    /* [stages]: number of the stage on this rank */
    uint32_t *transfer; /* [PP_TRANSFER_KIND_COUNT][stages of the rank][microbatches], or
                           PP_NO_SOURCE */
    size_t cells;       /* per kind */
} pp_rank_transfers;

PP_MUST_CHECK pp_status pp_rank_transfers_new(const pp_program *program, uint32_t rank,
                                              pp_rank_transfers *index_out, pp_err *err);
void pp_rank_transfers_free(pp_rank_transfers *index);
/* Where (kind, stage, microbatch) stands in `transfer`. */
size_t pp_rank_transfers_at(const pp_rank_transfers *index, pp_transfer_kind kind, uint32_t stage,
                            uint32_t microbatch);
uint32_t pp_rank_transfers_get(const pp_rank_transfers *index, pp_transfer_kind kind,
                               uint32_t stage, uint32_t microbatch);

/* The tensor of a transfer. */
int64_t pp_transfer_bytes(const pp_costs *costs, const pp_transfer *transfer);

#endif
