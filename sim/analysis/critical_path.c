/* Follows the critical path backwards from the end of the step to its start. A place is the clock
 * of a device or host after a step, or the end of a transfer; the event that set it leads to the
 * next place. Each place is visited once; finding the post of a transfer is linear in the steps of
 * its rank. */
#include "sim/analysis/critical_path.h"

#include "sim/program/comm.h"

#define NONE SIZE_MAX

typedef enum lane { DEVICE, HOST, TRANSFER, START } lane;

/* The place to explain next: the clock of a device or host after a step, or a transfer's end. */
typedef struct place {
    lane lane;
    size_t at; /* the step, or the transfer */
} place;

typedef struct path {
    const pp_program *program;
    const pp_comm *comm;
    const pp_timeline *timeline;
    const pp_ns *host_ns, *device_ns, *start_ns, *end_ns;
    pp_critical *found;
} path;

static uint32_t rank_of(const path *p, size_t step)
{
    uint32_t low = 0;
    uint32_t high = p->program->ranks;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (p->comm->step_begin[middle] <= step)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static size_t begin_of(const path *p, size_t step)
{
    return p->comm->step_begin[rank_of(p, step)];
}

static pp_ns clock_before(const path *p, const pp_ns *clock_ns, size_t step)
{
    return step == begin_of(p, step) ? 0 : clock_ns[step - 1];
}

static place before(const path *p, lane lane_at, size_t step)
{
    if (step == begin_of(p, step))
        return (place){ START, 0 };
    return (place){ lane_at, step - 1 };
}

/* The transfer of group g that ends at `at_ns`, or NONE. */
static size_t ends_in(const path *p, uint32_t g, pp_ns at_ns)
{
    const pp_group *group = &p->comm->group[g];
    for (size_t t = group->first; t < (size_t)group->first + group->count; t++) {
        if (p->end_ns[t] == at_ns)
            return t;
    }
    return NONE;
}

/* The last transfer posted at or before `step` by its rank that ends at `at_ns`, or NONE. */
static size_t ended(const path *p, size_t step, pp_ns at_ns)
{
    size_t begin = begin_of(p, step);
    for (size_t s = step + 1; s-- > begin;) {
        size_t t = p->comm->step[s].kind == PP_COMM_STEP_POST
                       ? ends_in(p, p->comm->step[s].index, at_ns)
                       : NONE;
        if (t != NONE)
            return t;
    }
    return NONE;
}

/* The step that set the device's clock to its value after `step`. */
static size_t set_by(const path *p, size_t step)
{
    size_t begin = begin_of(p, step);
    while (step > begin && p->device_ns[step - 1] == p->device_ns[step] &&
           p->comm->step[step].kind != PP_COMM_STEP_RUN)
        step--;
    return step;
}

static place of_transfer_or(const path *p, size_t step, pp_ns at_ns, place otherwise)
{
    size_t t = ended(p, step, at_ns);
    return t == NONE ? otherwise : (place){ TRANSFER, t };
}

static place explain_device(const path *p, size_t step)
{
    if (p->device_ns[step] == 0)
        return (place){ START, 0 };
    step = set_by(p, step);
    pp_comm_step now = p->comm->step[step];
    if (now.kind != PP_COMM_STEP_RUN) /* a wait, or a sync for a transfer without one */
        return of_transfer_or(p, step, p->device_ns[step], before(p, HOST, step));
    pp_ns at_ns = p->timeline->start_ns[now.index];
    if (at_ns == 0)
        return (place){ START, 0 };
    if (clock_before(p, p->device_ns, step) == at_ns)
        return before(p, DEVICE, step);
    return of_transfer_or(p, step, at_ns, (place){ HOST, step });
}

static place explain_host(const path *p, size_t step)
{
    pp_comm_step now = p->comm->step[step];
    bool reads = now.kind == PP_COMM_STEP_READ;
    bool syncs = now.kind == PP_COMM_STEP_SYNC;
    p->found->reads += reads;
    p->found->syncs += syncs;
    bool looks = syncs || (reads && now.index != PP_NO_SOURCE);
    if (looks && p->device_ns[step] >= clock_before(p, p->host_ns, step))
        return (place){ DEVICE, step };
    return before(p, HOST, step);
}

/* The step that posted transfer t. */
static size_t post_of(const path *p, size_t t)
{
    const pp_transfer *own = &p->comm->transfer[t];
    size_t step = p->comm->step_begin[own->rank];
    while (p->comm->step[step].kind != PP_COMM_STEP_POST || p->comm->step[step].index != own->group)
        step++;
    return step;
}

/* A transfer starts when the later of its ends is ready: when the device reached its post, when the
 * previous transfer of its lane ended, or when the host issued it. */
static place explain_transfer(const path *p, size_t t)
{
    pp_ns at_ns = p->start_ns[t];
    uint32_t other = p->comm->transfer[t].match;
    bool shape = pp_transfer_is_shape((pp_transfer_kind)p->comm->transfer[t].kind);
    p->found->messages += shape;
    p->found->tensors += !shape;
    if (at_ns == 0)
        return (place){ START, 0 };
    size_t posts[2] = { post_of(p, t), other == PP_NO_SOURCE ? NONE : post_of(p, other) };
    for (size_t i = 0; i < 2 && posts[i] != NONE; i++) {
        if (p->device_ns[posts[i]] == at_ns)
            return (place){ DEVICE, posts[i] };
    }
    for (size_t i = 0; i < 2 && posts[i] != NONE; i++) {
        size_t ahead = posts[i] == begin_of(p, posts[i]) ? NONE : ended(p, posts[i] - 1, at_ns);
        if (ahead != NONE)
            return (place){ TRANSFER, ahead };
    }
    for (size_t i = 0; i < 2 && posts[i] != NONE; i++) {
        if (p->host_ns[posts[i]] == at_ns)
            return (place){ HOST, posts[i] };
    }
    return (place){ START, 0 };
}

/* The step of the op that ends last. */
static size_t last_op(const path *p)
{
    pp_ns makespan_ns = pp_timeline_makespan(p->timeline);
    for (size_t s = 0; s < p->comm->step_count; s++) {
        if (p->comm->step[s].kind == PP_COMM_STEP_RUN &&
            p->timeline->end_ns[p->comm->step[s].index] == makespan_ns)
            return s;
    }
    return NONE;
}

void pp_critical_path(const pp_program *program, const pp_timeline *timeline,
                      pp_critical *critical_out)
{
    *critical_out = (pp_critical){ 0 };
    if (!program->comm || !timeline->comm || !timeline->comm->host_ns)
        return;
    const path p = { .program = program,
                     .comm = program->comm,
                     .timeline = timeline,
                     .host_ns = timeline->comm->host_ns,
                     .device_ns = timeline->comm->device_ns,
                     .start_ns = timeline->comm->start_ns,
                     .end_ns = timeline->comm->end_ns,
                     .found = critical_out };
    place now = { DEVICE, last_op(&p) };
    if (now.at == NONE)
        return;
    /* Bounds the number of places: transfers that take no time could lead the path back to a place
     * that it has visited. */
    size_t left = 2 * (program->comm->step_count + program->comm->transfer_count);
    while (now.lane != START && left-- > 0) {
        if (now.lane == DEVICE)
            now = explain_device(&p, now.at);
        else if (now.lane == HOST)
            now = explain_host(&p, now.at);
        else
            now = explain_transfer(&p, now.at);
    }
}
