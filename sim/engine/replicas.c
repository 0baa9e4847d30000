/* Runs the ranks of all replicas as far as they can go: an op needs the result of its source, and a
 * gather or reduction the same rank of all replicas at its own next one. A stack holds the ranks
 * that may go on; every step is taken once, in O(steps). */
#include "sim/engine/replicas.h"

#include "sim/base/alloc.h"
#include "sim/program/comm.h"
#include "sim/program/program_new.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A rank of a replica. */
typedef struct actor {
    uint32_t replica, rank;
    size_t next;        /* into comm->step */
    bool queued, waits; /* for a collective */
} actor;

typedef struct crowd {
    const pp_program *const *program;
    uint32_t count, ranks;
    actor *actor;        /* [count * ranks], by replica */
    uint32_t *waiting;   /* [ranks]: replicas that wait for a collective of the rank */
    bool **ran;          /* [count]: [ops of the replica] */
    uint32_t **consumer; /* [count]: [ops]: an op on another rank that needs it, or PP_NO_SOURCE */
    uint32_t *stack;     /* [count * ranks]: actors */
    size_t queued;
} crowd;

static void crowd_free(crowd *c)
{
    for (uint32_t k = 0; k < c->count; k++) {
        free(c->ran ? c->ran[k] : NULL);
        free(c->consumer ? c->consumer[k] : NULL);
    }
    free(c->actor);
    free(c->waiting);
    free(c->ran);
    free(c->consumer);
    free(c->stack);
}

static void wake(crowd *c, uint32_t replica, uint32_t rank)
{
    actor *a = &c->actor[(size_t)replica * c->ranks + rank];
    if (!a->queued)
        c->stack[c->queued++] = (uint32_t)(a - c->actor);
    a->queued = true;
}

static pp_status crowd_new(const pp_program *const *program, uint32_t count, crowd *c, pp_err *err)
{
    const size_t actors = (size_t)count * program[0]->ranks;
    *c = (crowd){ .program = program, .count = count, .ranks = program[0]->ranks };
    c->actor = pp_alloc_array(actors, sizeof *c->actor);
    c->waiting = pp_alloc_array(c->ranks, sizeof *c->waiting);
    c->ran = pp_alloc_array(count, sizeof *c->ran);
    c->consumer = pp_alloc_array(count, sizeof *c->consumer);
    c->stack = pp_alloc_array(actors, sizeof *c->stack);
    if (!c->actor || !c->waiting || !c->ran || !c->consumer || !c->stack)
        return pp_err_nomem(err);
    for (uint32_t k = 0; k < count; k++) {
        const pp_program *p = program[k];
        c->ran[k] = pp_alloc_array(p->count, sizeof *c->ran[k]);
        c->consumer[k] = pp_alloc_array(p->count, sizeof *c->consumer[k]);
        if (!c->ran[k] || !c->consumer[k])
            return pp_err_nomem(err);
        for (size_t i = 0; i < p->count; i++)
            c->consumer[k][i] = PP_NO_SOURCE;
        for (size_t i = 0; i < p->count; i++)
            if (p->source[i] != PP_NO_SOURCE &&
                pp_program_rank(p, p->op[i]) != pp_program_rank(p, p->op[p->source[i]]))
                c->consumer[k][p->source[i]] = (uint32_t)i;
        for (uint32_t r = 0; r < c->ranks; r++) {
            c->actor[(size_t)k * c->ranks + r] =
                (actor){ .replica = k, .rank = r, .next = p->comm->step_begin[r] };
            wake(c, k, r);
        }
    }
    return PP_OK;
}

static bool is_collective(pp_comm_step step)
{
    return step.kind == PP_COMM_STEP_MARK &&
           (step.mark == PP_MARK_UNSHARD || step.mark == PP_MARK_REDUCE_GRAD);
}

/* "3REDUCE_GRAD", "4F7", or "the end of the step". */
static const char *print_next(const crowd *c, const actor *a, char *text, size_t size)
{
    const pp_program *p = c->program[a->replica];
    if (a->next == p->comm->step_begin[a->rank + 1]) {
        snprintf(text, size, "the end of the step");
        return text;
    }
    const pp_comm_step step = p->comm->step[a->next];
    if (step.kind == PP_COMM_STEP_RUN)
        return pp_op_print(p->op[step.index], text, size);
    snprintf(text, size, "%" PRIu32 "%s", step.index, pp_mark_token((pp_mark)step.mark));
    return text;
}

