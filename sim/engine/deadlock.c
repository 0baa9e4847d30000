/* Finds the shortest cycle of transfers that wait for each other, by breadth-first search from the
 * front of every lane along "waits for". It takes O(transfers x edges) at worst, and runs only for
 * programs that hang. */
#include "sim/engine/deadlock.h"

#include "sim/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE PP_NO_SOURCE

void pp_circle_free(pp_circle *circle)
{
    free(circle->member);
    *circle = (pp_circle){ 0 };
}

/* State of a breadth-first search along "waits for". */
typedef struct search {
    const pp_stuck *stuck;
    const pp_comm *comm;
    uint32_t *from;  /* [transfers]: the transfer that waits for it, from which it was reached */
    uint32_t *seen;  /* [transfers]: 1 + the start of the search that reached it last */
    uint32_t *queue; /* [transfers] */
    uint32_t start;
    size_t queued;
    uint32_t last; /* the transfer that waits for start; NONE: not found */
} search;

static void search_free(search *s)
{
    free(s->from);
    free(s->seen);
    free(s->queue);
}

static void visit(search *s, uint32_t from, uint32_t to)
{
    if (to == s->start && s->last == NONE)
        s->last = from;
    if (s->seen[to] == s->start + 1)
        return;
    s->seen[to] = s->start + 1;
    s->from[to] = from;
    s->queue[s->queued++] = to;
}

static void visit_group(search *s, uint32_t from, uint32_t g)
{
    const pp_group *group = &s->comm->group[g];
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        if (!s->stuck->done[t])
            visit(s, from, t);
    }
}

/* What transfer t of an issued group waits for. */
static pp_circle_reason reason_of(const pp_stuck *stuck, uint32_t t)
{
    const pp_transfer *own = &stuck->program->comm->transfer[t];
    if (!stuck->issued[own->group])
        return PP_CIRCLE_OWN_PLACE;
    if (stuck->front[t] != own->group)
        return PP_CIRCLE_BEHIND;
    return stuck->issued[stuck->program->comm->transfer[own->match].group] ? PP_CIRCLE_NEEDS
                                                                           : PP_CIRCLE_NOT_POSTED;
}

/* Returns true if the rank of the other end has finished without posting it. */
static bool never_posted(const pp_stuck *stuck, uint32_t t)
{
    const pp_transfer *transfer = stuck->program->comm->transfer;
    return reason_of(stuck, t) == PP_CIRCLE_NOT_POSTED &&
           stuck->waiting[transfer[transfer[t].match].rank] == NONE;
}

static void visit_reasons(search *s, uint32_t t)
{
    const pp_transfer *own = &s->comm->transfer[t];
    switch (reason_of(s->stuck, t)) {
    case PP_CIRCLE_OWN_PLACE:
        break;
    case PP_CIRCLE_BEHIND:
        visit_group(s, t, s->stuck->front[t]);
        break;
    case PP_CIRCLE_NEEDS:
        visit(s, t, own->match);
        break;
    case PP_CIRCLE_NOT_POSTED:
        if (!never_posted(s->stuck, t))
            visit_group(s, t, s->stuck->waiting[s->comm->transfer[own->match].rank]);
        break;
    }
}

/* Searches for a cycle of at most `limit` members through `start`. Returns the number of its
 * members, or 0 if there is none. */
static size_t find_circle(search *s, uint32_t start, size_t limit)
{
    size_t members = 1;
    s->start = start;
    s->last = NONE;
    s->queue[0] = start;
    s->queued = 1;
    s->seen[start] = start + 1;
    for (size_t head = 0; head < s->queued && s->last == NONE; head++)
        visit_reasons(s, s->queue[head]);
    if (s->last == NONE)
        return 0;
    for (uint32_t t = s->last; t != start && members <= limit; t = s->from[t])
        members++;
    return members <= limit ? members : 0;
}

static void fill(const search *s, size_t count, pp_circle *out)
{
    uint32_t next = s->start;
    uint32_t t = s->last;
    for (size_t i = count; i-- > 0; t = s->from[t]) {
        out->member[i] = (pp_circle_member){ .transfer = t,
                                             .waits_for = next,
                                             .reason = reason_of(s->stuck, t) };
        next = t;
    }
    out->count = count;
}

/* A cycle of one member: a transfer that its own rank awaits before posting it, or that another
 * rank never posts. NONE if there is none. */
