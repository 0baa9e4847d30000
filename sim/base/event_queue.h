/* What happens next: ids by time, those of equal time by number. Each id stands in it at most once.
 */
#ifndef PPSIM_SIM_BASE_EVENT_QUEUE_H
#define PPSIM_SIM_BASE_EVENT_QUEUE_H

#include "sim/base/status.h"
#include "sim/base/units.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pp_event_queue {
    pp_ns *when_ns;  /* [ids] */
    uint32_t *place; /* [ids]: in heap, UINT32_MAX: not there */
    uint32_t *heap;  /* [count]: the earliest first */
    uint32_t count;
} pp_event_queue;

/* Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_event_queue_open(uint32_t ids, pp_event_queue *events_out, pp_err *err);
void pp_event_queue_close(pp_event_queue *events); /* all zero is fine */

/* Adds id, or moves it to another time. */
void pp_event_queue_set(pp_event_queue *events, uint32_t id, pp_ns when_ns);
/* Removes the earliest. false: nothing is left. */
bool pp_event_queue_take(pp_event_queue *events, uint32_t *id_out, pp_ns *when_ns_out);

#endif
