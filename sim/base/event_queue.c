#include "sim/base/event_queue.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX

pp_status pp_event_queue_open(uint32_t ids, pp_event_queue *events_out, pp_err *err)
{
    pp_event_queue a = { .when_ns = pp_alloc_array(ids, sizeof *a.when_ns),
                         .place = pp_alloc_array(ids, sizeof *a.place),
                         .heap = pp_alloc_array(ids, sizeof *a.heap) };
    if (!a.when_ns || !a.place || !a.heap) {
        pp_event_queue_close(&a);
        return pp_err_nomem(err);
    }
    memset(a.place, 0xff, ids * sizeof *a.place);
    *events_out = a;
    return PP_OK;
}

void pp_event_queue_close(pp_event_queue *events)
{
    free(events->when_ns);
    free(events->place);
    free(events->heap);
    *events = (pp_event_queue){ 0 };
}

static bool before(const pp_event_queue *a, uint32_t x, uint32_t y)
{
    return a->when_ns[x] != a->when_ns[y] ? a->when_ns[x] < a->when_ns[y] : x < y;
}

static void put(pp_event_queue *a, uint32_t place, uint32_t id)
{
    a->heap[place] = id;
    a->place[id] = place;
}

static void rise(pp_event_queue *a, uint32_t place, uint32_t id)
{
    while (place && before(a, id, a->heap[(place - 1) / 2])) {
        put(a, place, a->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(a, place, id);
}

static void sink(pp_event_queue *a, uint32_t place, uint32_t id)
{
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child + 1 < a->count && before(a, a->heap[child + 1], a->heap[child]))
            child++;
        if (child >= a->count || !before(a, a->heap[child], id))
            break;
        put(a, place, a->heap[child]);
        place = child;
    }
    put(a, place, id);
}

void pp_event_queue_set(pp_event_queue *events, uint32_t id, pp_ns when_ns)
{
    bool known = events->place[id] != NOWHERE;
    bool later = known && when_ns > events->when_ns[id];
    events->when_ns[id] = when_ns;
    if (later)
        sink(events, events->place[id], id);
    else
        rise(events, known ? events->place[id] : events->count++, id);
}

bool pp_event_queue_take(pp_event_queue *events, uint32_t *id_out, pp_ns *when_ns_out)
{
    if (!events->count)
        return false;
    *id_out = events->heap[0];
    *when_ns_out = events->when_ns[*id_out];
    events->place[*id_out] = NOWHERE;
    uint32_t last = events->heap[--events->count];
    if (events->count)
        sink(events, 0, last);
    return true;
}
