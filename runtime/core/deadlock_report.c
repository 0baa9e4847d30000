/* Explains why a run makes no progress. Each rank waits for at most one other (the peer of the
 * transfer it awaits, as long as that has not posted its end, or the rank that computes on its
 * GPU), so that the wait-for graph is a function: Floyd's cycle detection finds a cycle in O(ranks)
 * steps. Without a cycle the chain ends at the rank that all others wait for, and the report
 * describes what that one does.
 *
 * In a transport that queues its groups (NCCL), a transfer that both ends have posted waits for the
 * groups before it in the queues of both ends, each of which waits for its own transfers. A search
 * over groups finds the first transfer whose other end is not posted; the rank waits for that one.
 */
#include "runtime/core/deadlock_report.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/program/comm.h"
#include "sim/program/lanes.h"

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
    bool *posted;        /* [groups] */
    pp_comm_lanes lanes; /* empty unless groups wait in queues */
    uint32_t *queue;     /* [groups], those of a search that have been met */
    uint32_t *seen;      /* [groups]: the number of the search that met the group last */
    uint32_t search;     /* number of searches so far */
} scene;

static bool known(const scene *s, uint32_t rank)
{
    return !s->known || s->known[rank];
}

static void scene_free(scene *s)
{
    free(s->posted);
    free(s->queue);
    free(s->seen);
    pp_comm_lanes_free(&s->lanes);
}

static pp_status prepare(scene *s, bool queues, pp_err *err)
{
    const pp_comm *comm = s->program->comm;
    s->posted = pp_alloc_array(comm->group_count, sizeof *s->posted);
    s->queue = pp_alloc_array(comm->group_count, sizeof *s->queue);
    s->seen = pp_alloc_array(comm->group_count, sizeof *s->seen);
    if (!s->posted || !s->queue || !s->seen)
        return pp_err_nomem(err);
    for (uint32_t r = 0; r < s->program->ranks; r++) {
        const pp_comm_step *step = &comm->step[comm->step_begin[r]];
        for (uint32_t k = 0; known(s, r) && k < s->now[r].steps_taken; k++) {
            if (step[k].kind == PP_COMM_STEP_POST)
                s->posted[step[k].index] = true;
        }
    }
    return queues ? pp_comm_lanes_new(comm, s->program->ranks, &s->lanes, err) : PP_OK;
}

/* Returns whether the rank of transfer t has posted it. */
static bool posted(const scene *s, uint32_t t)
{
    return s->posted[s->program->comm->transfer[t].group];
}

/* Adds the group of an entry of a lane to the search, once. */
static void search_before(scene *s, uint32_t entry, size_t *count)
{
    uint32_t before = s->lanes.entry[entry].previous;
    if (before == PP_NO_SOURCE || s->seen[s->lanes.entry[before].group] == s->search)
        return;
    s->seen[s->lanes.entry[before].group] = s->search;
    s->queue[(*count)++] = s->lanes.entry[before].group;
}

/* Returns the nearest transfer whose other end is not posted, and that keeps transfer t from being
 * done: it is in the group of t, or in one before it in the queues of either end. NONE: there is
 * none. */
static uint32_t held_up_by(scene *s, uint32_t t)
{
    const pp_comm *comm = s->program->comm;
    size_t count = 1;
    size_t next = 0;
    s->search++;
    s->queue[0] = comm->transfer[t].group;
    s->seen[s->queue[0]] = s->search;
    while (next < count) {
        const pp_group *group = &comm->group[s->queue[next++]];
        for (uint32_t u = group->first; u < group->first + group->count; u++) {
            uint32_t other = comm->transfer[u].match;
            if (other != PP_NO_SOURCE && !posted(s, other))
                return u;
            search_before(s, s->lanes.entry_of[u], &count);
            if (other != PP_NO_SOURCE)
                search_before(s, s->lanes.entry_of[other], &count);
        }
    }
    return NONE;
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

/* Returns the transfer that holds up the one for which a rank waits: that one itself if its other
 * end is not posted, or one in front of it; NONE: it is only under way, or nobody knows. */
static uint32_t holds_up(scene *s, uint32_t rank)
{
    uint32_t t = s->now[rank].what;
    uint32_t other = s->program->comm->transfer[t].match;
    if (other == PP_NO_SOURCE)
        return NONE;
    if (!posted(s, other))
        return t;
    return s->lanes.entry ? held_up_by(s, t) : NONE;
}

/* Returns the rank that `rank` waits for, or NONE. */
static uint32_t waits_for(scene *s, uint32_t rank)
{
    if (known(s, rank) && s->now[rank].doing == PP_DOING_TURN)
        return longest(s, PP_DOING_COMPUTING);
    if (!known(s, rank) || s->now[rank].doing != PP_DOING_WAITING)
        return NONE;
    uint32_t t = holds_up(s, rank);
    return t == NONE ? NONE : s->program->comm->transfer[t].peer;
}

/* Describes what a rank does: "rank 1 has been waiting for 2RECV_F5 from rank 0 for 10.00 s". */
static void describe(scene *s, uint32_t rank, char *buffer, size_t size)
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
        uint32_t ahead = holds_up(s, rank);
        if (ahead != NONE && ahead != m->what) {
            size_t used = strlen(buffer);
            const pp_transfer *u = &s->program->comm->transfer[ahead];
            snprintf(buffer + used, size - used, ", queued behind %s of rank %" PRIu32,
                     pp_transfer_print(u, token, sizeof token), u->rank);
        }
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
static uint32_t who_waits_for(scene *s, uint32_t rank)
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
static uint32_t lowest(scene *s, uint32_t rank)
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
static uint32_t follow(scene *s, uint32_t rank, uint32_t *last_out)
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
                             const bool *known_ranks, const bool *matched, bool queues,
                             pp_ns now_ns, pp_err *err)
{
    scene s PP_CLEANUP(scene_free) = {
        .program = program, .now = now, .known = known_ranks, .matched = matched, .now_ns = now_ns
    };
    char text[720] = "";
    char line[160];
    pp_status status = prepare(&s, queues, err);
    if (status)
        return status;
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
