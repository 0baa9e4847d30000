#include "sim/base/event_queue.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX

pp_status pp_agenda_open(uint32_t ids, pp_agenda *agenda_out, pp_err *err)
{
    pp_agenda a = { .when_ns = pp_alloc_array(ids, sizeof *a.when_ns),
                    .place = pp_alloc_array(ids, sizeof *a.place),
                    .heap = pp_alloc_array(ids, sizeof *a.heap) };
    if (!a.when_ns || !a.place || !a.heap) {
        pp_agenda_close(&a);
        return pp_err_nomem(err);
    }
    memset(a.place, 0xff, ids * sizeof *a.place);
    *agenda_out = a;
    return PP_OK;
}

void pp_agenda_close(pp_agenda *agenda)
{
    free(agenda->when_ns);
    free(agenda->place);
    free(agenda->heap);
    *agenda = (pp_agenda){ 0 };
}

static bool before(const pp_agenda *a, uint32_t x, uint32_t y)
{
    return a->when_ns[x] != a->when_ns[y] ? a->when_ns[x] < a->when_ns[y] : x < y;
}

static void put(pp_agenda *a, uint32_t place, uint32_t id)
{
    a->heap[place] = id;
    a->place[id] = place;
}

static void rise(pp_agenda *a, uint32_t place, uint32_t id)
{
    while (place && before(a, id, a->heap[(place - 1) / 2])) {
        put(a, place, a->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(a, place, id);
}

static void sink(pp_agenda *a, uint32_t place, uint32_t id)
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

void pp_agenda_set(pp_agenda *agenda, uint32_t id, pp_ns when_ns)
{
    bool known = agenda->place[id] != NOWHERE;
    bool later = known && when_ns > agenda->when_ns[id];
    agenda->when_ns[id] = when_ns;
    if (later)
        sink(agenda, agenda->place[id], id);
    else
        rise(agenda, known ? agenda->place[id] : agenda->count++, id);
}

bool pp_agenda_take(pp_agenda *agenda, uint32_t *id_out, pp_ns *when_ns_out)
{
    if (!agenda->count)
        return false;
    *id_out = agenda->heap[0];
    *when_ns_out = agenda->when_ns[*id_out];
    agenda->place[*id_out] = NOWHERE;
    uint32_t last = agenda->heap[--agenda->count];
    if (agenda->count)
        sink(agenda, 0, last);
    return true;
}
