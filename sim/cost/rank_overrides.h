/* What is said of single pipeline ranks: that one computes faster or slower than the hardware says,
 * has another memory limit, or another link to a neighbour. */
#ifndef PPSIM_SIM_COST_RANK_OVERRIDES_H
#define PPSIM_SIM_COST_RANK_OVERRIDES_H

#include "sim/cost/costs.h"

#define PP_RANK_OVERRIDE_SPEED_MIN 0.001
#define PP_RANK_OVERRIDE_SPEED_MAX 1000.0

typedef enum pp_rank_override_kind {
    PP_RANK_OVERRIDE_SPEED,  /* 3=0.8: its ops take 1/0.8 of the time */
    PP_RANK_OVERRIDE_MEMORY, /* 3=40GiB: its memory limit */
    PP_RANK_OVERRIDE_LINK,   /* 2:3=25GB/s: of every tensor between these ranks, either way */
} pp_rank_override_kind;

typedef struct pp_rank_override {
    pp_rank_override_kind kind;
    uint32_t rank, other; /* other: of a link, > rank */
    double value;         /* speed, or bytes/s */
    int64_t bytes;
} pp_rank_override;

/* Owner frees with pp_rank_overrides_free. */
typedef struct pp_rank_overrides {
    pp_rank_override *item;
    size_t count, capacity;
} pp_rank_overrides;

/* Adds a list "RANK=VALUE,..." to `overrides`. option: for messages. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_rank_overrides_parse(pp_rank_override_kind kind, const char *option,
                                                const char *text, pp_rank_overrides *overrides,
                                                pp_err *err);
/* One more, unless the same was said already. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_rank_overrides_add(const pp_rank_override *override,
                                              pp_rank_overrides *overrides, pp_err *err);
void pp_rank_overrides_free(pp_rank_overrides *overrides);

/* Fails: USAGE where one of them is about a rank beyond the last of `ranks`. */
PP_MUST_CHECK pp_status pp_rank_overrides_check(const pp_rank_overrides *overrides, uint32_t ranks,
                                                pp_err *err);

/* overrides: NULL is fine in these. 1, 0 and 0 where nothing is said. */
double pp_rank_overrides_speed(const pp_rank_overrides *overrides, uint32_t rank);
int64_t pp_rank_overrides_memory_bytes(const pp_rank_overrides *overrides, uint32_t rank);
double pp_rank_overrides_link_bytes_per_s(const pp_rank_overrides *overrides, uint32_t rank,
                                          uint32_t other);

/* Is the link the one between these ranks? */
bool pp_rank_override_joins(const pp_rank_override *link, uint32_t rank, uint32_t other);

/* Changes costs that were made without: durations by speed, transfers of a link to bytes / rate +
 * latency_ns, limits. stage_rank: [stages]. Fails: USAGE (no such rank; a link whose transfers have
 * no bytes), INPUT (a duration overflows); costs may have changed then. */
PP_MUST_CHECK pp_status pp_rank_overrides_apply(const pp_rank_overrides *overrides,
                                                const uint32_t *stage_rank, pp_ns latency_ns,
                                                pp_costs *costs, pp_err *err);

#endif
