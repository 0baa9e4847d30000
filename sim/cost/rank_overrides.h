/* What is said of single pipeline ranks: that one computes faster or slower than the hardware says,
 * has another memory limit, or another link to a neighbour. */
#ifndef PPSIM_SIM_COST_RANK_OVERRIDES_H
#define PPSIM_SIM_COST_RANK_OVERRIDES_H

#include "sim/cost/costs.h"

#define PP_TRAIT_SPEED_MIN 0.001
#define PP_TRAIT_SPEED_MAX 1000.0

typedef enum pp_trait_kind {
    PP_TRAIT_SPEED,  /* 3=0.8: its ops take 1/0.8 of the time */
    PP_TRAIT_MEMORY, /* 3=40GiB: its memory limit */
    PP_TRAIT_LINK,   /* 2:3=25GB/s: of every tensor between these ranks, either way */
} pp_trait_kind;

typedef struct pp_trait {
    pp_trait_kind kind;
    uint32_t rank, other; /* other: of a link, > rank */
    double value;         /* speed, or bytes/s */
    int64_t bytes;
} pp_trait;

/* Owner frees with pp_traits_free. */
typedef struct pp_traits {
    pp_trait *item;
    size_t count, capacity;
} pp_traits;

/* Adds a list "RANK=VALUE,..." to `traits`. option: for messages. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_traits_parse(pp_trait_kind kind, const char *option, const char *text,
                                        pp_traits *traits, pp_err *err);
/* One more, unless the same was said already. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_traits_add(const pp_trait *trait, pp_traits *traits, pp_err *err);
void pp_traits_free(pp_traits *traits);

/* Fails: USAGE where one of them is about a rank beyond the last of `ranks`. */
PP_MUST_CHECK pp_status pp_traits_check(const pp_traits *traits, uint32_t ranks, pp_err *err);

/* traits: NULL is fine in these. 1, 0 and 0 where nothing is said. */
double pp_traits_speed(const pp_traits *traits, uint32_t rank);
int64_t pp_traits_memory_bytes(const pp_traits *traits, uint32_t rank);
double pp_traits_link_bytes_per_s(const pp_traits *traits, uint32_t rank, uint32_t other);

/* Is the link the one between these ranks? */
bool pp_trait_joins(const pp_trait *link, uint32_t rank, uint32_t other);

/* Changes costs that were made without: durations by speed, transfers of a link to bytes / rate +
 * latency_ns, limits. stage_rank: [stages]. Fails: USAGE (no such rank; a link whose transfers have
 * no bytes), INPUT (a duration overflows); costs may have changed then. */
PP_MUST_CHECK pp_status pp_traits_apply(const pp_traits *traits, const uint32_t *stage_rank,
                                        pp_ns latency_ns, pp_costs *costs, pp_err *err);

#endif
