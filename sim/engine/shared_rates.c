/* An event simulation of activities whose rates depend on each other, as in SimGrid: between events
 * all rates are constant, and after an event, only the rates that the changed ranks affect through
 * shared links are recomputed. Bandwidth is shared max-min fairly by progressive filling (Bertsekas
 * and Gallager 1992, Data Networks, section 6.5.2). */
#include "sim/engine/shared_rates.h"

#include "sim/base/alloc.h"
#include "sim/base/event_queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

typedef enum state { UNUSED, PENDING, ACTIVE, ENDED } state;

/* Work that is done at a speed, which is 1 if nothing slows it down. */
typedef struct work {
    double left_ns, speed;
    pp_ns start_ns, since_ns, end_ns; /* since: the time to which left_ns belongs */
    state state;
} work;

enum { FROM, TO, ENDS }; /* ends of a transfer */
enum { OUT, IN, WAYS };  /* directions of a NIC */

typedef struct flow_state {
    work work;
    uint32_t rank[ENDS];
    uint32_t next[ENDS], previous[ENDS]; /* active transfers of that rank and end */
    double share;                        /* of its NICs */
    bool both;
    bool marked;
} flow_state;

typedef struct side_state {
    work op;
    uint32_t first[ENDS]; /* active transfers that this rank sends, and receives */
    uint32_t active;      /* both */
    bool dirty;           /* an op or transfer began or ended here since the last settle */
    bool moved;           /* a transfer began or ended here since then */
} side_state;

/* One direction of a NIC. `count` and `free` are used while shares are computed. */
typedef struct link_state {
    uint32_t active; /* number of transfers that use it */
    uint32_t count;  /* number of those without a share */
    double free;     /* the rest of its capacity, which is 1 */
    bool marked;
} link_state;

struct pp_shared_rates {
    pp_sharing sharing;
    uint32_t ranks;
    uint32_t per_nic; /* ranks of one NIC; 0: no NIC is shared */
    pp_ns now_ns;
    side_state *side; /* [ranks] */
    flow_state *flow; /* [transfers] */
    link_state *link; /* [2 * ranks]: direction + 2 * nic */
    uint32_t *links;  /* [2 * ranks]: the marked ones */
    uint32_t *marked; /* [transfers]: the marked ones */
    uint32_t *dirty;  /* [ranks] */
    uint32_t link_count, marked_count, dirty_count;
    pp_event_queue events; /* ranks, then ranks + transfer */
};

pp_status pp_shared_rates_new(const pp_sharing *sharing, uint32_t ranks, uint32_t transfers,
                              pp_shared_rates **rates_out, pp_err *err)
{
    pp_shared_rates *f PP_CLEANUP(pp_shared_rates_free) = pp_alloc_array(1, sizeof *f);
    if (!f)
        return pp_err_nomem(err);
    f->sharing = *sharing;
    f->sharing.compute_slowdown = fmax(1, sharing->compute_slowdown);
    f->sharing.comm_slowdown = fmax(1, sharing->comm_slowdown);
    f->ranks = ranks;
    if (sharing->ranks_per_nic < (int64_t)ranks)
        f->per_nic = (uint32_t)sharing->ranks_per_nic;
    f->side = pp_alloc_array(ranks, sizeof *f->side);
    f->flow = pp_alloc_array(transfers, sizeof *f->flow);
    f->link = pp_alloc_array(2 * (size_t)ranks, sizeof *f->link);
    f->links = pp_alloc_array(2 * (size_t)ranks, sizeof *f->links);
    f->marked = pp_alloc_array(transfers, sizeof *f->marked);
    f->dirty = pp_alloc_array(ranks, sizeof *f->dirty);
    if (!f->side || !f->flow || !f->link || !f->links || !f->marked || !f->dirty)
        return pp_err_nomem(err);
    for (uint32_t r = 0; r < ranks; r++)
        f->side[r].first[FROM] = f->side[r].first[TO] = NONE;
    pp_status status = pp_event_queue_open(ranks + transfers, &f->events, err);
    if (status)
        return status;
    *rates_out = f;
    f = NULL; /* the caller's now */
    return PP_OK;
}

