/* Sorts topologically by passes over the ranks. A pass advances every rank until an instruction
 * needs one that has not been sorted; a pass without progress proves a deadlock, whose cycle of
 * ranks is reported. Every instruction is sorted once, and every rank is examined once per pass. */
#include "sim/program/topological_order.h"

#include "sim/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sorter {
    const pp_program *program;
    size_t *next; /* [ranks]: first instruction not yet sorted */
    size_t done;  /* instructions sorted */
} sorter;

/* The rank that runs instruction i. */
static uint32_t rank_of(const pp_program *program, size_t i)
{
    return pp_program_rank(program, program->op[i]);
}

/* Advances `rank` until an instruction needs one that has not been sorted. mirrored: some
 * microbatches run on mirrored ranks; callers pass a constant, so that other programs need no test.
 */
static inline __attribute__((always_inline)) void advance_rank(sorter *s, bool mirrored,
                                                               uint32_t rank)
{
    const pp_program *program = s->program;
    size_t i = s->next[rank];
    for (; i < program->rank_begin[rank + 1]; i++) {
        uint32_t source = program->source[i];
        if (source != PP_NO_SOURCE) {
            uint32_t from = mirrored ? rank_of(program, source)
                                     : program->stage_rank[program->op[source].stage];
            if (source >= s->next[from] && !(from == rank && source < i))
                break;
        }
        program->topological_order[s->done++] = (uint32_t)i;
    }
    s->next[rank] = i;
}

/* Reports the members of a cycle. Every unfinished rank waits for one instruction, so following
 * "waits for" must lead to a cycle. */
static pp_status report_deadlock(const sorter *s, pp_err *err)
{
    const pp_program *program = s->program;
    uint32_t rank = 0;
    while (s->next[rank] == program->rank_begin[rank + 1])
        rank++;
    for (uint32_t steps = 0; steps < program->ranks; steps++) /* now inside the cycle */
        rank = rank_of(program, program->source[s->next[rank]]);
    char text[700] = "";
    size_t used = 0;
    uint32_t first = rank;
    do {
        char waiting[32];
        char needed[32];
        size_t i = s->next[rank];
        size_t source = program->source[i];
        uint32_t other = rank_of(program, source);
        int n = snprintf(text + used, sizeof text - used,
                         "%srank %" PRIu32 " op %zu (%s) waits "
                         "for %s on rank %" PRIu32,
                         used ? "; " : "", rank, i - program->rank_begin[rank] + 1,
                         pp_op_print(program->op[i], waiting, sizeof waiting),
                         pp_op_print(program->op[source], needed, sizeof needed), other);
        used += n > 0 ? (size_t)n : 0;
        rank = other;
    } while (rank != first && used + 120 < sizeof text);
    return pp_err_set(err, PP_INFEASIBLE, NULL, "the schedule cannot finish: %s%s", text,
                      rank == first ? "" : "; this is a cycle");
}

pp_status pp_program_sort_topologically(pp_program *program, pp_err *err)
{
    sorter s = { .program = program, .next = pp_alloc_array(program->ranks, sizeof *s.next) };
    if (!s.next)
        return pp_err_nomem(err);
    memcpy(s.next, program->rank_begin, program->ranks * sizeof *s.next);
    pp_status status = PP_OK;
    while (!status && s.done < program->count) {
        size_t before = s.done;
        bool mirrored = program->mirrored_from < program->microbatches;
        for (uint32_t rank = 0; rank < program->ranks && mirrored; rank++)
            advance_rank(&s, true, rank);
        for (uint32_t rank = 0; rank < program->ranks && !mirrored; rank++)
            advance_rank(&s, false, rank);
        if (s.done == before)
            status = report_deadlock(&s, err);
    }
    free(s.next);
    return status;
}
