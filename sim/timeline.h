/* Start and end of every instruction of a program. The engine predicts one, the runtime measures
 * one; every metric, picture and comparison serves both. */
#ifndef PPSIM_SIM_TIMELINE_H
#define PPSIM_SIM_TIMELINE_H

#include "sim/program.h"
#include "sim/units.h"

/* Owner frees with pp_timeline_free. Rows are the program's instructions. */
typedef struct pp_timeline {
    size_t count;
    pp_ns *start_ns; /* [count] */
    pp_ns *end_ns;   /* [count + 1]; the last is 0, the end of what never had to be made */
} pp_timeline;

/* Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_timeline_new(size_t count, pp_timeline **timeline_out, pp_err *err);
void pp_timeline_free(pp_timeline **timeline); /* for PP_CLEANUP; *timeline NULL is fine */

/* The end of the last instruction; 0 when there is none. */
pp_ns pp_timeline_makespan(const pp_timeline *timeline);

#endif
