/* A hash table with linear probing of places in one array, which grows up to PLACES_MOST. */
#include "sim/cost/unit_cache.h"

#include <stdlib.h>
#include <string.h>

#define PLACES_MOST (1u << 15)
#define SLOTS (4 * PLACES_MOST) /* a power of 2 */

struct pp_unit_cache {
    uint32_t *slot;  /* [SLOTS]: place + 1; 0: empty */
    pp_batch *batch; /* [capacity] */
    char *place;     /* [capacity] of the size that the caller gives */
    uint32_t count, capacity;
};

pp_unit_cache *pp_unit_cache_new(void)
{
    pp_unit_cache *cache = calloc(1, sizeof *cache);
    if (!cache || !(cache->slot = calloc(SLOTS, sizeof *cache->slot))) {
        free(cache);
        return NULL;
    }
    return cache;
}

void pp_unit_cache_free(pp_unit_cache **cache)
{
    if (!*cache)
        return;
    free((*cache)->slot);
    free((*cache)->batch);
    free((*cache)->place);
    free(*cache);
    *cache = NULL;
}

void pp_unit_cache_clear(pp_unit_cache *cache)
{
    if (cache->count)
        memset(cache->slot, 0, SLOTS * sizeof *cache->slot);
    cache->count = 0;
}

static uint64_t mix(uint64_t hash, const void *part)
{
    uint64_t bits;
    memcpy(&bits, part, sizeof bits);
    hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint32_t first_slot(const pp_batch *b)
{
    const uint64_t sizes = mix(mix(mix(1, &b->tokens), &b->square_sum), &b->longest);
    const uint64_t hash = mix(mix(sizes, &b->tiles), &b->imbalance);
    return (uint32_t)(hash >> 32) % SLOTS;
}

static bool same_batch(const pp_batch *a, const pp_batch *b)
{
    return a->tokens == b->tokens && a->square_sum == b->square_sum && a->longest == b->longest &&
           a->tiles == b->tiles && a->imbalance == b->imbalance;
}

static bool grow(pp_unit_cache *cache, size_t size)
{
    const uint32_t capacity = cache->capacity ? 2 * cache->capacity : 64;
    void *batch = realloc(cache->batch, capacity * sizeof *cache->batch);
    if (batch)
        cache->batch = batch;
    void *place = realloc(cache->place, capacity * size);
    if (place)
        cache->place = place;
    if (!batch || !place)
        return false;
    cache->capacity = capacity;
    return true;
}

void *pp_unit_cache_at(pp_unit_cache *cache, const pp_batch *batch, size_t size, bool *known_out)
{
    uint32_t at = first_slot(batch);
    for (; cache->slot[at]; at = (at + 1) % SLOTS) {
        const uint32_t i = cache->slot[at] - 1;
        if (!same_batch(&cache->batch[i], batch))
            continue;
        *known_out = true;
        return cache->place + i * size;
    }
    *known_out = false;
    if (cache->count == PLACES_MOST || (cache->count == cache->capacity && !grow(cache, size)))
        return NULL;
    cache->batch[cache->count] = *batch;
    cache->slot[at] = cache->count + 1;
    return cache->place + cache->count++ * size;
}
