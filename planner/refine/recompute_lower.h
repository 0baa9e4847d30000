/* How much every stage of every microbatch recomputes on one rank whose order is known: of an
 * amount that fits, what memory does not ask for is given back. Method: docs/planning.md,
 * section 2. */
#ifndef PPSIM_PLANNER_REFINE_RECOMPUTE_LOWER_H
#define PPSIM_PLANNER_REFINE_RECOMPUTE_LOWER_H

#include <stdbool.h>
#include <stdint.h>

/* One amount of recomputation. */
typedef struct pp_recompute_level {
    int64_t ns;          /* of the backward */
    int64_t held_bytes;  /* from the start of the forward to the end of the backward */
    int64_t extra_bytes; /* while the backward runs */
} pp_recompute_level;

/* A stage of a microbatch. */
typedef struct pp_recompute_item {
    const pp_recompute_level *level; /* more and more of it; borrowed */
    uint32_t now;                    /* into level */
    uint32_t forward, backward;      /* the rank's ops */
    uint32_t cell;                   /* the caller's */
} pp_recompute_item;

/* Lowers `now` as far as memory lets it, items first whose recomputation takes longest, and of
 * equal ones the later; sorts them so. spare_bytes: bytes that each op leaves while nothing is
 * held; becomes those that are left. False: the items do not fit, and stay as they are. */
bool pp_recompute_lower(int64_t *spare_bytes, uint32_t ops, pp_recompute_item *item,
                        uint32_t items);

#endif
