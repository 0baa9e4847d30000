/* A program as the batched Monte Carlo runs it: in the order of its walk, with room for the ends
 * that are still needed only, so that they stay in the cache. */
#include "planner/robustness/jitter_int.h"
#include "sim/base/alloc.h"
#include "sim/engine/engine.h"
#include "sim/program/transfer_costs.h"

#include <stdlib.h>

static int compare_links(const void *a, const void *b)
{
    const pp_jitter_link *x = a;
    const pp_jitter_link *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->second < y->second ? -1 : x->second > y->second;
}

static pp_jitter_link link_of(uint32_t a, uint32_t b)
{
    return a < b ? (pp_jitter_link){ a, b } : (pp_jitter_link){ b, a };
}

/* The links of the inputs of all instructions, sorted, each once. */
static void collect(const pp_program *program, pp_jitter_links *out)
{
    for (size_t i = 0; i < program->count; i++) {
        uint32_t source = program->source[i];
        if (source == PP_NO_SOURCE || out->rank_of[source] == out->rank_of[i])
            continue;
        pp_jitter_link link = link_of(out->rank_of[source], out->rank_of[i]);
        /* the neighbours of a rank come again and again: few are new */
        if (out->count == 0 || compare_links(&out->link[out->count - 1], &link) != 0)
            out->link[out->count++] = link;
    }
    if (out->count)
        qsort(out->link, out->count, sizeof *out->link, compare_links);
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++) {
        if (kept == 0 || compare_links(&out->link[kept - 1], &out->link[i]) != 0)
            out->link[kept++] = out->link[i];
    }
    out->count = kept;
}

pp_status pp_jitter_links_new(const pp_program *program, pp_jitter_links *out, pp_err *err)
{
    *out = (pp_jitter_links){ .link = pp_alloc_array(program->count, sizeof *out->link),
                              .rank_of = pp_alloc_array(program->count, sizeof *out->rank_of),
                              .of = pp_alloc_array(program->count, sizeof *out->of) };
    if (!out->link || !out->rank_of || !out->of) {
        pp_jitter_links_free(out);
        return pp_err_nomem(err);
    }
    for (uint32_t r = 0; r < program->ranks; r++) {
        for (size_t i = program->rank_begin[r]; i < program->rank_begin[r + 1]; i++)
            out->rank_of[i] = r;
    }
    collect(program, out);
    for (size_t i = 0; i < program->count; i++) {
        uint32_t source = program->source[i];
        out->of[i] = (uint32_t)out->count;
        if (source == PP_NO_SOURCE || out->rank_of[source] == out->rank_of[i])
            continue;
        pp_jitter_link link = link_of(out->rank_of[source], out->rank_of[i]);
        const pp_jitter_link *found =
            bsearch(&link, out->link, out->count, sizeof link, compare_links);
        out->of[i] = (uint32_t)(found - out->link);
    }
    return PP_OK;
}

void pp_jitter_links_free(pp_jitter_links *links)
{
    free(links->link);
    free(links->rank_of);
    free(links->of);
    *links = (pp_jitter_links){ 0 };
}

/* Gives rows to ends and takes them back after their last reader. */
typedef struct rows {
    uint32_t *readers; /* [count]: steps that still read the end; its rank's last counts one more */
    uint32_t *row;     /* [count] */
    uint32_t *unused;  /* stack */
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
