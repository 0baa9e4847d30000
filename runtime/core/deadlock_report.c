/* Explains why a run makes no progress. Each rank waits for at most one other (the peer of the
 * transfer it awaits, as long as that has not posted its end, or the rank that computes on its
 * GPU), so that the wait-for graph is a function: Floyd's cycle detection finds a cycle in O(ranks)
 * steps and constant memory. Without a cycle the chain ends at the rank that all others wait for,
 * and the report describes what that one does. */
#include "runtime/core/deadlock_report.h"

#include "sim/base/field.h"
#include "sim/program/comm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

typedef struct scene {
    const pp_program *program;
    const pp_moment *now; /* [ranks] */
    const bool *known;    /* [ranks] or NULL */
    const bool *matched;  /* [transfers] or NULL */
    pp_ns now_ns;
} scene;

static bool known(const scene *s, uint32_t rank)
{
    return !s->known || s->known[rank];
}

/* Returns whether the rank of transfer t has posted it. */
static bool posted(const scene *s, uint32_t t)
{
    const pp_comm *comm = s->program->comm;
    uint32_t rank = comm->transfer[t].rank;
    size_t begin = comm->step_begin[rank];
    for (size_t k = begin; k < begin + s->now[rank].steps_taken; k++) {
        if (comm->step[k].kind == PP_COMM_STEP_POST &&
            comm->step[k].index == comm->transfer[t].group)
            return true;
    }
    return false;
}

/* Returns the rank that has been doing this for the longest time, or NONE. */
static uint32_t longest(const scene *s, pp_doing doing)
{
    uint32_t found = NONE;
    for (uint32_t r = 0; r < s->program->ranks; r++) {
        bool candidate = known(s, r) && s->now[r].doing == doing;
        if (candidate && (found == NONE || s->now[r].since_ns < s->now[found].since_ns))
            found = r;
    }
    return found;
}

/* Returns the rank that `rank` waits for, or NONE. */
static uint32_t waits_for(const scene *s, uint32_t rank)
{
    if (known(s, rank) && s->now[rank].doing == PP_DOING_TURN)
        return longest(s, PP_DOING_COMPUTING);
    if (!known(s, rank) || s->now[rank].doing != PP_DOING_WAITING)
        return NONE;
    uint32_t other = s->program->comm->transfer[s->now[rank].what].match;
    if (other == PP_NO_SOURCE)
        return NONE;
    uint32_t peer = s->program->comm->transfer[other].rank;
    return known(s, peer) && posted(s, other) ? NONE : peer;
}

/* Describes what a rank does: "rank 1 has been waiting for 2RECV_F5 from rank 0 for 10.00 s". */
static void describe(const scene *s, uint32_t rank, char *buffer, size_t size)
{
    char token[40];
    char since[32];
    const pp_moment *m = &s->now[rank];
    pp_format_duration(since, sizeof since, s->now_ns > m->since_ns ? s->now_ns - m->since_ns : 0);
    if (!known(s, rank)) {
        snprintf(buffer, size, "rank %" PRIu32 " does not answer", rank);
        return;
    }
    switch (m->doing) {
    case PP_DOING_COMPUTING:
        snprintf(buffer, size, "rank %" PRIu32 " has been computing %s for %s", rank,
                 pp_op_print(s->program->op[m->what], token, sizeof token), since);
        return;
    case PP_DOING_TURN:
        snprintf(buffer, size, "rank %" PRIu32 " has been waiting for its turn on the GPU for %s",
                 rank, since);
        return;
    case PP_DOING_WAITING: {
        const pp_transfer *t = &s->program->comm->transfer[m->what];
        bool sends = pp_transfer_sends((pp_transfer_kind)t->kind);
        snprintf(buffer, size,
                 "rank %" PRIu32 " has been waiting for %s %s rank %" PRIu32 " for %s", rank,
                 pp_transfer_print(t, token, sizeof token), sends ? "to" : "from", t->peer, since);
        return;
    }
    case PP_DOING_DEAD:
        snprintf(buffer, size, "rank %" PRIu32 " died before %s", rank,
                 pp_op_print(s->program->op[m->what], token, sizeof token));
        return;
    case PP_DOING_FINISHED:
        snprintf(buffer, size, "rank %" PRIu32 " has finished its program", rank);
        return;
    case PP_DOING_FAILED:
        snprintf(buffer, size, "rank %" PRIu32 " has failed", rank);
        return;
    case PP_DOING_STARTING:
    case PP_DOING_POSTING:
    case PP_DOING_MEETING:
        break;
    }
    snprintf(buffer, size, "rank %" PRIu32 " has been %s for %s", rank,
             m->doing != PP_DOING_MEETING   ? "posting a message"
             : m->what == PP_MEETS_REPLICAS ? "waiting for the same rank of other replicas"
                                            : "waiting for all other ranks",
             since);
}

