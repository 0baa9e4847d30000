/* How much every stage of every microbatch recomputes on one rank whose order is known. From an
 * amount that fits, it removes what the memory does not require. Method:
 * docs/explanation/planning-recomputation.md. */
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
    const pp_recompute_level *level; /* levels of increasing recomputation; borrowed */
    uint32_t now;                    /* into level */
    uint32_t forward, backward;      /* the rank's ops */
    uint32_t cell;                   /* the caller's */
} pp_recompute_item;

/* Lowers `now` as far as memory allows, and sorts the items in the order in which they are lowered:
 * those whose recomputation takes longest first, and of equal ones the later first. spare_bytes: on
 * entry, the bytes that each op leaves while nothing is held; on return, those that are left.
 * Returns false if the items do not fit; they are then unchanged. */
bool pp_recompute_lower(int64_t *spare_bytes, uint32_t ops, pp_recompute_item *item,
                        uint32_t items);

#endif
