/* The record of a step: what the ranks write down, and how it gets to the process of rank 0. */
#ifndef PPSIM_RUNTIME_CORE_RECORD_H
#define PPSIM_RUNTIME_CORE_RECORD_H

#include "sim/analysis/memory.h"
#include "sim/cost/costs.h"
#include "sim/program/comm.h"
#include "sim/program/timeline.h"

/* The times, bytes and counters of one step. Each rank writes the rows of its own ops and
 * transfers. Times are on the clock of the rank. */
typedef struct pp_record {
    pp_ns *start_ns, *end_ns; /* [ops] */
    pp_ns *cpu_ns;            /* [ops]: processor time */
    pp_ns *post_ns, *done_ns; /* [transfers] */
    int64_t (
        *bytes)[2][PP_MEMORY_COUNT]; /* [ops]: at start and end, by component; NULL: not counted */
    pp_ns *begin_ns, *over_ns;       /* [ranks]: all ranks had arrived; the update was made */
    pp_ns *drained_ns;               /* [ranks]: the last send was done */
    int64_t *preemptions;            /* [ranks] */
    uint32_t *live;                  /* [ranks]: most activations held at once */
} pp_record;

/* Makes a record for all ops, transfers and ranks of a program. bytes: with rows for the memory
 * that is counted. The owner frees it with pp_record_free. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_record_new(const pp_program *program, bool bytes, pp_record *record_out,
                                      pp_err *err);
void pp_record_free(pp_record *record);

/* Convert the rows of one rank to bytes to send. pp_record_bytes returns their number, which is the
 * same for every rank; pp_record_pack writes them to `out`. */
size_t pp_record_bytes(const pp_program *program, const pp_record *record);
void pp_record_pack(const pp_program *program, const pp_record *record, uint32_t rank, void *out);
/* Reads the rows of `rank` from `in`. ahead_ns: by how much its clock is ahead of this process's.
 * */
void pp_record_unpack(const pp_program *program, pp_record *record, uint32_t rank, const void *in,
                      pp_ns ahead_ns);

#endif
