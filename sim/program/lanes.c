/* Divides the groups of every rank into entries of lanes and links the entries of a lane in the
 * order in which the rank posts them. Linear in the transfers, except that the few members of a
 * group are compared pairwise. */
#include "sim/program/lanes.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define LEFT_MAX INT32_MAX /* what `left` holds; there are fewer transfers */

void pp_comm_lanes_free(pp_comm_lanes *lanes)
{
    free(lanes->entry);
    free(lanes->by_entry);
    free(lanes->entry_of);
    free(lanes->group);
}

/* The index of a transfer's lane among those of its rank, < 2 * ranks. */
static uint32_t lane_of(const pp_comm *comm, uint32_t ranks, const pp_transfer *t)
{
    uint32_t sends = pp_transfer_sends((pp_transfer_kind)t->kind);
    switch (comm->semantics.lanes) {
    case PP_LANES_SINGLE:
        return 0;
    case PP_LANES_PER_DIRECTION:
        return sends;
    case PP_LANES_PER_EDGE:
        return t->peer;
    case PP_LANES_PER_PEER:
        break;
    }
    return t->peer + sends * ranks;
}

/* Adds an entry for the transfers of a group from `first` on that have the lane. */
static void add_entry(const pp_comm *comm, uint32_t ranks, uint32_t g, uint32_t first,
                      uint32_t lane, pp_comm_lanes *l)
{
    const uint32_t end = comm->group[g].first + comm->group[g].count;
    pp_comm_entry *e = &l->entry[l->entry_count];
    uint32_t sorted = e->first;
    *e = (pp_comm_entry){
        .group = g, .lane = lane, .first = sorted, .previous = PP_NO_SOURCE, .next = PP_NO_SOURCE
    };
    for (uint32_t t = first; t < end; t++) {
        if (t > first && lane_of(comm, ranks, &comm->transfer[t]) != lane)
            continue;
        l->entry_of[t] = (uint32_t)l->entry_count;
        l->by_entry[sorted++] = t;
    }
    e->left = (sorted - e->first) & LEFT_MAX;
    l->entry[++l->entry_count].first = sorted;
}

/* Divides group g into entries. Lanes are searched linearly, since its transfers are few. */
static void make_entries(const pp_comm *comm, uint32_t ranks, uint32_t g, pp_comm_lanes *l)
{
    const pp_group *group = &comm->group[g];
    const uint32_t entries = (uint32_t)l->entry_count;
    const uint32_t done = l->entry[entries].first + group->count;
    for (uint32_t t = group->first; l->entry[l->entry_count].first < done; t++) {
        uint32_t lane = lane_of(comm, ranks, &comm->transfer[t]);
        bool seen = false;
        for (uint32_t u = group->first; u < t && !seen; u++)
            seen = lane_of(comm, ranks, &comm->transfer[u]) == lane;
        if (seen)
            continue;
        add_entry(comm, ranks, g, t, lane, l);
    }
    const uint32_t made = (uint32_t)l->entry_count - entries;
    l->group[g] = (pp_comm_group){ .first = entries, .left = made & LEFT_MAX };
    l->group[g + 1].first = (uint32_t)l->entry_count;
}

/* The last entry of a lane so far, and the rank whose lane it is. */
typedef struct latest {
    uint32_t entry, rank;
} latest;

/* Links the lanes of a rank in the order of its posts. last: [2 * ranks], reused for all ranks. */
static void chain_rank(const pp_comm *comm, uint32_t rank, pp_comm_lanes *l, latest *last)
{
    for (size_t s = comm->step_begin[rank]; s < comm->step_begin[rank + 1]; s++) {
        if (comm->step[s].kind != PP_COMM_STEP_POST)
            continue;
        const pp_comm_group *group = &l->group[comm->step[s].index];
        for (uint32_t e = group->first; e < group[1].first; e++) {
            latest *before = &last[l->entry[e].lane];
            if (before->rank == rank) {
                l->entry[e].previous = before->entry;
                l->entry[e].ready_ns = PP_NOT_FREE;
                l->entry[before->entry].next = e;
            }
            *before = (latest){ .entry = e, .rank = rank };
        }
    }
}

static pp_status chain_lanes(const pp_comm *comm, uint32_t ranks, pp_comm_lanes *l, pp_err *err)
{
    latest *last = pp_alloc_array(2 * (size_t)ranks, sizeof *last);
    if (!last)
        return pp_err_nomem(err);
    memset(last, 0xff, 2 * (size_t)ranks * sizeof *last); /* no rank */
    for (uint32_t rank = 0; rank < ranks; rank++)
        chain_rank(comm, rank, l, last);
    free(last);
    return PP_OK;
}

pp_status pp_comm_lanes_new(const pp_comm *comm, uint32_t ranks, pp_comm_lanes *l, pp_err *err)
{
    const size_t transfers = comm->transfer_count;
    l->entry = pp_alloc_large(transfers + 1, sizeof *l->entry);
    l->by_entry = pp_alloc_large(transfers, sizeof *l->by_entry);
    l->entry_of = pp_alloc_large(transfers, sizeof *l->entry_of);
    l->group = pp_alloc_large(comm->group_count + 1, sizeof *l->group);
    if (!l->entry || !l->by_entry || !l->entry_of || !l->group)
        return pp_err_nomem(err);
    l->entry[0].first = 0;
    for (uint32_t g = 0; g < comm->group_count; g++)
        make_entries(comm, ranks, g, l);
    return chain_lanes(comm, ranks, l, err);
}
