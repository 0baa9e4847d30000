/* Follows _add_wait_send_budget of torch/distributed/pipelining/schedules.py (PyTorch 2.15). Steps
 * that are not waits are nodes of a graph, with edges from each to the next of its rank, from a
 * send to its receive, and from the receive to the node before which the sender waits. A wait may
 * move before a send if that send does not lead to the receive. Each question is a search through
 * the graph: the work is sends x limit x steps, and refused where it would take longer than some 10
 * s. */
#include "sim/framework/lowering/send_budget.h"

#include "sim/base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define WORK_MAX 5e9 /* visits of nodes */

typedef struct graph {
    const pp_program *program;
    uint32_t count;      /* nodes */
    uint32_t *begin;     /* [ranks + 1]: the first node of each rank */
    uint32_t *rank;      /* [count] */
    uint32_t *node_of;   /* [groups]: the node that posts the group */
    uint32_t *group;     /* [count]: the group that the node posts, or NONE */
    uint32_t *wait_at;   /* [groups], for sends: the node before which the rank waits, or NONE: at
                            the end of the rank */
    uint32_t *reached;   /* [ranks]: the first node that a search has reached */
    uint32_t *to_search; /* [ranks]: from which node on it has not followed the others */
} graph;

static void graph_free(graph *g)
{
    free(g->begin);
    free(g->rank);
    free(g->node_of);
    free(g->group);
    free(g->wait_at);
    free(g->reached);
    free(g->to_search);
}

static const pp_transfer *transfer_of(const graph *g, uint32_t group)
{
    const pp_comm *comm = g->program->comm;
    return &comm->transfer[comm->group[group].first];
}

static bool sends(const graph *g, uint32_t group)
{
    return pp_transfer_sends((pp_transfer_kind)transfer_of(g, group)->kind);
}

/* The node that posts the receive of a send, or the send of a receive. */
static uint32_t other_end(const graph *g, uint32_t group)
{
    return g->node_of[g->program->comm->transfer[transfer_of(g, group)->match].group];
}

static pp_status graph_new(const pp_program *program, graph *g, pp_err *err)
{
    const pp_comm *comm = program->comm;
    *g = (graph){ .program = program };
    g->begin = pp_alloc_array(program->ranks + 1u, sizeof *g->begin);
    g->rank = pp_alloc_array(comm->step_count, sizeof *g->rank);
    g->group = pp_alloc_array(comm->step_count, sizeof *g->group);
    g->node_of = pp_alloc_array(comm->group_count, sizeof *g->node_of);
    g->wait_at = pp_alloc_array(comm->group_count, sizeof *g->wait_at);
    g->reached = pp_alloc_array(program->ranks, sizeof *g->reached);
    g->to_search = pp_alloc_array(program->ranks, sizeof *g->to_search);
    if (!g->begin || !g->rank || !g->group || !g->node_of || !g->wait_at || !g->reached ||
        !g->to_search)
        return pp_err_nomem(err);
    for (uint32_t r = 0; r < program->ranks; r++) {
        g->begin[r] = g->count;
        for (size_t s = comm->step_begin[r]; s < comm->step_begin[r + 1]; s++) {
            const pp_comm_step step = comm->step[s];
            if (step.kind == PP_COMM_STEP_WAIT)
                continue;
            const bool posts = step.kind == PP_COMM_STEP_POST;
            if (posts)
                g->node_of[step.index] = g->count;
            g->rank[g->count] = r;
            g->group[g->count++] = posts ? step.index : NONE;
        }
    }
    g->begin[program->ranks] = g->count;
    for (uint32_t r = 0; r < program->ranks; r++) {
        uint32_t next = g->begin[r];
        for (size_t s = comm->step_begin[r]; s < comm->step_begin[r + 1]; s++) {
            if (comm->step[s].kind == PP_COMM_STEP_WAIT)
                g->wait_at[comm->step[s].index] = next < g->begin[r + 1] ? next : NONE;
            else
                next++;
        }
    }
    return PP_OK;
}

static void reach(graph *g, uint32_t node)
{
    uint32_t r = g->rank[node];
    if (node < g->reached[r])
        g->reached[r] = node;
}

/* Whether there is a path from one node to the other, or they are the same. */
static bool leads_to(graph *g, uint32_t from, uint32_t to)
{
    for (uint32_t r = 0; r < g->program->ranks; r++)
        g->reached[r] = g->to_search[r] = g->begin[r + 1];
    reach(g, from);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t r = 0; r < g->program->ranks; r++) {
            const uint32_t stop = g->to_search[r];
            g->to_search[r] = g->reached[r];
            for (uint32_t node = g->to_search[r]; node < stop; node++) {
                uint32_t group = g->group[node];
                more = true;
                if (group == NONE)
                    continue;
                uint32_t next = sends(g, group) ? other_end(g, group)
                                                : g->wait_at[g->group[other_end(g, group)]];
                if (next != NONE)
                    reach(g, next);
            }
        }
        if (g->reached[g->rank[to]] <= to)
            return true;
    }
    return false;
}

