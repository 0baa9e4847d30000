/* What the ranks write down of a step, and how it travels to the process of rank 0. */
#ifndef PPSIM_RUNTIME_CORE_RECORD_H
#define PPSIM_RUNTIME_CORE_RECORD_H

#include "sim/analysis/memory.h"
#include "sim/cost/costs.h"
#include "sim/program/comm.h"
#include "sim/program/timeline.h"

/* The record of one step. Each rank writes the rows of its own ops and transfers. Times are those
 * of the rank's clock. */
typedef struct pp_record {
    pp_ns *start_ns, *end_ns;             /* [ops] */
    pp_ns *cpu_ns;                        /* [ops]: processor time */
    pp_ns *post_ns, *done_ns;             /* [transfers] */
    int64_t (*bytes)[2][PP_MEMORY_COUNT]; /* [ops]: counted at start and end; NULL: not asked for */
    pp_ns *begin_ns, *over_ns;            /* [ranks]: all ranks were there; the update was made */
    pp_ns *drained_ns;                    /* [ranks]: the last send was done */
    int64_t *preemptions;                 /* [ranks] */
    uint32_t *live;                       /* [ranks]: most activations held at once */
} pp_record;

/* Rows for all ops, transfers and ranks. bytes: also for the memory that is counted. The owner
 * frees with pp_record_free. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_record_new(const pp_program *program, bool bytes, pp_record *record_out,
                                      pp_err *err);
void pp_record_free(pp_record *record);

/* What one rank wrote, as bytes that travel; every rank has equally many. */
size_t pp_record_bytes(const pp_program *program, const pp_record *record);
void pp_record_pack(const pp_program *program, const pp_record *record, uint32_t rank, void *out);
/* ahead_ns: by how much the clock of `rank` is ahead of this process's. */
void pp_record_unpack(const pp_program *program, pp_record *record, uint32_t rank, const void *in,
                      pp_ns ahead_ns);

#endif
