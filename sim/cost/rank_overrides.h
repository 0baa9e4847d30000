/* Properties of single pipeline ranks that differ from the others': speed of compute, memory limit,
 * or the rate of a link. */
#ifndef PPSIM_SIM_COST_RANK_OVERRIDES_H
#define PPSIM_SIM_COST_RANK_OVERRIDES_H

#include "sim/cost/costs.h"

#define PP_RANK_OVERRIDE_SPEED_MIN 0.001
#define PP_RANK_OVERRIDE_SPEED_MAX 1000.0

typedef enum pp_rank_override_kind {
    PP_RANK_OVERRIDE_SPEED,  /* 3=0.8: the ops of rank 3 take 1/0.8 of the time */
    PP_RANK_OVERRIDE_MEMORY, /* 3=40GiB: the memory limit of rank 3 */
    PP_RANK_OVERRIDE_LINK,   /* 2:3=25GB/s: the rate between ranks 2 and 3, in both directions */
} pp_rank_override_kind;

typedef struct pp_rank_override {
    pp_rank_override_kind kind;
    uint32_t rank, other; /* other: the second rank of a link, > rank */
    double value;         /* speed, or bytes/s of a link */
    int64_t bytes;        /* memory limit */
} pp_rank_override;

/* Owner frees with pp_rank_overrides_free. */
typedef struct pp_rank_overrides {
    pp_rank_override *item;
    size_t count, capacity;
} pp_rank_overrides;

/* Parses "RANK=VALUE,..." and adds its items to `overrides`. option: what messages call the list.
 * Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_rank_overrides_parse(pp_rank_override_kind kind, const char *option,
                                                const char *text, pp_rank_overrides *overrides,
                                                pp_err *err);
/* Adds an override unless an equal one is there. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_rank_overrides_add(const pp_rank_override *override,
                                              pp_rank_overrides *overrides, pp_err *err);
void pp_rank_overrides_free(pp_rank_overrides *overrides);

/* Fails: USAGE when an override names a rank >= `ranks`. */
PP_MUST_CHECK pp_status pp_rank_overrides_check(const pp_rank_overrides *overrides, uint32_t ranks,
                                                pp_err *err);

/* The speed or memory limit of a rank, and the rate of a link; 1, 0 and 0 if there is no override.
 * overrides: may be NULL. */
double pp_rank_overrides_speed(const pp_rank_overrides *overrides, uint32_t rank);
int64_t pp_rank_overrides_memory_bytes(const pp_rank_overrides *overrides, uint32_t rank);
double pp_rank_overrides_link_bytes_per_s(const pp_rank_overrides *overrides, uint32_t rank,
                                          uint32_t other);

/* Returns true if `link` is the link between these ranks, in either order. */
bool pp_rank_override_joins(const pp_rank_override *link, uint32_t rank, uint32_t other);

/* Applies overrides to costs that were made without them: divides durations by speed, sets
 * transfers of a link to bytes / rate + latency_ns, and sets limits. stage_rank: [stages]. Fails:
 * USAGE (no such rank, or the sizes of a link's transfers are not known), INPUT (a duration
 * overflows); costs may have changed then. */
PP_MUST_CHECK pp_status pp_rank_overrides_apply(const pp_rank_overrides *overrides,
                                                const uint32_t *stage_rank, pp_ns latency_ns,
                                                pp_costs *costs, pp_err *err);

#endif
