/* What writers of schedules and timelines can use. */
#ifndef PPSIM_TRACES_FORMAT_EXPORT_EXPORT_H
#define PPSIM_TRACES_FORMAT_EXPORT_EXPORT_H

#include "sim/plan/plan.h"
#include "traces/read/recorded.h"

/* All that a writer may use. Everything is borrowed; what a format does not need may be NULL. */
typedef struct pp_export {
    const pp_plan *plan;       /* names, partition, costs */
    const pp_order *order;     /* of the replica shown */
    const pp_program *program; /* lowered */
    const pp_timeline *timeline;
    const pp_costs *costs;
    const pp_report *report;
    const pp_recorded *recorded;    /* used in place of costs */
    const char *recorded_framework; /* as the recording names it; "": it does not */
    const char *path;               /* of the file that is written; NULL or "-": stdout */
    uint32_t first_rank, ranks;     /* the ranks that a trace shows; ranks 0: all */
    int columns;                    /* width for text formats; 0: 80 */
    /* The program communicates as a file says, not as a framework lowers the order. */
    bool written;
    bool measured; /* the timeline was executed, not predicted */
    bool compiled; /* the runtime compiles its stages (torch.compile) */
} pp_export;

static inline bool pp_export_shows(const pp_export *data, uint32_t rank)
{
    return data->ranks == 0 || (rank >= data->first_rank && rank - data->first_rank < data->ranks);
}

#endif
