/* The period of a repeated step is the maximum mean of a cycle in a graph of ranks. Its edge from
 * a to b is the time from the start of a's step to the earliest start of b's next step; the period
 * is the eigenvalue of this matrix in (max, +). One simulation per rank makes the matrix.
 *
 * The greatest mean is found by repeated improvement: edges are reduced by the best mean so far,
 * and Bellman and Ford's algorithm computes longest paths. A cycle with a greater mean has a
 * positive length then and appears among the predecessors (Cherkassky and Goldberg 1999); its mean
 * becomes the best one. A round takes O(ranks^2). */
#include "sim/analysis/period.h"

#include "sim/analysis/step_tail.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/engine/engine.h"
#include "sim/program/comm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

pp_ns pp_period_ns(pp_period period)
{
    return period.sum_ns / period.steps + (period.sum_ns % period.steps != 0);
}

/* Longest paths, as long as no cycle with a mean above the best one has appeared. */
typedef struct search {
    const pp_ns *matrix;
    uint32_t n;
    pp_period best;
    pp_ns *value; /* [n]: length of the longest path minus the best mean, in units of 1 / best.steps
                     ns */
    uint32_t *from;
    uint32_t *seen; /* [n]: 1 + the rank from which it was reached last */
} search;

static void search_free(search *s)
{
    free(s->value);
    free(s->from);
    free(s->seen);
}

/* One round over all edges. Returns true when a value grew. */
static bool grow(search *s)
{
    bool grew = false;
    for (uint32_t to = 0; to < s->n; to++) {
        const pp_ns *row = &s->matrix[(size_t)to * s->n];
        for (uint32_t from = 0; from < s->n; from++) {
            pp_ns value = s->value[from] + row[from] * s->best.steps - s->best.sum_ns;
            if (row[from] == PP_NEVER || value <= s->value[to])
                continue;
            s->value[to] = value;
            s->from[to] = from;
            grew = true;
        }
    }
    return grew;
}

/* Finds a cycle among the predecessors; its mean is greater than the best one (Cherkassky and
 * Goldberg 1999, Negative-cycle detection algorithms, lemma 2). */
static bool better_circle(search *s)
{
    memset(s->seen, 0, s->n * sizeof *s->seen);
    for (uint32_t start = 0; start < s->n; start++) {
        uint32_t at = start;
        while (at != PP_NO_SOURCE && !s->seen[at]) {
            s->seen[at] = start + 1;
            at = s->from[at];
        }
        if (at == PP_NO_SOURCE || s->seen[at] != start + 1)
            continue;
        pp_period circle = { 0 };
        uint32_t first = at;
        do {
            circle.sum_ns += s->matrix[(size_t)at * s->n + s->from[at]];
            circle.steps++;
            at = s->from[at];
        } while (at != first);
        s->best = circle;
        return true;
    }
    return false;
}

static pp_status check_range(const pp_ns *matrix, uint32_t n, pp_err *err)
{
    pp_ns longest = 0;
    for (size_t i = 0; i < (size_t)n * n; i++)
        longest = matrix[i] > longest ? matrix[i] : longest;
    if (longest > INT64_MAX / 8 / n / n)
        return pp_err_set(err, PP_INPUT, pp_err_name(err, PP_FIELD_STEP_SYNC),
                          "a step of %" PRId64 " ns repeated on %" PRIu32
                          " ranks does not fit 64 bits; give shorter durations or %s on",
                          longest, n, pp_err_name(err, PP_FIELD_STEP_SYNC));
    return PP_OK;
}

pp_status pp_period_of_matrix(const pp_ns *matrix, uint32_t n, pp_period *period_out, pp_err *err)
{
    search s PP_CLEANUP(search_free) = { .matrix = matrix, .n = n, .best = { 0, 1 } };
    pp_status status = check_range(matrix, n, err);
    if (status)
        return status;
    s.value = pp_alloc_array(n, sizeof *s.value);
    s.from = pp_alloc_array(n, sizeof *s.from);
    s.seen = pp_alloc_array(n, sizeof *s.seen);
    if (!s.value || !s.from || !s.seen)
        return pp_err_nomem(err);
    for (uint32_t r = 0; r < n; r++) { /* the slowest cycle nearly always contains one rank only */
        pp_ns own = matrix[(size_t)r * n + r];
        s.best.sum_ns = own > s.best.sum_ns ? own : s.best.sum_ns;
    }
    bool better;
    do {
        memset(s.value, 0, n * sizeof *s.value);
        memset(s.from, 0xff, n * sizeof *s.from); /* PP_NO_SOURCE */
        better = false;
        while (!better && grow(&s))
            better = better_circle(&s);
    } while (better);
    *period_out = s.best;
    return PP_OK;
}