/* Returns why the last rank of a chain makes no progress. */
static const char *reason(const scene *s, uint32_t rank)
{
    if (!known(s, rank))
        return "its process hangs or has ended";
    switch (s->now[rank].doing) {
    case PP_DOING_COMPUTING:
        return "it is slow, or its op does not end";
    case PP_DOING_TURN:
        return "no rank computes";
    case PP_DOING_WAITING:
        if (!s->matched)
            return "the message was sent and has not arrived: it is in transit or lost";
        return s->matched[s->now[rank].what]
                   ? "the message is in transit"
                   : "the message was sent and did not arrive: it is lost";
    case PP_DOING_FINISHED:
        return "its program does not contain that message";
    case PP_DOING_MEETING:
        if (s->now[rank].what == PP_MEETS_REPLICAS)
            return "another replica does not get there";
        break;
    case PP_DOING_STARTING:
    case PP_DOING_POSTING:
    case PP_DOING_DEAD:
    case PP_DOING_FAILED:
        break;
    }
    return "all other ranks wait for it";
}

static void append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? "; " : "", more);
}

/* Returns the rank at which the search begins: one that waits for its turn on a GPU, since that
 * chain ends at the rank that computes; otherwise one that waits for a message. */
static uint32_t first_waiting(const scene *s)
{
    uint32_t first = longest(s, PP_DOING_TURN);
    return first != NONE ? first : longest(s, PP_DOING_WAITING);
}

/* Returns a rank that waits for `rank`, or NONE. */
static uint32_t who_waits_for(const scene *s, uint32_t rank)
{
    for (uint32_t r = 0; r < s->program->ranks; r++) {
        if (waits_for(s, r) == rank)
            return r;
    }
    return NONE;
}

/* Returns a rank that died or whose process does not answer, or NONE. */
static uint32_t gone(const scene *s)
{
    for (uint32_t r = 0; r < s->program->ranks; r++) {
        if (!known(s, r) || s->now[r].doing == PP_DOING_DEAD)
            return r;
    }
    return NONE;
}

/* Returns the lowest rank of the cycle that `rank` is on. */
static uint32_t lowest(const scene *s, uint32_t rank)
{
    uint32_t low = rank;
    for (uint32_t r = waits_for(s, rank); r != rank; r = waits_for(s, r)) {
        if (r < low)
            low = r;
    }
    return low;
}

/* Follows the chain of waits from `rank`. Returns the lowest rank of the cycle that it runs into,
 * so that the report is the same whichever rank waited first; or NONE, with the end of the chain in
 * *last_out. */
static uint32_t follow(const scene *s, uint32_t rank, uint32_t *last_out)
{
    uint32_t slow = rank;
    uint32_t fast = rank;
    for (;;) {
        for (int k = 0; k < 2; k++) {
            uint32_t next = waits_for(s, fast);
            if (next == NONE) {
                *last_out = fast;
                return NONE;
            }
            fast = next;
        }
        slow = waits_for(s, slow);
        if (slow == fast)
            return lowest(s, fast);
    }
}

static uint32_t any_behind(const scene *s)
{
    for (uint32_t r = 0; r < s->program->ranks; r++) {
        if (s->now[r].doing != PP_DOING_MEETING && s->now[r].doing != PP_DOING_FINISHED)
            return r;
    }
    return 0;
}

pp_status pp_deadlock_report(const pp_program *program, const pp_moment *now,
                             const bool *known_ranks, const bool *matched, pp_ns now_ns,
                             pp_err *err)
{
    const scene s = { program, now, known_ranks, matched, now_ns };
    char text[720] = "";
    char line[160];
    uint32_t dead = gone(&s);
    uint32_t first = dead == NONE ? first_waiting(&s) : who_waits_for(&s, dead);
    uint32_t last = first != NONE ? first : dead != NONE ? dead : any_behind(&s);
    uint32_t circle = first == NONE ? NONE : follow(&s, first, &last);
    if (circle != NONE) {
        uint32_t r = circle;
        do {
            describe(&s, r, line, sizeof line);
            append(text, sizeof text, line);
            r = waits_for(&s, r);
        } while (r != circle);
        return pp_err_set(err, PP_INFEASIBLE, NULL,
                          "the run hangs, because ranks wait for each other in a cycle: %s; %s "
                          "looks for a repair",
                          text, pp_err_name(err, PP_FIELD_ASK_CHECK));
    }
    int shown = 0;
    for (uint32_t r = first; r != NONE && r != last && shown < 4; r = waits_for(&s, r), shown++) {
        describe(&s, r, line, sizeof line);
        append(text, sizeof text, line);
    }
    describe(&s, last, line, sizeof line);
    append(text, sizeof text, line);
    return pp_err_set(err, PP_INFEASIBLE, NULL, "the run makes no progress: %s: %s", text,
                      reason(&s, last));
}
