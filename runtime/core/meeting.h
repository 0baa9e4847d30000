/* Where the threads of one rank in all replicas of a job meet, if they are in one process: each
 * shows an address to the others. */
#ifndef PPSIM_RUNTIME_CORE_MEETING_H
#define PPSIM_RUNTIME_CORE_MEETING_H

#include "sim/base/status.h"

#include <stdint.h>

typedef struct pp_meeting pp_meeting;

/* The owner frees it with pp_meeting_free, when no thread uses it. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_meeting_new(uint32_t ranks, uint32_t replicas, pp_meeting **meeting_out,
                                       pp_err *err);
void pp_meeting_free(pp_meeting **meeting); /* for PP_CLEANUP; *meeting NULL is fine */

/* Returns when the rank's threads of all replicas have called it. *all_out: [replicas], what each
 * of them has shown, valid until the rank's next call. Fails: INFEASIBLE ("stopped") after
 * pp_meeting_abort. */
PP_MUST_CHECK pp_status pp_meeting_show(pp_meeting *meeting, uint32_t rank, uint32_t replica,
                                        const void *mine, const void *const **all_out, pp_err *err);
/* Makes all calls return, now and later. Any thread may call it, more than once. */
void pp_meeting_abort(pp_meeting *meeting);

#endif
