/* Messages between two ranks, over any transport: what a transfer takes. */
#ifndef PPSIM_CALIB_MEASURE_PING_H
#define PPSIM_CALIB_MEASURE_PING_H

#include "calib/measure/protocol.h"
#include "runtime/core/transport.h"

/* Owner frees with pp_ping_free, in the thread that made it. */
typedef struct pp_ping pp_ping;

/* A world of two ranks, for messages of up to bytes_max. Fails: as transport->open; NOMEM. */
PP_MUST_CHECK pp_status pp_ping_new(const pp_transport *transport, size_t bytes_max,
                                    pp_ping **ping_out, pp_err *err);
void pp_ping_free(pp_ping **ping); /* for PP_CLEANUP; *ping NULL is fine */

/* Does this process host rank 1 only? */
bool pp_ping_is_partner(const pp_ping *ping);

/* Rank 1's side: answers until rank 0 says goodbye. */
PP_MUST_CHECK pp_status pp_ping_serve(pp_ping *ping, pp_err *err);
/* The same in a thread of its own, where this process hosts both ranks; pp_ping_leave ends it. */
PP_MUST_CHECK pp_status pp_ping_start(pp_ping *ping, pp_err *err);
/* Rank 0's side of goodbye. */
void pp_ping_leave(pp_ping *ping);

/* Rank 0's side: at least `runs` messages of `bytes`, there and back in turn, rendezvous; the lap
 * counts each way. */
PP_MUST_CHECK pp_status pp_ping_run(pp_ping *ping, size_t bytes, uint32_t runs, pp_timing *timing,
                                    pp_err *err);

/* Both ends by the calling thread, without a partner: what a transfer takes of a processor.
 * timing: NULL, or as above. */
PP_MUST_CHECK pp_status pp_ping_alone(pp_ping *ping, size_t bytes, uint32_t runs, pp_timing *timing,
                                      pp_err *err);

#endif
