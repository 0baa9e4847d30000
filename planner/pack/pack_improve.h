/* Moves and swaps of sequences and microbatches. */
#ifndef PPSIM_PLANNER_PACK_PACK_IMPROVE_H
#define PPSIM_PLANNER_PACK_PACK_IMPROVE_H

#include "planner/pack/pack_case.h"

/* grouping, verdict: the start, replaced by the best found. */
PP_MUST_CHECK pp_status pp_pack_improve(const pp_pack_case *c, pp_grouping *grouping,
                                        pp_pack_verdict *verdict, bool *stopped_out, pp_err *err);

#endif
