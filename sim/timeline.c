#include "sim/timeline.h"

#include "sim/alloc.h"

#include <stdlib.h>

pp_status pp_timeline_new(size_t count, pp_timeline **timeline_out, pp_err *err)
{
    pp_timeline *timeline = NULL;
    if (count < SIZE_MAX / 4 / sizeof(pp_ns))
        timeline = malloc(sizeof *timeline + (2 * count + 1) * sizeof(pp_ns));
    if (!timeline)
        return pp_err_nomem(err);
    timeline->count = count;
    timeline->start_ns = (pp_ns *)(void *)(timeline + 1);
    timeline->end_ns = timeline->start_ns + count;
    timeline->end_ns[count] = 0;
    *timeline_out = timeline;
    return PP_OK;
}

void pp_timeline_free(pp_timeline **timeline)
{
    free(*timeline);
    *timeline = NULL;
}

pp_ns pp_timeline_makespan(const pp_timeline *timeline)
{
    pp_ns makespan = 0;
    for (size_t i = 0; i < timeline->count; i++) {
        if (timeline->end_ns[i] > makespan)
            makespan = timeline->end_ns[i];
    }
    return makespan;
}
