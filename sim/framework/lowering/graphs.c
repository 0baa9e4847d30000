/* Counts distinct graphs in a trie: a graph is a path of tasks, and equal paths end at the same
 * node. Its edges are in a hash table with open addressing, so that the count takes linear time
 * in the program. */
#include "sim/framework/lowering/graphs.h"

#include "sim/base/alloc.h"
#include "sim/program/comm.h"

#include <stdlib.h>
#include <string.h>

/* An edge of the trie. A graph is a path of tasks from the root (node 0), and equal graphs end at
 * the same node. */
typedef struct edge {
    uint64_t task;
    uint32_t from, to; /* to is 0 in an empty place */
} edge;

typedef struct trie {
    edge *edge; /* [places], a power of two, at least twice the edges: open addressing */
    size_t places;
    uint32_t nodes;
    bool *ends; /* [nodes]: a graph ends at this node */
    uint32_t graphs;
} trie;

static uint64_t task_of(unsigned kind, uint32_t stage, uint32_t class)
{
    return (uint64_t)kind << 56 | (uint64_t)stage << 32 | class;
}

/* Returns the node after `from` along `task`, which is added if there is none. */
static uint32_t step(trie *t, uint32_t from, uint64_t task)
{
    size_t mask = t->places - 1;
    size_t at = (size_t)((task ^ (task >> 29) ^ (uint64_t)from << 17) * 0x9E3779B97F4A7C15u >> 20);
    for (at &= mask; t->edge[at].to; at = (at + 1) & mask) {
        if (t->edge[at].task == task && t->edge[at].from == from)
            return t->edge[at].to;
    }
    t->edge[at] = (edge){ .task = task, .from = from, .to = ++t->nodes };
    return t->nodes;
}

static void end(trie *t, uint32_t node)
{
    t->graphs += node && !t->ends[node];
    t->ends[node] = true;
}

static void add_ops(trie *t, const pp_program *program, const pp_costs *costs, pp_graphs graphs,
                    uint32_t rank)
{
    uint32_t node = 0;
    for (size_t i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
        pp_op op = program->op[i];
        if (graphs == PP_GRAPHS_PER_TASK || op.kind == PP_OP_F) {
            end(t, node);
            node = 0;
        }
        node = step(t, node, task_of(op.kind, op.stage, costs->class_of[op.microbatch]));
    }
    end(t, node);
}

static void add_transfers(trie *t, const pp_comm *comm, const pp_costs *costs, uint32_t rank)
{
    for (size_t s = comm->step_begin[rank]; s < comm->step_begin[rank + 1]; s++) {
        if (comm->step[s].kind != PP_COMM_STEP_POST)
            continue;
        const pp_group *group = &comm->group[comm->step[s].index];
        for (uint32_t k = group->first; k < group->first + group->count; k++) {
            const pp_transfer *own = &comm->transfer[k];
            end(t, step(t, 0,
                        task_of(PP_OP_KIND_COUNT + own->kind, own->stage,
                                costs->class_of[own->microbatch])));
        }
    }
}

/* The number of ops and transfers of a rank. */
static size_t count_tasks(const pp_program *program, uint32_t rank)
{
    const pp_comm *comm = program->comm;
    size_t tasks = program->rank_begin[rank + 1] - program->rank_begin[rank];
    for (size_t s = comm ? comm->step_begin[rank] : 0; comm && s < comm->step_begin[rank + 1]; s++)
        tasks +=
            comm->step[s].kind == PP_COMM_STEP_POST ? comm->group[comm->step[s].index].count : 0;
    return tasks;
}

/* Allocates room for the tasks of one rank. */
static pp_status trie_new(size_t tasks, trie *t, pp_err *err)
{
    *t = (trie){ .places = 16 };
    while (t->places < 2 * tasks + 2)
        t->places *= 2;
    t->edge = pp_alloc_array(t->places, sizeof *t->edge);
    t->ends = pp_alloc_array(tasks + 1, sizeof *t->ends);
    return t->edge && t->ends ? PP_OK : pp_err_nomem(err);
}

static void trie_free(trie *t)
{
    free(t->edge);
    free(t->ends);
}

pp_status pp_graphs_count(const pp_program *program, const pp_costs *costs, pp_graphs graphs,
                          uint32_t *most_out, pp_err *err)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < program->ranks && graphs != PP_GRAPHS_NONE; r++) {
        trie t PP_CLEANUP(trie_free) = { 0 };
        pp_status status = trie_new(count_tasks(program, r), &t, err);
        if (status)
            return status;
        add_ops(&t, program, costs, graphs, r);
        if (graphs == PP_GRAPHS_PER_TASK && program->comm)
            add_transfers(&t, program->comm, costs, r);
        most = t.graphs > most ? t.graphs : most;
    }
    *most_out = most;
    return PP_OK;
}