void pp_shared_rates_free(pp_shared_rates **rates)
{
    pp_shared_rates *f = *rates;
    if (!f)
        return;
    free(f->side);
    free(f->flow);
    free(f->link);
    free(f->links);
    free(f->marked);
    free(f->dirty);
    pp_event_queue_close(&f->events);
    free(f);
    *rates = NULL;
}

static void soil(pp_shared_rates *f, uint32_t rank)
{
    if (f->side[rank].dirty)
        return;
    f->side[rank].dirty = true;
    f->dirty[f->dirty_count++] = rank;
}

static void plan_start(pp_shared_rates *f, uint32_t id, work *w, pp_ns start_ns, pp_ns wait_ns,
                       pp_ns duration_ns)
{
    if (start_ns < f->now_ns)
        start_ns = f->now_ns;
    *w = (work){ .left_ns = (double)(duration_ns - wait_ns),
                 .start_ns = start_ns,
                 .since_ns = start_ns + wait_ns,
                 .state = PENDING };
    pp_event_queue_set(&f->events, id, w->since_ns);
}

void pp_shared_rates_compute(pp_shared_rates *rates, uint32_t rank, pp_ns start_ns,
                             pp_ns duration_ns)
{
    plan_start(rates, rank, &rates->side[rank].op, start_ns, 0, duration_ns);
}

void pp_shared_rates_move(pp_shared_rates *rates, uint32_t transfer, uint32_t from, uint32_t to,
                          bool both, pp_ns start_ns, pp_ns duration_ns)
{
    flow_state *flow = &rates->flow[transfer];
    pp_ns latency_ns = rates->sharing.latency_ns;
    if (latency_ns > duration_ns)
        latency_ns = duration_ns;
    flow->rank[FROM] = from;
    flow->rank[TO] = to;
    flow->both = both;
    flow->share = 1;
    plan_start(rates, rates->ranks + transfer, &flow->work, start_ns, latency_ns, duration_ns);
}

pp_ns pp_shared_rates_ended_ns(const pp_shared_rates *rates, uint32_t transfer)
{
    const work *w = &rates->flow[transfer].work;
    return w->state == ENDED ? w->end_ns : -1;
}

/* Changes the speed of some work. What is left of it is exact to far below 1 ns; such an error must
 * not be rounded up to 1 ns. */
static void set_speed(pp_shared_rates *f, uint32_t id, work *w, double speed)
{
    if (w->state != ACTIVE || w->speed == speed)
        return;
    w->left_ns -= w->speed * (double)(f->now_ns - w->since_ns);
    w->since_ns = f->now_ns;
    w->speed = speed;
    double needs_ns = fmax(0, w->left_ns) / speed;
    pp_event_queue_set(&f->events, id, f->now_ns + (pp_ns)ceil(needs_ns * (1 - 1e-15) - 1e-6));
}

static uint32_t nic_of(const pp_shared_rates *f, const flow_state *flow, int end)
{
    return flow->rank[end] / f->per_nic;
}

static bool crosses(const pp_shared_rates *f, const flow_state *flow)
{
    return f->per_nic && nic_of(f, flow, FROM) != nic_of(f, flow, TO);
}

/* Lists the links that a transfer between NICs uses; returns their number. */
static size_t links_of(const pp_shared_rates *f, const flow_state *flow,
                       uint32_t links[ENDS * WAYS])
{
    size_t count = 0;
    for (uint32_t end = 0; end < ENDS; end++) {
        for (uint32_t way = 0; way < WAYS; way++) {
            if (flow->both || end == way) /* FROM uses OUT, TO uses IN */
                links[count++] = way + WAYS * nic_of(f, flow, (int)end);
        }
    }
    return count;
}

