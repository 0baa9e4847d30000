/* Repairs a hang by trial: it simulates changes on copies of the program, first those at one place
 * in the cycle of transfers that wait for each other, then those of all ranks. The number of trials
 * is bounded, since a large program takes long to simulate. */
#include "sim/analysis/repair.h"

#include "sim/base/alloc.h"
#include "sim/engine/engine.h"

#include <stdlib.h>
#include <string.h>

#define TRIES_MAX 200u
#define STEPS_MAX 50000000u /* steps of all trials; each takes about 100 ns */

const char *pp_repair_key(pp_repair_kind kind)
{
    static const char *const keys[] = {
#define PP_REPAIR_KEY(name, key) #key,
        PP_REPAIR_MAP(PP_REPAIR_KEY)
#undef PP_REPAIR_KEY
    };
    return keys[kind];
}

void pp_repaired_free(pp_repaired *repaired)
{
    free(repaired->comm.step);
    free(repaired->comm.group);
    free(repaired->comm.transfer);
    free(repaired->comm.needs);
    *repaired = (pp_repaired){ 0 };
}

/* A post together with its wait, if that follows immediately: steps [begin, end). */
typedef struct unit {
    size_t begin, end;
} unit;

static bool is_post(const pp_comm *comm, size_t s, size_t end)
{
    return s < end && comm->step[s].kind == PP_COMM_STEP_POST;
}

static unit unit_at(const pp_comm *comm, size_t post, size_t rank_end)
{
    unit u = { post, post + 1 };
    if (u.end < rank_end && comm->step[u.end].kind == PP_COMM_STEP_WAIT &&
        comm->step[u.end].index == comm->step[post].index)
        u.end++;
    return u;
}

/* The step that posts group g. */
static size_t post_of(const pp_comm *comm, uint32_t g)
{
    size_t s = comm->step_begin[comm->group[g].rank];
    while (comm->step[s].kind != PP_COMM_STEP_POST || comm->step[s].index != g)
        s++;
    return s;
}

static void *copy_of(const void *from, size_t count, size_t size)
{
    void *copy = pp_alloc_array(count, size);
    if (copy && count)
        memcpy(copy, from, count * size);
    return copy;
}

/* Exchanges the unit whose post is at `post` with the next one. */
static void swap_units(const pp_comm *from, size_t post, pp_comm_step *step)
{
    size_t end = from->step_begin[from->group[from->step[post].index].rank + 1];
    const unit a = unit_at(from, post, end);
    const unit b = unit_at(from, a.end, end);
    memcpy(step + a.begin, from->step + b.begin, (b.end - b.begin) * sizeof *step);
    memcpy(step + a.begin + (b.end - b.begin), from->step + a.begin,
           (a.end - a.begin) * sizeof *step);
}

static bool sends(const pp_comm *comm, size_t post)
{
    const pp_group *group = &comm->group[comm->step[post].index];
    return pp_transfer_sends((pp_transfer_kind)comm->transfer[group->first].kind);
}

/* Exchanges neighbouring sends and receives on every odd rank, pair by pair. */
static void swap_on_odd_ranks(const pp_comm *from, uint32_t ranks, pp_comm_step *step)
{
    for (uint32_t r = 1; r < ranks; r += 2) {
        size_t end = from->step_begin[r + 1];
        for (size_t s = from->step_begin[r]; s < end; s++) {
            if (!is_post(from, s, end))
                continue;
            const unit own = unit_at(from, s, end);
            if (!is_post(from, own.end, end) || sends(from, s) == sends(from, own.end))
                continue;
            swap_units(from, s, step);
            s = unit_at(from, own.end, end).end - 1;
        }
    }
}

/* Moves the members of group b to the end of group a; b becomes empty, and its waits remain.
 * moved: [transfers], the new index of each. */
static void move_members(const pp_comm *from, uint32_t a, uint32_t b, pp_comm *to, uint32_t *moved)
{
    uint32_t next = 0;
    for (uint32_t g = 0; g < from->group_count; g++) {
        const uint32_t parts[] = { g, b };
        to->group[g].first = next;
        for (size_t k = 0; k < (g == a ? 2u : g != b); k++) {
            const pp_group *part = &from->group[parts[k]];
            for (uint32_t t = part->first; t < part->first + part->count; t++) {
                moved[t] = next;
                to->transfer[next] = from->transfer[t];
                to->transfer[next++].group = g;
            }
        }
        to->group[g].count = next - to->group[g].first;
    }
}

/* Removes the post of group b and turns its waits into waits for a. The following steps move up,
 * and the step that is left over at the rank's end becomes another wait for a, which is done by
 * then. */
