/* The data that writers of schedules and timelines get. */
#ifndef PPSIM_TRACES_FORMAT_EXPORT_EXPORT_H
#define PPSIM_TRACES_FORMAT_EXPORT_EXPORT_H

#include "sim/plan/plan.h"
#include "traces/read/recorded.h"

/* Everything is borrowed. A pointer is NULL when the caller lacks the data; a format that needs it
 * fails or is not offered. */
typedef struct pp_export {
    const pp_plan *plan;       /* names, partition, costs */
    const pp_order *order;     /* of the replica that is shown */
    const pp_program *program; /* the order with its communication */
    const pp_timeline *timeline;
    const pp_costs *costs;
    const pp_report *report;
    const pp_recorded *recorded;    /* of a recording, which has no costs */
    const char *recorded_framework; /* the framework that the recording names; "": none */
    const char *path;               /* the file that is written; NULL or "-": stdout */
    uint32_t first_rank, ranks;     /* the ranks that a trace shows; ranks 0: all */
    int columns;                    /* the width of text formats, in characters; 0: 80 */
    bool written;                   /* the communication comes from a file, not from a framework */
    bool measured;                  /* the timeline was executed, not predicted */
    bool compiled;                  /* the runtime compiles its stages (torch.compile) */
} pp_export;

static inline bool pp_export_shows(const pp_export *data, uint32_t rank)
{
    return data->ranks == 0 || (rank >= data->first_rank && rank - data->first_rank < data->ranks);
}

#endif