/* Begins (change 1) or ends (change -1) the use of a transfer's links. */
static void use_links(pp_shared_rates *f, const flow_state *flow, int change)
{
    uint32_t links[ENDS * WAYS];
    size_t count = crosses(f, flow) ? links_of(f, flow, links) : 0;
    for (size_t k = 0; k < count; k++)
        f->link[links[k]].active += (uint32_t)change;
    f->side[flow->rank[FROM]].moved = f->side[flow->rank[TO]].moved = true;
}

static void insert(pp_shared_rates *f, uint32_t index, int end)
{
    flow_state *flow = &f->flow[index];
    side_state *side = &f->side[flow->rank[end]];
    flow->previous[end] = NONE;
    flow->next[end] = side->first[end];
    if (side->first[end] != NONE)
        f->flow[side->first[end]].previous[end] = index;
    side->first[end] = index;
    side->active++;
    soil(f, flow->rank[end]);
}

static void unlink_flow(pp_shared_rates *f, uint32_t index, int end)
{
    flow_state *flow = &f->flow[index];
    side_state *side = &f->side[flow->rank[end]];
    if (flow->previous[end] == NONE)
        side->first[end] = flow->next[end];
    else
        f->flow[flow->previous[end]].next[end] = flow->next[end];
    if (flow->next[end] != NONE)
        f->flow[flow->next[end]].previous[end] = flow->previous[end];
    side->active--;
    soil(f, flow->rank[end]);
}

static void mark(pp_shared_rates *f, uint32_t index)
{
    uint32_t links[ENDS * WAYS];
    flow_state *flow = &f->flow[index];
    if (flow->marked)
        return;
    flow->marked = true;
    flow->share = 1;
    f->marked[f->marked_count++] = index;
    size_t count = crosses(f, flow) ? links_of(f, flow, links) : 0;
    for (size_t k = 0; k < count; k++) {
        link_state *link = &f->link[links[k]];
        if (link->active < 2) /* its only transfer may use all of it */
            continue;
        flow->share = 0; /* to be set by fill */
        if (!link->marked) {
            link->marked = true;
            link->free = 1;
            link->count = link->active;
            f->links[f->link_count++] = links[k];
        }
    }
}

/* Marks all active transfers that start or end at a NIC. Some may not use the direction that
 * changed; this costs time but does not change results. */
static void mark_nic(pp_shared_rates *f, uint32_t nic)
{
    for (uint32_t r = nic * f->per_nic; r < (nic + 1) * f->per_nic && r < f->ranks; r++) {
        for (int end = 0; end < ENDS; end++) {
            for (uint32_t t = f->side[r].first[end]; t != NONE; t = f->flow[t].next[end])
                mark(f, t);
        }
    }
}

/* Gives this share to the transfers of a link that have none yet. */
static void give(pp_shared_rates *f, uint32_t link, double share)
{
    uint32_t links[ENDS * WAYS];
    uint32_t first = link / WAYS * f->per_nic;
    for (uint32_t r = first; r < first + f->per_nic && r < f->ranks; r++) {
        for (int end = 0; end < ENDS; end++) {
            for (uint32_t t = f->side[r].first[end]; t != NONE; t = f->flow[t].next[end]) {
                flow_state *flow = &f->flow[t];
                bool uses = false;
                size_t count = flow->share > 0 ? 0 : links_of(f, flow, links);
                for (size_t k = 0; k < count; k++)
                    uses = uses || links[k] == link;
                if (!uses)
                    continue;
                flow->share = share;
                for (size_t k = 0; k < count; k++) {
                    f->link[links[k]].free = fmax(0, f->link[links[k]].free - share);
                    f->link[links[k]].count--;
                }
            }
        }
    }
}

/* Progressive filling: the link that offers least to each of its transfers fixes their shares, then
 * the next one does. */
