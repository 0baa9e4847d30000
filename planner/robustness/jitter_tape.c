/* The ops are laid out in topological order, and their ends share rows: a row is reused once all
 * ops that read it have run (register allocation by linear scan), so that the rows of a large
 * program stay in the cache. O(instructions). */
#include "planner/robustness/jitter_tape.h"

#include "planner/robustness/jitter_pool.h"
#include "sim/base/alloc.h"
#include "sim/program/transfer_costs.h"

#include <stdlib.h>

/* Assigns rows to ends and takes them back after their last reader. */
typedef struct rows {
    uint32_t
        *readers;  /* [count]: steps that still read the end; the last op of a rank has one more */
    uint32_t *row; /* [count] */
    uint32_t *unused; /* stack */
    uint32_t unused_count, made;
} rows;

static void rows_free(rows *r)
{
    free(r->readers);
    free(r->row);
    free(r->unused);
}

static void read_once(rows *r, uint32_t i)
{
    if (--r->readers[i] == 0)
        r->unused[r->unused_count++] = r->row[i];
}

static pp_status rows_new(const pp_program *program, rows *r, pp_err *err)
{
    size_t n = program->count;
    *r = (rows){ .readers = pp_alloc_array(n, 4),
                 .row = pp_alloc_array(n, 4),
                 .unused = pp_alloc_array(n, 4),
                 .made = 1 };
    if (!r->readers || !r->row || !r->unused)
        return pp_err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        r->readers[i]++; /* the next op of its rank, or the end of the step */
        if (program->source[i] != PP_NO_SOURCE)
            r->readers[program->source[i]]++;
    }
    return PP_OK;
}

static void record(const pp_jitter_subject *subject, const pp_jitter_links *links, uint64_t seed,
                   rows *r, pp_jitter_tape *tape)
{
    const pp_program *program = subject->program;
    const pp_timeline *timeline = subject->timeline;
    for (size_t k = 0; k < program->count; k++) {
        uint32_t i = program->topological_order[k];
        uint32_t rank = links->rank_of[i];
        uint32_t source = program->source[i];
        bool first = i == program->rank_begin[rank];
        pp_jitter_step *step = &tape->step[k];
        r->row[i] = r->unused_count ? r->unused[--r->unused_count] : r->made++;
        *step = (pp_jitter_step){
            .key = pp_jitter_key(seed, program->op[i]),
            .duration_ns = (double)(timeline->end_ns[i] - timeline->start_ns[i]),
            .latency_ns = (double)pp_edge_latency(program, subject->costs, i),
            .rank = rank,
            .link = links->of[i],
            .class = program->op[i].kind,
            .before = first ? 0 : r->row[i - 1],
            .source = source == PP_NO_SOURCE ? 0 : r->row[source],
            .row = r->row[i],
        };
        if (!first)
            read_once(r, i - 1);
        if (source != PP_NO_SOURCE)
            read_once(r, source);
    }
}

pp_status pp_jitter_tape_new(const pp_jitter_subject *subject, const pp_jitter_links *links,
                             uint64_t seed, pp_jitter_tape *tape, pp_err *err)
{
    const pp_program *program = subject->program;
    rows r PP_CLEANUP(rows_free) = { 0 };
    *tape = (pp_jitter_tape){ .count = program->count,
                              .ranks = program->ranks,
                              .step = pp_alloc_array(program->count, sizeof *tape->step),
                              .last_row = pp_alloc_array(program->ranks, sizeof(uint32_t)) };
    pp_status status = tape->step && tape->last_row ? PP_OK : pp_err_nomem(err);
    if (status || (status = rows_new(program, &r, err))) {
        pp_jitter_tape_free(tape);
        return status;
    }
    record(subject, links, seed, &r, tape);
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        size_t end = program->rank_begin[rank + 1];
        tape->last_row[rank] = end > program->rank_begin[rank] ? r.row[end - 1] : 0;
    }
    tape->rows = r.made;
    return PP_OK;
}

void pp_jitter_tape_free(pp_jitter_tape *tape)
{
    free(tape->step);
    free(tape->last_row);
    *tape = (pp_jitter_tape){ 0 };
}