/* Whether the wait of a send may move before `node`, and whether its receive is then posted before
 * in any case. */
static bool may_move(graph *g, uint32_t send, uint32_t node, bool *in_any_case)
{
    const uint32_t receive = other_end(g, send);
    const uint32_t at = g->wait_at[send];
    g->wait_at[send] = NONE;
    const bool safe = !leads_to(g, node, receive);
    *in_any_case = safe && leads_to(g, receive, node);
    g->wait_at[send] = at;
    return safe;
}

/* The sends of a rank that have been posted and not been waited for, oldest first. */
typedef struct pending {
    uint32_t *group;
    size_t count;
} pending;

static void drop(pending *p, size_t at)
{
    memmove(&p->group[at], &p->group[at + 1], (p->count - at - 1) * sizeof *p->group);
    p->count--;
}

/* Waits for one of the pending sends before `node`. Returns false if none may. */
static bool wait_for_one(graph *g, pending *p, uint32_t node, pp_comm_step *step_out)
{
    size_t chosen = p->count;
    for (size_t k = 0; k < p->count; k++) {
        bool in_any_case = false;
        if (!may_move(g, p->group[k], node, &in_any_case))
            continue;
        if (in_any_case) {
            chosen = k;
            break;
        }
        if (chosen == p->count)
            chosen = k;
    }
    if (chosen == p->count)
        return false;
    const uint32_t send = p->group[chosen];
    g->wait_at[send] = node;
    *step_out = (pp_comm_step){ .index = send, .kind = PP_COMM_STEP_WAIT };
    drop(p, chosen);
    return true;
}

static size_t find(const pending *p, uint32_t group)
{
    size_t k = 0;
    while (k < p->count && p->group[k] != group)
        k++;
    return k;
}

static pp_status limit_rank(graph *g, uint32_t rank, int64_t most, pending *p, pp_comm_step *out,
                            pp_err *err)
{
    const pp_comm *comm = g->program->comm;
    p->count = 0;
    for (size_t s = comm->step_begin[rank]; s < comm->step_begin[rank + 1]; s++) {
        const pp_comm_step step = comm->step[s];
        if (step.kind == PP_COMM_STEP_WAIT) {
            const size_t at = find(p, step.index);
            if (at == p->count)
                continue; /* it has moved */
            drop(p, at);
        } else if (step.kind == PP_COMM_STEP_POST && sends(g, step.index)) {
            while (p->count >= (size_t)most) {
                if (!wait_for_one(g, p, g->node_of[step.index], out++)) {
                    char token[40];
                    return pp_err_set(
                        err, PP_INFEASIBLE, NULL,
                        "rank %" PRIu32 " cannot have at most %" PRId64
                        " outstanding sends before %s: no wait can come earlier "
                        "without a hang; raise the limit, or change the schedule",
                        rank, most,
                        pp_transfer_print(transfer_of(g, step.index), token, sizeof token));
                }
            }
            p->group[p->count++] = step.index;
        }
        *out++ = step;
    }
    return PP_OK;
}

/* The most sends of a rank. */
static double most_sends(const pp_program *program)
{
    const pp_comm *comm = program->comm;
    size_t most = 0;
    for (uint32_t r = 0; r < program->ranks; r++) {
        size_t count = 0;
        for (size_t s = comm->step_begin[r]; s < comm->step_begin[r + 1]; s++)
            count += comm->step[s].kind == PP_COMM_STEP_WAIT;
        most = count > most ? count : most;
    }
    return (double)most;
}

pp_status pp_send_budget(pp_program *program, int64_t most, pp_err *err)
{
    pp_comm *comm = program->comm;
    graph g PP_CLEANUP(graph_free) = { 0 };
    const double sent = (double)comm->transfer_count / 2;
    const double most_of_rank = most_sends(program);
    if (most_of_rank <= (double)most)
        return PP_OK; /* it never binds */
    if (sent * (double)most * (double)comm->step_count > WORK_MAX)
        return pp_err_set(err, PP_INFEASIBLE, NULL,
                          "%.0f sends are too many for a limit of outstanding ones, whose waits "
                          "would take longer than some 10 s to place; use fewer microbatches or a "
                          "smaller limit, or leave it out",
                          sent);
    pp_status status = graph_new(program, &g, err);
    if (status)
        return status;
    pp_comm_step *steps = pp_alloc_array(comm->step_count, sizeof *steps);
    pending p = { .group = pp_alloc_array(comm->group_count, sizeof *p.group) };
    status = steps && p.group ? PP_OK : pp_err_nomem(err);
    for (uint32_t r = 0; !status && r < program->ranks; r++)
        status = limit_rank(&g, r, most, &p, &steps[comm->step_begin[r]], err);
    free(p.group);
    if (status) {
        free(steps);
        return status;
    }
    free(comm->step);
    comm->step = steps;
    return PP_OK;
}