static void fill(pp_shared_rates *f)
{
    for (;;) {
        uint32_t tightest = NONE;
        double least = INFINITY;
        for (uint32_t k = 0; k < f->link_count; k++) {
            const link_state *link = &f->link[f->links[k]];
            double each = link->count ? link->free / link->count : INFINITY;
            if (each < least) {
                least = each;
                tightest = f->links[k];
            }
        }
        if (tightest == NONE)
            return;
        give(f, tightest, least);
    }
}

/* Computes the shares of all transfers that are connected to dirty ranks by links. */
static void share_links(pp_shared_rates *f)
{
    f->marked_count = f->link_count = 0;
    for (uint32_t k = 0; k < f->dirty_count; k++)
        if (f->side[f->dirty[k]].moved)
            mark_nic(f, f->dirty[k] / f->per_nic);
    for (uint32_t k = 0; k < f->link_count; k++)
        mark_nic(f, f->links[k] / WAYS);
    fill(f);
    for (uint32_t k = 0; k < f->link_count; k++)
        f->link[f->links[k]].marked = false;
}

static bool computes(const pp_shared_rates *f, uint32_t rank)
{
    return f->side[rank].op.state == ACTIVE;
}

static void set_flow_speed(pp_shared_rates *f, uint32_t index)
{
    flow_state *flow = &f->flow[index];
    bool slow = computes(f, flow->rank[FROM]) || computes(f, flow->rank[TO]);
    double share = crosses(f, flow) ? flow->share : 1;
    set_speed(f, f->ranks + index, &flow->work, slow ? share / f->sharing.comm_slowdown : share);
}

/* Computes the speeds after all changes at one time. */
static void settle(pp_shared_rates *f)
{
    if (f->per_nic && f->dirty_count) {
        share_links(f);
        for (uint32_t k = 0; k < f->marked_count; k++) {
            f->flow[f->marked[k]].marked = false;
            set_flow_speed(f, f->marked[k]);
        }
    }
    for (uint32_t k = 0; k < f->dirty_count; k++) {
        uint32_t rank = f->dirty[k];
        side_state *side = &f->side[rank];
        side->dirty = side->moved = false;
        set_speed(f, rank, &side->op, side->active ? 1 / f->sharing.compute_slowdown : 1);
        for (int end = 0; end < ENDS; end++) {
            for (uint32_t t = side->first[end]; t != NONE; t = f->flow[t].next[end])
                set_flow_speed(f, t);
        }
    }
    f->dirty_count = 0;
}

/* Ends the latency of a transfer: it moves bytes from now on. */
static void activate(pp_shared_rates *f, uint32_t id, work *w)
{
    w->state = ACTIVE;
    w->speed = 0;
    w->since_ns = f->now_ns;
    if (id < f->ranks) {
        soil(f, id);
        return;
    }
    insert(f, id - f->ranks, FROM);
    insert(f, id - f->ranks, TO);
    use_links(f, &f->flow[id - f->ranks], 1);
}

bool pp_shared_rates_next(pp_shared_rates *rates, pp_shared_rates_end *end_out)
{
    uint32_t id;
    pp_ns when_ns;
    for (;;) {
        settle(rates);
        if (!pp_event_queue_take(&rates->events, &id, &when_ns))
            return false;
        rates->now_ns = when_ns;
        bool transfer = id >= rates->ranks;
        uint32_t index = transfer ? id - rates->ranks : id;
        work *w = transfer ? &rates->flow[index].work : &rates->side[index].op;
        if (w->state == PENDING) {
            activate(rates, id, w);
            continue;
        }
        w->state = ENDED;
        w->end_ns = when_ns;
        *end_out = (pp_shared_rates_end){ transfer, index, w->start_ns, when_ns };
        if (transfer) {
            unlink_flow(rates, index, FROM);
            unlink_flow(rates, index, TO);
            use_links(rates, &rates->flow[index], -1);
        } else {
            soil(rates, index);
        }
        return true;
    }
}
