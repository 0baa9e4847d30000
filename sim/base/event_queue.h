/* A priority queue of event ids, ordered by time, then by id. Each id is in it at most once. */
#ifndef PPSIM_SIM_BASE_EVENT_QUEUE_H
#define PPSIM_SIM_BASE_EVENT_QUEUE_H

#include "sim/base/heap.h"
#include "sim/base/status.h"
#include "sim/base/units.h"

typedef struct pp_event_queue {
    pp_ns *when_ns; /* [ids]: the time of each id that is in the queue */
    pp_heap heap;   /* of ids, the earliest first; place: UINT32_MAX for ids that are not in it */
} pp_event_queue;

/* An empty queue for the ids 0 to ids - 1. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_event_queue_open(uint32_t ids, pp_event_queue *events_out, pp_err *err);
void pp_event_queue_close(pp_event_queue *events); /* an event queue that is all zero is fine */

/* Adds id, or changes its time if it is in the queue. */
void pp_event_queue_set(pp_event_queue *events, uint32_t id, pp_ns when_ns);
/* Removes the earliest id. Returns false when the queue is empty. */
bool pp_event_queue_take(pp_event_queue *events, uint32_t *id_out, pp_ns *when_ns_out);

#endif
