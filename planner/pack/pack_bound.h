/* A lower bound for all packings of a batch and all orders of its ops, on one split and
 * partition. */
#ifndef PPSIM_PLANNER_PACK_PACK_BOUND_H
#define PPSIM_PLANNER_PACK_PACK_BOUND_H

#include "planner/pack/pack_judge.h"

/* The bound, and what it comes from. */
typedef struct pp_pack_bound {
    pp_ns step_ns;
    bool is_path;  /* the path of the longest sequence; false: the load of `rank` */
    uint32_t rank; /* the rank with the largest load */
} pp_pack_bound;

PP_MUST_CHECK pp_status pp_pack_find_bound(const pp_pack_pipeline *pipeline, const int64_t *lengths,
                                           size_t count, pp_pack_bound *bound_out, pp_err *err);
/* Finds the bound for the packer's own pipeline. */
PP_MUST_CHECK pp_status pp_packer_bound(const pp_packer *packer, const int64_t *lengths,
                                        size_t count, pp_pack_bound *bound_out, pp_err *err);

#endif
