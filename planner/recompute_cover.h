/* How much every stage of every microbatch recomputes on one rank whose order is known, so that its
 * memory suffices and little time goes into it. Method: docs/planning.md, section 2. */
#ifndef PPSIM_PLANNER_RECOMPUTE_COVER_H
#define PPSIM_PLANNER_RECOMPUTE_COVER_H

#include "sim/status.h"

#include <stdint.h>

/* One amount of recomputation. */
typedef struct pp_recompute_level {
    int64_t ns;          /* of the backward */
    int64_t held_bytes;  /* from the start of the forward to the end of the backward */
    int64_t extra_bytes; /* while the backward runs */
} pp_recompute_level;

/* A stage of a microbatch. */
typedef struct pp_cover_item {
    const pp_recompute_level *level; /* [levels], more and more of it: ns does not fall, held_bytes
                                        does not grow; borrowed */
    uint32_t levels;
    uint32_t least;             /* into level: no less than that */
    uint32_t known;             /* of a solution; it may turn out to be none */
    uint32_t chosen;            /* the result */
    uint32_t forward, backward; /* the rank's ops */
} pp_cover_item;

/* Sets `chosen`: the least time found, never more than that of `known` where this fits, and
 * something that fits wherever the highest levels do.
 * room_bytes: [ops], what the items may have together while each op runs. Sums of all bytes and
 * times must fit 62 bits. spare_out: bytes left where there are least; negative: no solution, and
 * `chosen` is not set. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_recompute_cover(const int64_t *room_bytes, uint32_t ops,
                                           pp_cover_item *item, uint32_t items, int64_t *spare_out,
                                           pp_err *err);

#endif
