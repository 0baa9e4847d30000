/* A binary heap of 32-bit ids (Williams 1964), ordered by a function of the user. Pushing and
 * popping take O(log count). The functions are inline, so that a constant `before` is inlined too.
 */
#ifndef PPSIM_SIM_BASE_HEAP_H
#define PPSIM_SIM_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true when id `a` leaves the heap before id `b`. It should break ties, so that the order
 * in which ids leave is defined. */
typedef bool pp_heap_before(const void *context, uint32_t a, uint32_t b);

typedef struct pp_heap {
    uint32_t *id;        /* owned by the user; the first `count` are in the heap, id[0] is next */
    uint32_t count;      /* number of ids in the heap */
    uint32_t *place;     /* [ids], owned by the user: the index of an id in `id`; NULL: not kept */
    const void *context; /* passed to `before` */
} pp_heap;

static inline void pp_heap_put(pp_heap *heap, uint32_t at, uint32_t id)
{
    heap->id[at] = id;
    if (heap->place)
        heap->place[id] = at;
}

/* Moves `id` from index `at` towards the top until no parent comes after it. */
static inline void pp_heap_rise(pp_heap *heap, pp_heap_before *before, uint32_t at, uint32_t id)
{
    for (; at > 0 && before(heap->context, id, heap->id[(at - 1) / 2]); at = (at - 1) / 2)
        pp_heap_put(heap, at, heap->id[(at - 1) / 2]);
    pp_heap_put(heap, at, id);
}

/* Moves `id` from index `at` away from the top until no child comes before it. */
static inline void pp_heap_sink(pp_heap *heap, pp_heap_before *before, uint32_t at, uint32_t id)
{
    for (uint32_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && before(heap->context, heap->id[child + 1], heap->id[child]))
            child++;
        if (!before(heap->context, heap->id[child], id))
            break;
        pp_heap_put(heap, at, heap->id[child]);
    }
    pp_heap_put(heap, at, id);
}

static inline void pp_heap_push(pp_heap *heap, pp_heap_before *before, uint32_t id)
{
    pp_heap_rise(heap, before, heap->count++, id);
}

/* Removes and returns the first id. The heap must not be empty. The id's entry of `place` is not
 * changed. */
static inline uint32_t pp_heap_pop(pp_heap *heap, pp_heap_before *before)
{
    const uint32_t first = heap->id[0];
    const uint32_t last = heap->id[--heap->count];
    if (heap->count)
        pp_heap_sink(heap, before, 0, last);
    return first;
}

#endif
