/* Divides the ops of a recording into steps. A profiler does not record where a step begins, but
 * every step runs every op once: sorted by op and time, the n-th slice of an op belongs to step n.
 * If only some steps are wanted, slices of other steps are dropped, and counted, whenever their
 * number has doubled since the last time; so memory is that of the wanted steps, and time O(n log
 * n) in all slices. */
#include "traces/read/recorded_steps.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "traces/read/pytorch_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOK_LEAST ((size_t)1 << 14)

int pp_op_compare(pp_op a, pp_op b)
{
    if (a.stage != b.stage)
        return a.stage < b.stage ? -1 : 1;
    if (a.microbatch != b.microbatch)
        return a.microbatch < b.microbatch ? -1 : 1;
    return (a.kind > b.kind) - (a.kind < b.kind);
}

static int by_op(const void *left, const void *right)
{
    const pp_op_slice *a = left;
    const pp_op_slice *b = right;
    int order = a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : pp_op_compare(a->op, b->op);
    return order ? order : (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static int by_time(const void *left, const void *right)
{
    const pp_op_slice *a = left;
    const pp_op_slice *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return pp_op_compare(a->op, b->op);
}

static bool is_same_op(const pp_op_slice *a, const pp_op_slice *b)
{
    return a->rank == b->rank && pp_op_compare(a->op, b->op) == 0;
}

void pp_op_slices_number(pp_op_slices *slices)
{
    slices->steps = 0;
    qsort(slices->item, slices->count, sizeof *slices->item, by_op);
    for (size_t i = 0; i < slices->count; i++) {
        pp_op_slice *s = &slices->item[i];
        bool again = i > 0 && is_same_op(s, &s[-1]);
        slices->disordered |= again && s->earlier > 0;
        s->step = again ? s[-1].step + 1 : s->earlier;
        slices->steps = s->step + 1 > slices->steps ? s->step + 1 : slices->steps;
    }
}

/* What is read later cannot move a slice from a later step into an earlier one. It can, however,
 * contain an even earlier slice, which increases the step numbers of the others;
 * pp_op_slices_number notices this (disordered). */
void pp_op_slices_forget(pp_op_slices *slices)
{
    size_t kept = 0;
    pp_op_slices_number(slices);
    for (size_t i = 0; slices->some && i < slices->count; i++) {
        pp_op_slice *s = &slices->item[i];
        if (s->step > slices->last_step) {
            slices->item[kept - 1].later += 1 + s->later;
            slices->more = true;
            continue;
        }
        if (s->step < slices->first_step) {
            kept -= kept > 0 && is_same_op(s, &slices->item[kept - 1]);
            s->earlier = s->step;
        }
        slices->item[kept++] = *s;
    }
    if (!slices->some)
        return;
    slices->count = kept;
    if (slices->steps > slices->last_step)
        slices->steps = slices->last_step + 1;
    slices->look_again = 2 * kept > LOOK_LEAST ? 2 * kept : LOOK_LEAST;
}

pp_status pp_op_slices_add(pp_op_slices *slices, const pp_op_slice *slice, pp_err *err)
{
    if (slices->some && slices->count >= LOOK_LEAST && slices->count >= slices->look_again)
        pp_op_slices_forget(slices);
    void *all = slices->item;
    pp_status status = pp_reserve(&all, &slices->capacity, slices->count + 1, sizeof *slice, err);
    if (status)
        return status;
    slices->item = all;
    slices->item[slices->count++] = *slice;
    return PP_OK;
}

/* Returns how often the op at *at was recorded, and moves *at past its slices. */
static size_t count_times(const pp_op_slices *slices, size_t *at)
{
    const pp_op_slice *s = slices->item;
    size_t times = s[*at].earlier;
    do
        times += 1 + s[*at].later;
    while (++*at < slices->count && is_same_op(&s[*at], &s[*at - 1]));
    return times;
}

/* Fails if an op was recorded less often than others: steps were recorded in part, or not by every
 * rank. */
static pp_status check(const pp_op_slices *slices, pp_err *err)
{
    char where[32];
    char token[32];
    size_t most = 0;
    for (size_t i = 0; i < slices->count;) {
        size_t times = count_times(slices, &i);
        most = times > most ? times : most;
    }
    for (size_t i = 0; i < slices->count;) {
        const pp_op_slice *s = &slices->item[i];
        size_t times = count_times(slices, &i);
        if (times == most)
            continue;
        snprintf(where, sizeof where, "rank %" PRIu32, s->rank);
        return pp_err_set(err, PP_INPUT, where,
                          "%s was recorded in %zu steps and other ops in %zu, so ppsim cannot tell "
                          "which belong together; record the same whole steps on every rank",
                          pp_op_print(s->op, token, sizeof token), times, most);
    }
    return PP_OK;
}

pp_status pp_op_slices_keep(pp_op_slices *slices, size_t low, size_t high, pp_err *err)
{
    size_t kept = 0;
    pp_op_slices_forget(slices);
    pp_status status = check(slices, err);
    if (status)
        return status;
    if (!slices->more && high >= slices->steps)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_STEPS),
                          "the recording has %zu steps, counted from 0", slices->steps);
    for (size_t i = 0; i < slices->count; i++) {
        if (slices->item[i].step >= low && slices->item[i].step <= high)
            slices->item[kept++] = slices->item[i];
    }
    slices->count = kept;
    qsort(slices->item, slices->count, sizeof *slices->item, by_time);
    return PP_OK;
}