static void join_steps(const pp_comm *from, uint32_t a, uint32_t b, pp_comm_step *step)
{
    size_t post = post_of(from, b);
    size_t end = from->step_begin[from->group[b].rank + 1];
    for (size_t s = post; s + 1 < end; s++)
        step[s] = from->step[s + 1];
    step[end - 1] = (pp_comm_step){ .index = a, .kind = PP_COMM_STEP_WAIT };
    for (size_t s = post; s < end; s++) {
        if (step[s].kind == PP_COMM_STEP_WAIT && step[s].index == b)
            step[s].index = a;
    }
}

static pp_status join_groups(const pp_program *program, const pp_repair *repair, pp_comm *to,
                             pp_err *err)
{
    const pp_comm *from = program->comm;
    uint32_t a = from->transfer[repair->first].group;
    uint32_t b = from->transfer[repair->second].group;
    uint32_t *moved = pp_alloc_array(from->transfer_count, sizeof *moved);
    if (!moved)
        return pp_err_nomem(err);
    move_members(from, a, b, to, moved);
    join_steps(from, a, b, to->step);
    for (size_t i = 0; i < program->count; i++) {
        if (from->needs[i] != PP_NO_SOURCE)
            to->needs[i] = moved[from->needs[i]];
    }
    free(moved);
    return PP_OK;
}

pp_status pp_repair_apply(const pp_program *program, const pp_repair *repair, bool partial,
                          pp_repaired *out, pp_err *err)
{
    const pp_comm *from = program->comm;
    *out = (pp_repaired){ .program = *program, .comm = *from };
    pp_comm *to = &out->comm;
    to->step = copy_of(from->step, from->step_count, sizeof *to->step);
    to->group = copy_of(from->group, from->group_count, sizeof *to->group);
    to->transfer = copy_of(from->transfer, from->transfer_count, sizeof *to->transfer);
    to->needs = copy_of(from->needs, program->count, sizeof *to->needs);
    if (!to->step || !to->group || !to->transfer || !to->needs) {
        pp_repaired_free(out);
        return pp_err_nomem(err);
    }
    pp_status status = PP_OK;
    if (repair->kind == PP_REPAIR_SWAP)
        swap_units(from, post_of(from, from->transfer[repair->first].group), to->step);
    else if (repair->kind == PP_REPAIR_GROUP)
        status = join_groups(program, repair, to, err);
    else if (repair->kind == PP_REPAIR_LANES)
        to->semantics.lanes = repair->lanes;
    else if (repair->kind == PP_REPAIR_PARITY)
        swap_on_odd_ranks(from, program->ranks, to->step);
    if (!status)
        status = pp_comm_match(to, partial, err);
    out->program.comm = to;
    if (status)
        pp_repaired_free(out);
    return status;
}

typedef struct repairing {
    const pp_program *program;
    const pp_costs *costs;
    bool partial;
    const pp_circle *circle;
    pp_repair *out;
} repairing;

static pp_status simulate(const pp_program *program, const pp_costs *costs, pp_timeline **timeline,
                          pp_err *err)
{
    pp_status status = pp_timeline_new_comm(program, timeline, err);
    return status ? status : pp_simulate_into(program, costs, *timeline, err);
}

/* Simulates a change. *found is set if the change is a repair. */
static pp_status attempt(repairing *p, pp_repair change, bool *found, pp_err *err)
{
    pp_repaired copy PP_CLEANUP(pp_repaired_free) = { 0 };
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_err why_not = pp_err_like(err);
    change.tried = ++p->out->tried;
    pp_status status = pp_repair_apply(p->program, &change, p->partial, &copy, &why_not);
    if (!status) {
        status = simulate(&copy.program, p->costs, &timeline, &why_not);
    }
    if (!status)
        *p->out = change;
    *found = !status;
    return status && status != PP_INFEASIBLE
               ? pp_err_set(err, status, why_not.where, "%s", why_not.text)
               : PP_OK;
}

/* Returns true if the limits allow another trial. */
static bool may_try(repairing *p)
{
    const pp_comm *comm = p->program->comm;
    size_t each = comm->step_count + comm->transfer_count + p->program->count;
    p->out->gave_up = p->out->tried >= TRIES_MAX || (p->out->tried + 1) * each > STEPS_MAX;
    return !p->out->gave_up;
}

/* Returns true if a member of the cycle before the i-th is in the same group. */
static bool seen_before(const repairing *p, size_t i)
{
    const pp_transfer *transfer = p->program->comm->transfer;
    for (size_t k = 0; k < i; k++) {
        if (transfer[p->circle->member[k].transfer].group ==
            transfer[p->circle->member[i].transfer].group)
            return true;
    }
    return false;
}

