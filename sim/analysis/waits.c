/* Collects the longest waits of a timeline and names the ops at both ends of them. At most twice as
 * many as are asked for are held: when there are more, they are sorted and the shorter half is left
 * out, and so is from then on what comes after the last of the others. O(n log most) in the waits.
 */
#include "sim/analysis/waits.h"

#include "sim/base/alloc.h"
#include "sim/program/comm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pp_blocked_free(pp_blocked_list *list)
{
    free(list->item);
    *list = (pp_blocked_list){ 0 };
}

/* Waits before they are sorted and named. */
typedef struct gathering {
    const pp_program *program;
    const pp_timeline *timeline;
    size_t most; /* are asked for */
    pp_wait *wait;
    size_t count, capacity;
    bool full; /* `last` is set: what comes after it is not among the longest */
    pp_wait last;
} gathering;

static void gathering_free(gathering *g)
{
    free(g->wait);
}

static int longest_first(const void *a, const void *b)
{
    const pp_wait *x = a;
    const pp_wait *y = b;
    if (x->waits_ns != y->waits_ns)
        return x->waits_ns < y->waits_ns ? 1 : -1;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Leaves the longest ones, sorted. */
static void cut(gathering *g)
{
    if (g->count)
        qsort(g->wait, g->count, sizeof *g->wait, longest_first);
    if (g->count < g->most)
        return;
    g->count = g->most;
    g->full = true;
    if (g->count)
        g->last = g->wait[g->count - 1];
}

static pp_status push(gathering *g, pp_wait wait, pp_err *err)
{
    void *grown = g->wait;
    if (g->full && (!g->most || longest_first(&wait, &g->last) > 0))
        return PP_OK;
    if (g->count >= g->most && g->count - g->most >= g->most)
        cut(g);
    pp_status status = pp_reserve(&grown, &g->capacity, g->count + 1, sizeof wait, err);
    if (status)
        return status;
    g->wait = grown;
    g->wait[g->count++] = wait;
    return PP_OK;
}

/* The later input of a pair with a duration of its own (sim/program/pairs.h). */
static uint32_t late_source(const gathering *g, size_t i)
{
    const pp_ns *end_ns = g->timeline->end_ns;
    uint32_t first = g->program->source[i];
    if (!g->program->op[i].paired || g->timeline->start_ns[i + 1] < end_ns[i + 1])
        return first;
    uint32_t second = g->program->source[i + 1];
    if (second == PP_NO_SOURCE || (first != PP_NO_SOURCE && end_ns[first] > end_ns[second]))
        return first;
    return second;
}

/* Shorter waits are not among the longest. */
static pp_ns least(const gathering *g)
{
    return g->full && g->most ? g->last.waits_ns : 1;
}

/* Collects the waits of a program without communication: an op waits for the op that computes its
 * input and then for the latency of the transfer. */
static pp_status gather_gaps(gathering *g, pp_err *err)
{
    const pp_program *program = g->program;
    const pp_ns *start_ns = g->timeline->start_ns, *end_ns = g->timeline->end_ns;
    for (uint32_t r = 0; r < program->ranks; r++) {
        pp_ns clock_ns = 0, least_ns = least(g);
        for (size_t i = program->rank_begin[r]; i < program->rank_begin[r + 1]; i++) {
            const pp_ns waits_ns = start_ns[i] - clock_ns;
            if (waits_ns >= least_ns) {
                const pp_wait wait = { .at_ns = clock_ns,
                                       .waits_ns = waits_ns,
                                       .rank = (uint16_t)r,
                                       .step = (uint32_t)i,
                                       .blocker = late_source(g, i),
                                       .blocker_is_op = true,
                                       .cause = PP_IDLE_DATA };
                pp_status status = push(g, wait, err);
                if (status)
                    return status;
                least_ns = least(g);
            }
            clock_ns = end_ns[i];
        }
    }
    return PP_OK;
}

static pp_status gather(gathering *g, pp_err *err)
{
    const pp_comm_timeline *comm = g->timeline->comm;
    pp_status status = comm ? PP_OK : gather_gaps(g, err);
    for (size_t i = 0; comm && i < comm->wait_count && !status; i++)
        status = push(g, comm->wait[i], err);
    return status;
}

/* The next op on the rank, or PP_NO_SOURCE. */
static uint32_t next_op(const pp_program *program, const pp_wait *wait)
{
    const pp_comm *comm = program->comm;
    if (!comm)
        return (uint32_t)wait->step;
    for (size_t s = wait->step; s < comm->step_begin[wait->rank + 1]; s++) {
        if (comm->step[s].kind == PP_COMM_STEP_RUN)
            return comm->step[s].index;
    }
    return PP_NO_SOURCE;
}

static bool takes_input(pp_op op, const pp_transfer *t)
{
    bool forward = t->kind == PP_RECV_F;
    return op.stage == t->stage && op.microbatch == t->microbatch &&
           (op.kind == PP_OP_F) == forward && op.kind != PP_OP_W;
}

/* The op that computed the awaited input too late, or PP_NO_SOURCE if only its send was late. The
 * op that needs the input follows the wait. */
static uint32_t late_op(const pp_program *program, const pp_timeline *timeline, const pp_wait *wait)
{
    const pp_comm *comm = program->comm;
    if (wait->blocker_is_op)
        return wait->blocker;
    const pp_transfer *awaited = &comm->transfer[wait->transfer];
    if (wait->cause != PP_IDLE_DATA || awaited->kind >= PP_TENSOR_KINDS)
        return PP_NO_SOURCE;
    for (size_t s = wait->step; s < comm->step_begin[wait->rank + 1]; s++) {
        uint32_t i = comm->step[s].index;
        if (comm->step[s].kind != PP_COMM_STEP_RUN || !takes_input(program->op[i], awaited))
            continue;
        uint32_t source = program->source[i];
        return source != PP_NO_SOURCE && timeline->end_ns[source] > wait->at_ns ? source
                                                                                : PP_NO_SOURCE;
    }
    return PP_NO_SOURCE;
}

/* The reduction that the rank waits for, or the gather of the parameters of its next op. */
static void name_collective(const pp_program *program, const pp_wait *wait, pp_blocked *out)
{
    const pp_comm_step step = program->comm->step[wait->step];
    const bool reduces = step.kind == PP_COMM_STEP_MARK;
    snprintf(out->by, sizeof out->by, "%" PRIu32 "%s",
             reduces ? step.index : (uint32_t)program->op[step.index].stage,
             pp_mark_token(reduces ? PP_MARK_REDUCE_GRAD : PP_MARK_UNSHARD));
    out->by_rank = wait->rank;
}

static void name(const pp_program *program, const pp_timeline *timeline, const pp_wait *wait,
                 pp_blocked *out)
{
    *out = (pp_blocked){
        .rank = wait->rank, .at_ns = wait->at_ns, .waits_ns = wait->waits_ns, .cause = wait->cause
    };
    uint32_t op = next_op(program, wait);
    if (op != PP_NO_SOURCE)
        pp_op_print(program->op[op], out->op, sizeof out->op);
    else
        pp_transfer_print(&program->comm->transfer[wait->transfer], out->op, sizeof out->op);
    if (wait->cause == PP_IDLE_LINK && wait->transfer == PP_NO_SOURCE && program->comm) {
        name_collective(program, wait, out);
        return;
    }
    if (wait->blocker == PP_NO_SOURCE)
        return;
    uint32_t late = late_op(program, timeline, wait);
    if (late != PP_NO_SOURCE) {
        pp_op by = program->op[late];
        pp_op_print(by, out->by, sizeof out->by);
        out->by_rank = pp_program_rank(program, by);
    } else {
        const pp_transfer *by = &program->comm->transfer[wait->blocker];
        pp_transfer_print(by, out->by, sizeof out->by);
        out->by_rank = by->rank;
    }
}

pp_status pp_blocked_find(const pp_program *program, const pp_timeline *timeline, size_t most,
                          pp_blocked_list *list_out, pp_err *err)
{
    gathering g PP_CLEANUP(
        gathering_free) = { .program = program, .timeline = timeline, .most = most };
    pp_status status = gather(&g, err);
    if (status)
        return status;
    cut(&g);
    pp_blocked *item = pp_alloc_array(g.count, sizeof *item);
    if (!item)
        return pp_err_nomem(err);
    for (size_t i = 0; i < g.count; i++)
        name(program, timeline, &g.wait[i], &item[i]);
    *list_out = (pp_blocked_list){ .item = item, .count = g.count };
    return PP_OK;
}
