/* Lanes of ranks: which transfers keep their order. For sim/engine/comm_engine.c. */
#ifndef PPSIM_SIM_PROGRAM_LANES_H
#define PPSIM_SIM_PROGRAM_LANES_H

#include "sim/base/units.h"
#include "sim/program/comm.h"

/* The part of a group that goes through one lane. It starts when the group before it in the lane is
 * done, in all its lanes: a group ends as a unit (NCCL, p2p.rst). */
typedef struct pp_comm_entry {
    uint32_t group, lane;    /* the lane among those of its rank: less than 2 * ranks */
    uint32_t first, count;   /* into by_entry */
    uint32_t previous, next; /* in the lane, PP_NO_SOURCE at its ends */
    uint32_t left;           /* transfers not done */
    bool active;
    pp_ns ready_ns, end_ns;
} pp_comm_entry;

typedef struct pp_comm_group {
    uint32_t first, count; /* entries */
    uint32_t left;         /* entries not done */
    bool issued;
    pp_ns issued_ns, end_ns;
} pp_comm_group;

/* Owner frees with pp_comm_lanes_free. */
typedef struct pp_comm_lanes {
    pp_comm_entry *entry; /* [transfers at most] */
    size_t entry_count;
    uint32_t *by_entry; /* [transfers], sorted by entry */
    uint32_t *entry_of; /* [transfers] */
    pp_comm_group *group;
} pp_comm_lanes;

/* By comm->semantics.lanes; each lane in the order in which its rank posts. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_comm_lanes_new(const pp_comm *comm, uint32_t ranks, pp_comm_lanes *lanes,
                                          pp_err *err);
void pp_comm_lanes_free(pp_comm_lanes *lanes);

#endif
