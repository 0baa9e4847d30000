/* Sorts topologically by passes over the ranks. A pass advances every rank until an instruction
 * needs one that has not been sorted; a pass without progress proves a deadlock, whose cycle of
 * ranks is reported. Every instruction is sorted once.
 *
 * A pass examines every rank as long as most of this is not in vain. When it is, as with many ranks
 * and few microbatches, ranks wait in the list of the one that they need, which wakes them: in the
 * same pass if they come later in it, so that the order is the same. A pass then costs what it
 * sorts (sim/base/rounds.h). */
#include "sim/program/topological_order.h"

#include "sim/base/alloc.h"
#include "sim/base/rounds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sorter {
    const pp_program *program;
    size_t *next;      /* [ranks]: first instruction not yet sorted */
    size_t done;       /* instructions sorted */
    uint64_t *sorted;  /* a bit per instruction */
    bool listed;       /* who waits for whom is known */
    pp_rounds awake;   /* the ranks that can advance in this pass, or in the next one */
    uint32_t *waiting; /* [ranks]: the first rank that waits for it, or NOBODY */
    uint32_t *also;    /* [ranks]: another one that waits for the same rank */
} sorter;

#define NOBODY UINT32_MAX
#define AHEAD 32 /* instructions of a rank that are fetched in advance */

static void sorter_free(sorter *s)
{
    free(s->next);
    free(s->sorted);
    pp_rounds_free(&s->awake);
    free(s->waiting);
}

static pp_status sorter_new(sorter *s, pp_err *err)
{
    const uint32_t ranks = s->program->ranks;
    s->next = pp_alloc_array(ranks, sizeof *s->next);
    s->waiting = pp_alloc_array(2 * (size_t)ranks, sizeof *s->waiting);
    s->sorted = pp_alloc_array(s->program->count / 64 + 1, sizeof *s->sorted);
    if (!pp_rounds_new(&s->awake, ranks) || !s->next || !s->sorted || !s->waiting)
        return pp_err_nomem(err);
    s->also = s->waiting + ranks;
    memcpy(s->next, s->program->rank_begin, ranks * sizeof *s->next);
    memset(s->waiting, 0xff, ranks * sizeof *s->waiting);
    return PP_OK;
}

/* Wakes the ranks whose instruction from `rank` has been sorted: in this pass if they come after
 * `current`. */
static void wake(sorter *s, uint32_t rank, uint32_t current)
{
    uint32_t *link = &s->waiting[rank];
    while (*link != NOBODY) {
        const uint32_t waiter = *link;
        if (s->program->source[s->next[waiter]] >= s->next[rank]) {
            link = &s->also[waiter];
            continue;
        }
        *link = s->also[waiter];
        pp_rounds_add(&s->awake, waiter, current);
    }
}

/* The rank that runs instruction i. */
static uint32_t rank_of(const pp_program *program, size_t i)
{
    return pp_program_rank(program, program->op[i]);
}

/* Puts a rank that is not done into the list of the one that it needs. */
static void wait_for_source(sorter *s, uint32_t rank)
{
    const pp_program *program = s->program;
    if (s->next[rank] == program->rank_begin[rank + 1])
        return;
    const uint32_t from = rank_of(program, program->source[s->next[rank]]);
    s->also[rank] = s->waiting[from];
    s->waiting[from] = rank;
}

/* Begins with lists: every rank waits, and is awake in the next pass if that is over. */
static void list_all(sorter *s)
{
    s->listed = true;
    for (uint32_t r = 0; r < s->program->ranks; r++)
        wait_for_source(s, r);
    for (uint32_t r = s->program->ranks; r-- > 0;)
        wake(s, r, UINT32_MAX);
}

/* Advances `rank` until an instruction needs one that has not been sorted. */
static inline void advance_rank(sorter *s, uint32_t rank)
{
    const pp_program *program = s->program;
    const uint32_t *sources = program->source;
    uint32_t *order = program->topological_order + s->done;
    uint64_t *sorted = s->sorted;
    const size_t first = s->next[rank], end = program->rank_begin[rank + 1];
    size_t i = first;
    for (; i < end; i++) {
        const uint32_t source = sources[i];
        if (source != PP_NO_SOURCE && !(sorted[source / 64] >> source % 64 & 1))
            break;
        sorted[i / 64] |= (uint64_t)1 << i % 64;
        *order++ = (uint32_t)i;
    }
    __builtin_prefetch(&sources[i + AHEAD]);
    s->done += i - first;
    s->next[rank] = i;
    if (s->listed) {
        wait_for_source(s, rank);
        wake(s, rank, rank);
    }
}

static void pass(sorter *s)
{
    for (uint32_t rank = 0; rank < s->program->ranks && !s->listed; rank++)
        advance_rank(s, rank);
    if (!s->listed)
        return;
    pp_rounds_begin(&s->awake);
    for (uint32_t rank; pp_rounds_take(&s->awake, &rank);)
        advance_rank(s, rank);
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
    sorter s PP_CLEANUP(sorter_free) = { .program = program };
    pp_status status = sorter_new(&s, err);
    size_t examined = 0;
    while (!status && s.done < program->count) {
        size_t before = s.done;
        pass(&s);
        if (s.done == before)
            status = report_deadlock(&s, err);
        examined += program->ranks;
        if (!s.listed && examined > 4 * (s.done + program->ranks))
            list_all(&s);
    }
    return status;
}
