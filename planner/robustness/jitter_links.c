/* Finds the links of a program: collected once per pair of ranks, sorted, and looked up again.
 * O(instructions + links log links). */
#include "planner/robustness/jitter_links.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

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

/* The rank from which an instruction gets its input; its own if no other. */
static uint32_t source_rank(const pp_program *program, const pp_jitter_links *links, size_t i)
{
    const uint32_t source = program->source[i];
    return source == PP_NO_SOURCE ? links->rank_of[i] : links->rank_of[source];
}

/* A rank that sends to the present one, and their link. */
typedef struct sender {
    uint32_t to;   /* the rank that was met last */
    uint32_t link; /* that of both */
} sender;

/* Collects the links of the inputs of all instructions, sorted, each once. */
static void collect(const pp_program *program, sender *senders, pp_jitter_links *out)
{
    for (size_t i = 0; i < program->count; i++) {
        const uint32_t rank = out->rank_of[i];
        const uint32_t from = source_rank(program, out, i);
        if (from == rank || senders[from].to == rank)
            continue;
        senders[from].to = rank;
        out->link[out->count++] = link_of(from, rank);
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

/* Sets the link of each instruction, which is looked up once for all from the same rank. */
static void assign(const pp_program *program, sender *senders, pp_jitter_links *out)
{
    for (size_t i = 0; i < program->count; i++) {
        const uint32_t rank = out->rank_of[i];
        const uint32_t from = source_rank(program, out, i);
        if (from != rank && senders[from].to != rank) {
            const pp_jitter_link link = link_of(from, rank);
            const pp_jitter_link *found =
                bsearch(&link, out->link, out->count, sizeof link, compare_links);
            senders[from] = (sender){ .to = rank, .link = (uint32_t)(found - out->link) };
        }
        out->of[i] = from == rank ? (uint32_t)out->count : senders[from].link;
    }
}

pp_status pp_jitter_links_new(const pp_program *program, pp_jitter_links *out, pp_err *err)
{
    const size_t bytes = program->ranks * sizeof(sender);
    sender *senders PP_CLEANUP(pp_free_array) = pp_alloc_array(program->ranks, sizeof *senders);
    *out = (pp_jitter_links){ .link = pp_alloc_array(program->count, sizeof *out->link),
                              .rank_of = pp_alloc_array(program->count, sizeof *out->rank_of),
                              .of = pp_alloc_array(program->count, sizeof *out->of) };
    if (!senders || !out->link || !out->rank_of || !out->of) {
        pp_jitter_links_free(out);
        return pp_err_nomem(err);
    }
    for (uint32_t r = 0; r < program->ranks; r++) {
        for (size_t i = program->rank_begin[r]; i < program->rank_begin[r + 1]; i++)
            out->rank_of[i] = r;
    }
    memset(senders, 0xff, bytes); /* no rank */
    collect(program, senders, out);
    memset(senders, 0xff, bytes);
    assign(program, senders, out);
    return PP_OK;
}

void pp_jitter_links_free(pp_jitter_links *links)
{
    free(links->link);
    free(links->rank_of);
    free(links->of);
    *links = (pp_jitter_links){ 0 };
}
