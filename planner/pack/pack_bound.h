/* What no packing of a batch and no order of its ops can beat, on one split and partition. */
#ifndef PPSIM_PLANNER_PACK_PACK_BOUND_H
#define PPSIM_PLANNER_PACK_PACK_BOUND_H

#include "planner/pack/pack_judge.h"

/* What no packing and no order can beat. */
typedef struct pp_pack_bound {
    pp_ns step_ns;
    bool is_path;  /* the path of the longest sequence; otherwise the load of */
    uint32_t rank; /* this rank */
} pp_pack_bound;

PP_MUST_CHECK pp_status pp_pack_find_bound(const pp_pack_pipeline *pipeline, const int64_t *lengths,
                                           size_t count, pp_pack_bound *bound_out, pp_err *err);
/* Of the packer's own pipeline. */
PP_MUST_CHECK pp_status pp_packer_bound(const pp_packer *packer, const int64_t *lengths,
                                        size_t count, pp_pack_bound *bound_out, pp_err *err);

#endif
