/* Follows the gathers and reductions of each rank from one op of the rank to the next. A lane
 * counts work in ns of full speed: what it was given in all, and what of that is left. In t ns it
 * does t while the rank waits, and t / gather_factor while it computes. Compute that takes c alone
 * beside w of work takes c * compute_factor if the work outlasts that, and c + g (1 - 1 /
 * compute_factor) if it ends before, after g = w * gather_factor. So each op is one closed form,
 * whatever is queued, and the end of each queued gather is found when the lane passes it: O(1) per
 * op and per gather. */
#include "sim/engine/sharding_lane.h"

#include "sim/base/alloc.h"
#include "sim/base/minmax.h"

#include <math.h>
#include <stdlib.h>

typedef struct lane {
    pp_ns at_ns;         /* the clock of the rank up to which the lane has been followed */
    pp_ns total_ns;      /* work that was ever queued */
    pp_ns left_ns;       /* the part of it that is not done */
    size_t first, count; /* of the spans that have not ended: the first one, and how many */
    size_t last;
} lane;

typedef struct queued {
    pp_ns mark_ns; /* total_ns after this one */
    size_t next;   /* the span after it on this lane */
} queued;

struct pp_sharding_lanes {
    double compute_factor, gather_factor;
    pp_comm_timeline *timeline;
    lane *lane; /* [ranks] */
    uint32_t ranks;
    queued *queued; /* [spans] */
    size_t capacity;
};

void pp_sharding_lanes_free(pp_sharding_lanes **lanes)
{
    if (!*lanes)
        return;
    free((*lanes)->lane);
    free((*lanes)->queued);
    free(*lanes);
    *lanes = NULL;
}

pp_status pp_sharding_lanes_new(uint32_t ranks, double compute_factor, double gather_factor,
                                pp_comm_timeline *timeline, pp_sharding_lanes **lanes_out,
                                pp_err *err)
{
    pp_sharding_lanes *lanes = pp_alloc_array(1, sizeof *lanes);
    if (!lanes)
        return pp_err_nomem(err);
    *lanes = (pp_sharding_lanes){ .compute_factor = fmax(1, compute_factor),
                                  .gather_factor = fmax(1, gather_factor),
                                  .timeline = timeline,
                                  .lane = pp_alloc_array(ranks, sizeof *lanes->lane),
                                  .ranks = ranks };
    if (!lanes->lane) {
        pp_sharding_lanes_free(&lanes);
        return pp_err_nomem(err);
    }
    *lanes_out = lanes;
    return PP_OK;
}

/* Follows a lane for takes_ns, in which it does done_ns of work at 1 / factor of its speed. */
static void pass(pp_sharding_lanes *lanes, lane *l, pp_ns takes_ns, pp_ns done_ns, double factor)
{
    const pp_ns before_ns = l->total_ns - l->left_ns;
    l->left_ns -= done_ns;
    while (l->count && lanes->queued[l->first].mark_ns <= l->total_ns - l->left_ns) {
        const queued *ended = &lanes->queued[l->first];
        const double after_ns = (double)(ended->mark_ns - before_ns) * factor;
        const pp_ns end_ns = l->at_ns + pp_min((pp_ns)llround(after_ns), takes_ns);
        lanes->timeline->sharding[l->first].end_ns = end_ns;
        l->first = ended->next;
        if (--l->count)
            lanes->timeline->sharding[l->first].start_ns = end_ns;
    }
    l->at_ns += takes_ns;
}

/* The rank has waited until now_ns. */
static lane *wait_until(pp_sharding_lanes *lanes, uint32_t rank, pp_ns now_ns)
{
    lane *l = &lanes->lane[rank];
    if (now_ns > l->at_ns)
        pass(lanes, l, now_ns - l->at_ns, pp_min(l->left_ns, now_ns - l->at_ns), 1);
    return l;
}

pp_status pp_sharding_lanes_add(pp_sharding_lanes *lanes, pp_ns now_ns,
                                const pp_sharding_span *span, pp_ns takes_ns, pp_ns *end_out,
                                pp_err *err)
{
    pp_comm_timeline *out = lanes->timeline;
    lane *l = wait_until(lanes, span->rank, now_ns);
    void *spans = out->sharding, *order = lanes->queued;
    *end_out = l->total_ns;
    if (takes_ns <= 0)
        return PP_OK;
    pp_status status = pp_grow(&spans, &out->sharding_capacity, out->sharding_count + 1,
                               sizeof *out->sharding, err);
    out->sharding = spans;
    if (status || (status = pp_grow(&order, &lanes->capacity, out->sharding_count + 1,
                                    sizeof *lanes->queued, err)))
        return status;
    lanes->queued = order;
    const size_t at = out->sharding_count++;
    out->sharding[at] = *span;
    out->sharding[at].start_ns = now_ns; /* unless it has to wait for another one */
    *end_out = l->total_ns += takes_ns;
    l->left_ns += takes_ns;
    lanes->queued[at].mark_ns = l->total_ns;
    if (l->count++)
        lanes->queued[l->last].next = at;
    else
        l->first = at;
    l->last = at;
    return PP_OK;
}

pp_ns pp_sharding_lanes_left(pp_sharding_lanes *lanes, uint32_t rank, pp_ns now_ns, pp_ns mark)
{
    const lane *l = wait_until(lanes, rank, now_ns);
    return pp_max(0, mark - (l->total_ns - l->left_ns));
}

pp_ns pp_sharding_lanes_compute(pp_sharding_lanes *lanes, uint32_t rank, pp_ns now_ns,
                                pp_ns takes_ns)
{
    lane *l = wait_until(lanes, rank, now_ns);
    const double factor = lanes->gather_factor;
    const double slowed_ns = (double)takes_ns * lanes->compute_factor;
    const double gathers_ns = (double)l->left_ns * factor;
    if (slowed_ns <= gathers_ns) {
        const pp_ns all_ns = (pp_ns)llround(slowed_ns);
        pass(lanes, l, all_ns, pp_min(l->left_ns, (pp_ns)llround((double)all_ns / factor)), factor);
        return all_ns;
    }
    const pp_ns all_ns = takes_ns + (pp_ns)llround(gathers_ns * (1 - 1 / lanes->compute_factor));
    pass(lanes, l, all_ns, l->left_ns, factor);
    return all_ns;
}

void pp_sharding_lanes_finish(pp_sharding_lanes *lanes)
{
    for (uint32_t rank = 0; rank < lanes->ranks; rank++)
        wait_until(lanes, rank, lanes->lane[rank].at_ns + lanes->lane[rank].left_ns);
}
