/* Assigns the transfers of a program to lanes, for sim/engine/comm_engine.c. */
#ifndef PPSIM_SIM_PROGRAM_LANES_H
#define PPSIM_SIM_PROGRAM_LANES_H

#include "sim/base/units.h"
#include "sim/program/comm.h"

#define PP_NOT_FREE ((pp_ns)-1) /* no time is negative */

/* The part of a group that uses one lane. It starts when the previous group of the lane is done in
 * all of its lanes, since a group ends as a unit (NCCL, p2p.rst). */
typedef struct pp_comm_entry {
    uint32_t group, lane;    /* lane: index among those of its rank, < 2 * ranks */
    uint32_t first;          /* its transfers in pp_comm_lanes.by_entry, up to the next entry's */
    uint32_t previous, next; /* entries of the lane; PP_NO_SOURCE at its ends */
    uint32_t left : 31;      /* transfers that are not done */
    uint32_t active : 1;
    pp_ns ready_ns; /* when it may start; before it is active: the end of those before it in its
                       lane, or PP_NOT_FREE while one of them is not done */
} pp_comm_entry;

typedef struct pp_comm_group {
    uint32_t first;     /* its entries, up to the next group's */
    uint32_t left : 31; /* entries that are not done */
    uint32_t issued : 1;
    pp_ns end_ns;
} pp_comm_group;

/* Owner frees with pp_comm_lanes_free. */
typedef struct pp_comm_lanes {
    pp_comm_entry *entry; /* [entry_count + 1]: the last one ends the transfers of the one before */
    size_t entry_count;
    uint32_t *by_entry;   /* [transfers]: all transfers, sorted by entry */
    uint32_t *entry_of;   /* [transfers]: the entry of each */
    pp_comm_group *group; /* [groups + 1]: the last one ends the entries of the one before */
} pp_comm_lanes;

/* Makes the entries of comm->semantics.lanes. The entries of a lane are linked in the order in
 * which its rank posts them.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_comm_lanes_new(const pp_comm *comm, uint32_t ranks, pp_comm_lanes *lanes,
                                          pp_err *err);
void pp_comm_lanes_free(pp_comm_lanes *lanes);

#endif
