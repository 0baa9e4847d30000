/* The critical path of a simulated step: from the end of its last op back through devices,
 * transfers and hosts to the start. It needs a run whose clocks were kept (comm->observed). */
#ifndef PPSIM_SIM_ANALYSIS_CRITICAL_PATH_H
#define PPSIM_SIM_ANALYSIS_CRITICAL_PATH_H

#include "sim/program/timeline.h"

/* The content of the path. If several causes end at the same time, the path follows the device
 * rather than a transfer, and a transfer rather than the host. A sync or a read is therefore
 * counted only if nothing else delays the step as much, even if it takes no time itself. */
typedef struct pp_critical {
    size_t syncs, reads;      /* device syncs and size reads of hosts */
    size_t messages, tensors; /* transfers of tensor sizes, and of tensors */
} pp_critical;

/* All counts are zero for programs without communication and for runs without clocks. */
void pp_critical_path(const pp_program *program, const pp_timeline *timeline,
                      pp_critical *critical_out);

#endif
