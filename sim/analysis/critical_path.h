/* The critical path of a simulated step: from the end of its last op back through devices,
 * transfers and hosts to the start. Needs a program whose clocks were kept (comm->observed). */
#ifndef PPSIM_SIM_ANALYSIS_CRITICAL_PATH_H
#define PPSIM_SIM_ANALYSIS_CRITICAL_PATH_H

#include "sim/program/timeline.h"

/* What lies on the path. Where two causes end at the same time the device is followed before a
 * transfer, and a transfer before a host: a sync or read is counted only where nothing else would
 * have held the step up as long. It counts whether it costs time itself or not. */
typedef struct pp_critical {
    size_t syncs, reads;      /* of hosts */
    size_t messages, tensors; /* messages about shapes, and transfers of tensors */
} pp_critical;

/* Programs without communication, or without clocks: all zero. */
void pp_critical_path(const pp_program *program, const pp_timeline *timeline,
                      pp_critical *critical_out);

#endif
