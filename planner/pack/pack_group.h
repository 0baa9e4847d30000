/* The packings: each deals the sequences of a case into microbatches. */
#ifndef PPSIM_PLANNER_PACK_PACK_GROUP_H
#define PPSIM_PLANNER_PACK_PACK_GROUP_H

#include "planner/pack/pack_case.h"

/* The packings. Each fails with USAGE if it does not exist for that many microbatches. */
/* microbatches: at least this many per replica; the fullest are cut until there are enough. */
PP_MUST_CHECK pp_status pp_group_given(const pp_pack_case *c, uint32_t microbatches,
                                       pp_grouping *out, pp_err *err);
PP_MUST_CHECK pp_status pp_group_first_fit(const pp_pack_case *c, pp_grouping *out, pp_err *err);
PP_MUST_CHECK pp_status pp_group_equal(const pp_pack_case *c, uint32_t microbatches,
                                       pp_grouping *out, pp_err *err);
/* first: share of a full microbatch that the first and the last one get; above 0. */
PP_MUST_CHECK pp_status pp_group_ramped(const pp_pack_case *c, uint32_t microbatches, double first,
                                        pp_grouping *out, pp_err *err);
/* Reorders the microbatches of each replica. */
PP_MUST_CHECK pp_status pp_grouping_sort(const pp_pack_case *c, pp_sorting sorting,
                                         pp_grouping *grouping, pp_err *err);

#endif
