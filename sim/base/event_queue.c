/* A binary heap of ids by time that stores the place of every id, so that the time of an id can be
 * changed in O(log n). */
#include "sim/base/event_queue.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX

pp_status pp_event_queue_open(uint32_t ids, pp_event_queue *events_out, pp_err *err)
{
    pp_event_queue made = { .when_ns = pp_alloc_array(ids, sizeof *made.when_ns),
                            .heap = { .id = pp_alloc_array(ids, sizeof *made.heap.id),
                                      .place = pp_alloc_array(ids, sizeof *made.heap.place) } };
    if (!made.when_ns || !made.heap.id || !made.heap.place) {
        pp_event_queue_close(&made);
        return pp_err_nomem(err);
    }
    memset(made.heap.place, 0xff, ids * sizeof *made.heap.place);
    made.heap.context = made.when_ns;
    *events_out = made;
    return PP_OK;
}

void pp_event_queue_close(pp_event_queue *events)
{
    free(events->when_ns);
    free(events->heap.id);
    free(events->heap.place);
    *events = (pp_event_queue){ 0 };
}

static bool before(const void *context, uint32_t a, uint32_t b)
{
    const pp_ns *when_ns = context;
    return when_ns[a] != when_ns[b] ? when_ns[a] < when_ns[b] : a < b;
}

void pp_event_queue_set(pp_event_queue *events, uint32_t id, pp_ns when_ns)
{
    pp_heap *heap = &events->heap;
    bool known = heap->place[id] != NOWHERE;
    bool later = known && when_ns > events->when_ns[id];
    events->when_ns[id] = when_ns;
    if (!known)
        pp_heap_push(heap, before, id);
    else if (later)
        pp_heap_sink(heap, before, heap->place[id], id);
    else
        pp_heap_rise(heap, before, heap->place[id], id);
}

bool pp_event_queue_take(pp_event_queue *events, uint32_t *id_out, pp_ns *when_ns_out)
{
    if (!events->heap.count)
        return false;
    *id_out = pp_heap_pop(&events->heap, before);
    *when_ns_out = events->when_ns[*id_out];
    events->heap.place[*id_out] = NOWHERE;
    return true;
}