/* The end of the last op of each rank; begin_ns for ranks without ops. */
static void op_ends(const pp_program *program, const pp_timeline *timeline, const pp_ns *begin_ns,
                    pp_ns *end_ns)
{
    for (uint32_t r = 0; r < program->ranks; r++) {
        size_t end = program->rank_begin[r + 1];
        end_ns[r] = end > program->rank_begin[r] ? timeline->end_ns[end - 1] : begin_ns[r];
    }
}

/* Extends each rank's part to the end of its transfers; times count from from_ns. */
static void await_transfers(const pp_program *program, const pp_timeline *timeline, pp_ns from_ns,
                            pp_ns *end_ns)
{
    const pp_comm *comm = program->comm;
    for (size_t t = 0; comm && t < comm->transfer_count; t++) {
        pp_ns *rank_end_ns = &end_ns[comm->transfer[t].rank];
        if (timeline->comm->end_ns[t] - from_ns > *rank_end_ns)
            *rank_end_ns = timeline->comm->end_ns[t] - from_ns;
    }
}

/* Buffers that are needed to make the matrix. */
typedef struct making {
    pp_timeline *timeline;
    pp_ns *begin_ns, *end_ns; /* [ranks] */
    pp_ns *matrix;            /* [ranks][ranks] */
} making;

static void making_free(making *m)
{
    pp_timeline_free(&m->timeline);
    free(m->begin_ns);
    free(m->end_ns);
    free(m->matrix);
}

/* To find one column, a rank begins later than all ranks would have ended otherwise. Whatever ends
 * after that has waited for it. */
static pp_status make_matrix(const pp_program *program, const pp_costs *costs,
                             const pp_timeline *timeline, bool chained, making *m, pp_err *err)
{
    uint32_t ranks = program->ranks;
    pp_ns late_ns = 1;
    op_ends(program, timeline, m->begin_ns, m->end_ns);
    await_transfers(program, timeline, 0, m->end_ns);
    for (uint32_t r = 0; r < ranks; r++)
        late_ns = m->end_ns[r] >= late_ns ? m->end_ns[r] + 1 : late_ns;
    for (uint32_t q = 0; q < ranks; q++) {
        m->begin_ns[q] = late_ns;
        pp_status status = pp_simulate_from(program, costs, m->begin_ns, m->timeline, err);
        if (status)
            return status;
        op_ends(program, m->timeline, m->begin_ns, m->end_ns);
        for (uint32_t r = 0; r < ranks; r++)
            m->end_ns[r] = m->end_ns[r] >= late_ns ? m->end_ns[r] - late_ns : PP_NEVER;
        if (!program->forward_only)
            pp_step_tail_pass(costs, chained, m->end_ns);
        await_transfers(program, m->timeline, late_ns, m->end_ns);
        for (uint32_t r = 0; r < ranks; r++)
            m->matrix[(size_t)r * ranks + q] = m->end_ns[r];
        m->begin_ns[q] = 0;
    }
    return PP_OK;
}

pp_status pp_period_of(const pp_program *program, const pp_costs *costs,
                       const pp_timeline *timeline, bool chained, pp_period *period_out,
                       pp_err *err)
{
    making m PP_CLEANUP(making_free) = {
        .begin_ns = pp_alloc_array(program->ranks, sizeof *m.begin_ns),
        .end_ns = pp_alloc_array(program->ranks, sizeof *m.end_ns),
        .matrix = pp_alloc_array(program->ranks, program->ranks * sizeof *m.matrix),
    };
    if (!m.begin_ns || !m.end_ns || !m.matrix)
        return pp_err_nomem(err);
    pp_status status = pp_timeline_new_comm(program, &m.timeline, err);
    if (status || (status = make_matrix(program, costs, timeline, chained, &m, err)))
        return status;
    return pp_period_of_matrix(m.matrix, program->ranks, period_out, err);
}
