/* Keeps the costs of units by microbatch, so that tables for pipelines that differ only in their
 * stages need not make them again. */
#ifndef PPSIM_SIM_COST_UNIT_CACHE_H
#define PPSIM_SIM_COST_UNIT_CACHE_H

#include "sim/cost/classes.h"

#include <stddef.h>

/* NULL if there is no memory, which is no failure. Owner frees with pp_unit_cache_free. */
pp_unit_cache *pp_unit_cache_new(void);
void pp_unit_cache_free(pp_unit_cache **cache); /* for PP_CLEANUP; *cache NULL is fine */
/* Forgets everything; to be called before contexts with other units use the cache. */
void pp_unit_cache_clear(pp_unit_cache *cache);
/* The place of what is kept for a batch, of `size` bytes, which is the same in all calls. Its
 * `recomputed` is ignored. known_out: false if the place is new; the caller fills it in. NULL if
 * the cache is full or there is no memory. The place is valid until the next call. O(1). */
void *pp_unit_cache_at(pp_unit_cache *cache, const pp_batch *batch, size_t size, bool *known_out);

#endif
