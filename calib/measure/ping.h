/* Times messages between two ranks over any transport. */
#ifndef PPSIM_CALIB_MEASURE_PING_H
#define PPSIM_CALIB_MEASURE_PING_H

#include "calib/measure/protocol.h"
#include "runtime/core/transport.h"

/* The owner frees it with pp_ping_free, in the thread that made it. */
typedef struct pp_ping pp_ping;

/* Opens a world of two ranks, for messages of up to bytes_max bytes.
 * Fails: as transport->open; NOMEM. */
PP_MUST_CHECK pp_status pp_ping_new(const pp_transport *transport, size_t bytes_max,
                                    pp_ping **ping_out, pp_err *err);
void pp_ping_free(pp_ping **ping); /* for PP_CLEANUP; *ping NULL is fine */

/* Returns true if this process hosts rank 1 only. */
bool pp_ping_is_partner(const pp_ping *ping);

/* Plays rank 1: answers until rank 0 calls pp_ping_leave. */
PP_MUST_CHECK pp_status pp_ping_serve(pp_ping *ping, pp_err *err);
/* Plays rank 1 in a thread of its own, if this process hosts both ranks; pp_ping_leave ends it.
 * Fails: UNAVAILABLE (no thread can be started). */
PP_MUST_CHECK pp_status pp_ping_start(pp_ping *ping, pp_err *err);
/* Ends rank 1. Rank 0 calls it, and so does pp_ping_free. */
void pp_ping_leave(pp_ping *ping);

/* Plays rank 0: at least `runs` messages of `bytes` bytes, there and back in turn, by rendezvous.
 * Each message counts as one run of lap 0. Fails: as the transport. */
PP_MUST_CHECK pp_status pp_ping_run(pp_ping *ping, size_t bytes, uint32_t runs, pp_timing *timing,
                                    pp_err *err);

/* Times `runs` messages and plays both ends in the calling thread, without a partner. This gives
 * the processor time of a transfer. `timing` may be NULL. Fails: as the transport. */
PP_MUST_CHECK pp_status pp_ping_alone(pp_ping *ping, size_t bytes, uint32_t runs, pp_timing *timing,
                                      pp_err *err);

#endif