/* The exchange of the i-th member's unit with the next one (side 0) or the previous one (side 1).
 */
static bool neighbours(const repairing *p, size_t i, int side, pp_repair *change)
{
    const pp_comm *comm = p->program->comm;
    uint32_t g = comm->transfer[p->circle->member[i].transfer].group;
    uint32_t rank = comm->group[g].rank;
    size_t begin = comm->step_begin[rank];
    size_t end = comm->step_begin[rank + 1];
    unit own = unit_at(comm, post_of(comm, g), end);
    size_t other = own.end;
    if (side) {
        other = own.begin;
        if (other > begin && comm->step[other - 1].kind == PP_COMM_STEP_WAIT)
            other--;
        if (other == begin || unit_at(comm, other - 1, end).end != own.begin)
            return false;
        other--;
    }
    if (!is_post(comm, other, end))
        return false;
    uint32_t a = comm->step[side ? other : own.begin].index;
    uint32_t b = comm->step[side ? own.begin : other].index;
    change->rank = rank;
    change->first = comm->group[a].first;
    change->second = comm->group[b].first;
    return true;
}

static pp_status try_neighbours(repairing *p, pp_repair_kind kind, bool *found, pp_err *err)
{
    for (size_t i = 0; i < p->circle->count; i++) {
        for (int side = 0; side < 2 && !seen_before(p, i); side++) {
            pp_repair change = { .kind = kind };
            if (!neighbours(p, i, side, &change))
                continue;
            if (!may_try(p))
                return PP_OK;
            pp_status status = attempt(p, change, found, err);
            if (status || *found)
                return status;
        }
    }
    return PP_OK;
}

static bool only_receives(const pp_comm *comm, const pp_group *group)
{
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        if (pp_transfer_sends((pp_transfer_kind)comm->transfer[t].kind))
            return false;
    }
    return true;
}

/* Groups two members of the cycle on one rank that are not neighbours: a receive is posted earlier,
 * together with the other one. */
static pp_status try_earlier_receives(repairing *p, bool *found, pp_err *err)
{
    const pp_comm *comm = p->program->comm;
    for (size_t i = 0; i < p->circle->count; i++) {
        for (size_t k = 0; k < p->circle->count; k++) {
            uint32_t first = p->circle->member[i].transfer;
            uint32_t second = p->circle->member[k].transfer;
            uint32_t a = comm->transfer[first].group;
            uint32_t b = comm->transfer[second].group;
            if (comm->group[a].rank != comm->group[b].rank || a == b ||
                !only_receives(comm, &comm->group[b]) || post_of(comm, a) >= post_of(comm, b))
                continue;
            if (!may_try(p))
                return PP_OK;
            const pp_repair change = { .kind = PP_REPAIR_GROUP,
                                       .rank = comm->group[a].rank,
                                       .first = first,
                                       .second = second };
            pp_status status = attempt(p, change, found, err);
            if (status || *found)
                return status;
        }
    }
    return PP_OK;
}

static pp_status try_lanes(repairing *p, bool *found, pp_err *err)
{
    pp_status status = PP_OK;
    for (int lanes = (int)p->program->comm->semantics.lanes + 1;
         lanes <= PP_LANES_PER_PEER && !status && !*found; lanes++) {
        const pp_repair change = { .kind = PP_REPAIR_LANES, .lanes = (pp_lanes)lanes };
        status = attempt(p, change, found, err);
    }
    return status;
}

pp_status pp_repair_find(const pp_program *program, const pp_costs *costs, bool partial,
                         pp_repair *repair_out, pp_err *err)
{
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_err hang = pp_err_like(err);
    pp_repair repair = { 0 };
    bool found = false;
    pp_status status = simulate(program, costs, &timeline, &hang);
    if (status && status != PP_INFEASIBLE)
        return pp_err_set(err, status, hang.where, "%s", hang.text);
    repairing p = { program, costs, partial, NULL, &repair };
    if (status) { /* it hangs */
        p.circle = &timeline->comm->circle;
        status = try_neighbours(&p, PP_REPAIR_SWAP, &found, err);
        if (!status && !found)
            status = try_neighbours(&p, PP_REPAIR_GROUP, &found, err);
        if (!status && !found)
            status = try_earlier_receives(&p, &found, err);
        if (!status && !found)
            status = try_lanes(&p, &found, err);
        if (!status && !found)
            status = attempt(&p, (pp_repair){ .kind = PP_REPAIR_PARITY }, &found, err);
    }
    if (!status)
        *repair_out = repair;
    return status;
}
