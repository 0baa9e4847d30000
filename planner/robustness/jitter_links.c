/* Finds the links of a program: collected, sorted, and looked up again for each instruction.
 * O(instructions log links). */
#include "planner/robustness/jitter_links.h"

#include "sim/base/alloc.h"

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

/* Collects the links of the inputs of all instructions, sorted, each once. */
static void collect(const pp_program *program, pp_jitter_links *out)
{
    for (size_t i = 0; i < program->count; i++) {
        uint32_t source = program->source[i];
        if (source == PP_NO_SOURCE || out->rank_of[source] == out->rank_of[i])
            continue;
        pp_jitter_link link = link_of(out->rank_of[source], out->rank_of[i]);
        /* most instructions use the same link as the one before */
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