/* The collective that a replica has reached has to be the same one in all that wait for it. */
static pp_status meet(crowd *c, actor *a, pp_err *err)
{
    const pp_comm_step step = c->program[a->replica]->comm->step[a->next];
    for (uint32_t k = 0; k < c->count; k++) {
        actor *other = &c->actor[(size_t)k * c->ranks + a->rank];
        const pp_comm *comm = c->program[k]->comm;
        const bool over = other->next == comm->step_begin[a->rank + 1];
        if (other == a || (!other->waits && !over))
            continue;
        if (!over && comm->step[other->next].index == step.index &&
            comm->step[other->next].mark == step.mark)
            continue;
        char own[48], its[48];
        return pp_err_set(err, PP_INFEASIBLE, NULL,
                          "replicas wait for each other forever: rank %" PRIu32
                          " of replica %" PRIu32 " is at %s, and that of replica %" PRIu32
                          " at %s; give all replicas one order, or leave their parameters whole",
                          a->rank, a->replica, print_next(c, a, own, sizeof own), k,
                          print_next(c, other, its, sizeof its));
    }
    a->waits = true;
    if (++c->waiting[a->rank] < c->count)
        return PP_OK;
    c->waiting[a->rank] = 0;
    for (uint32_t k = 0; k < c->count; k++) {
        actor *other = &c->actor[(size_t)k * c->ranks + a->rank];
        other->waits = false;
        other->next++;
        wake(c, k, a->rank);
    }
    return PP_OK;
}

/* Takes the steps of a rank until one has to wait. */
static pp_status advance(crowd *c, actor *a, pp_err *err)
{
    const pp_program *p = c->program[a->replica];
    bool *ran = c->ran[a->replica];
    while (a->next < p->comm->step_begin[a->rank + 1] && !a->waits) {
        const pp_comm_step step = p->comm->step[a->next];
        if (is_collective(step)) {
            pp_status status = meet(c, a, err);
            if (status)
                return status;
            continue;
        }
        if (step.kind == PP_COMM_STEP_RUN) {
            const uint32_t source = p->source[step.index];
            if (source != PP_NO_SOURCE && !ran[source])
                return PP_OK;
            ran[step.index] = true;
            const uint32_t to = c->consumer[a->replica][step.index];
            if (to != PP_NO_SOURCE)
                wake(c, a->replica, pp_program_rank(p, p->op[to]));
        }
        a->next++;
    }
    return PP_OK;
}

/* Names a rank that waits in a collective, and one of another replica that does not reach it. */
static pp_status name_stuck(const crowd *c, pp_err *err)
{
    for (size_t i = 0; i < (size_t)c->count * c->ranks; i++) {
        const actor *a = &c->actor[i];
        for (uint32_t k = 0; a->waits && k < c->count; k++) {
            const actor *other = &c->actor[(size_t)k * c->ranks + a->rank];
            char own[48], its[48];
            if (!other->waits)
                return pp_err_set(
                    err, PP_INFEASIBLE, NULL,
                    "replicas wait for each other forever: rank %" PRIu32 " of replica %" PRIu32
                    " is at %s, and that of replica %" PRIu32
                    " cannot get there, because its %s needs an op of a rank that waits for "
                    "another replica; give all replicas one order, or leave their parameters whole",
                    a->rank, a->replica, print_next(c, a, own, sizeof own), k,
                    print_next(c, other, its, sizeof its));
        }
    }
    return PP_OK;
}

pp_status pp_replicas_meet(const pp_program *const *program, uint32_t count, pp_err *err)
{
    crowd c PP_CLEANUP(crowd_free) = { 0 };
    pp_status status = crowd_new(program, count, &c, err);
    while (!status && c.queued) {
        actor *a = &c.actor[c.stack[--c.queued]];
        a->queued = false;
        status = advance(&c, a, err);
    }
    return status ? status : name_stuck(&c, err);
}

pp_status pp_replicas_orders_meet(const pp_framework *framework, pp_order *const *order,
                                  uint32_t orders, pp_costs *const *costs, uint32_t costs_count,
                                  pp_err *err)
{
    pp_status status = PP_OK;
    if (orders < 2 || !costs[0]->sharded)
        return PP_OK;
    pp_program **program = pp_alloc_array(orders, sizeof *program);
    if (!program)
        return pp_err_nomem(err);
    for (uint32_t i = 0; i < orders && !status; i++)
        status = pp_framework_lower(framework, order[i], costs[costs_count > 1 ? i : 0], NULL,
                                    &program[i], err);
    if (!status && program[0]->comm)
        status = pp_replicas_meet((const pp_program *const *)program, orders, err);
    for (uint32_t i = 0; i < orders; i++)
        pp_program_free(&program[i]);
    free(program);
    return status;
}