static uint32_t dead_end(const pp_stuck *stuck)
{
    const pp_program *program = stuck->program;
    for (uint32_t t = 0; t < program->comm->transfer_count; t++) {
        if (!stuck->done[t] && never_posted(stuck, t))
            return t;
    }
    for (uint32_t r = 0; r < program->ranks; r++) {
        uint32_t g = stuck->waiting[r];
        if (g != NONE && !stuck->issued[g])
            return program->comm->group[g].first;
    }
    return NONE;
}

static void find_shortest(search *s, pp_circle *out)
{
    size_t limit = s->comm->transfer_count;
    out->count = 0;
    for (uint32_t t = 0; t < s->comm->transfer_count && limit; t++) {
        /* every cycle passes through the front of a lane, so that these are enough to begin with */
        if (s->stuck->done[t] || reason_of(s->stuck, t) == PP_CIRCLE_OWN_PLACE ||
            s->stuck->front[t] != s->comm->transfer[t].group)
            continue;
        size_t members = find_circle(s, t, limit);
        if (members) {
            fill(s, members, out);
            limit = members - 1;
        }
    }
}

pp_status pp_circle_find(const pp_stuck *stuck, pp_circle *circle_out, pp_err *err)
{
    const pp_comm *comm = stuck->program->comm;
    pp_circle circle = { .member = pp_alloc_array(comm->transfer_count, sizeof *circle.member) };
    search s PP_CLEANUP(search_free) = {
        .stuck = stuck,
        .comm = comm,
        .from = pp_alloc_array(comm->transfer_count, sizeof *s.from),
        .seen = pp_alloc_array(comm->transfer_count, sizeof *s.seen),
        .queue = pp_alloc_array(comm->transfer_count, sizeof *s.queue),
    };
    if (!circle.member || !s.from || !s.seen || !s.queue) {
        free(circle.member);
        return pp_err_nomem(err);
    }
    uint32_t own = dead_end(stuck);
    if (own != NONE) {
        circle.member[0] = (pp_circle_member){ own, own, reason_of(stuck, own) };
        circle.count = 1;
    } else {
        find_shortest(&s, &circle);
    }
    *circle_out = circle;
    return PP_OK;
}

const char *pp_circle_print(const pp_program *program, const pp_circle_member *member, char *buffer,
                            size_t size)
{
    char a[40];
    char b[40];
    const pp_transfer *transfer = program->comm->transfer;
    const pp_transfer *own = &transfer[member->transfer];
    const pp_transfer *other = member->reason == PP_CIRCLE_NOT_POSTED
                                   ? &transfer[own->match]
                                   : &transfer[member->waits_for];
    pp_transfer_print(own, a, sizeof a);
    pp_transfer_print(other, b, sizeof b);
    switch (member->reason) {
    case PP_CIRCLE_OWN_PLACE:
        snprintf(buffer, size, "rank %" PRIu32 " needs %s earlier than its place in the order",
                 own->rank, a);
        break;
    case PP_CIRCLE_BEHIND:
        snprintf(buffer, size, "rank %" PRIu32 ": %s is behind %s", own->rank, a, b);
        break;
    case PP_CIRCLE_NEEDS:
        snprintf(buffer, size, "rank %" PRIu32 ": %s needs %s of rank %" PRIu32, own->rank, a, b,
                 other->rank);
        break;
    case PP_CIRCLE_NOT_POSTED:
        snprintf(buffer, size,
                 "rank %" PRIu32 ": %s needs %s, which rank %" PRIu32 " has not posted", own->rank,
                 a, b, other->rank);
        break;
    }
    return buffer;
}

pp_status pp_circle_report(const pp_program *program, const pp_circle *circle, pp_err *err)
{
    char text[900] = "";
    size_t used = 0;
    size_t i = 0;
    for (char one[160]; i < circle->count && used + sizeof one < sizeof text; i++) {
        int n = snprintf(text + used, sizeof text - used, "%s%s", used ? "; " : "",
                         pp_circle_print(program, &circle->member[i], one, sizeof one));
        used += n > 0 ? (size_t)n : 0;
    }
    return pp_err_set(err, PP_INFEASIBLE, NULL, "the schedule hangs: %s%s", text,
                      i == circle->count ? "" : "; this is a cycle");
}
