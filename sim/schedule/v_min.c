/* V-Min (Qi et al. 2024, arXiv 2405.15362): the repeating pattern with the shortest lifetimes, a
 * third of the activation memory of 1F1B. */
#include "sim/schedule/builders/controlled.h"
#include "sim/schedule/schedule.h"

/* First slots of the pattern; the shift makes its residues modulo 6 differ when 3 divides p. */
static uint32_t v_min_offset(uint32_t type, uint32_t r, uint32_t p)
{
    uint32_t shift = p % 3 == 0 ? 2 : 0;
    switch (type) {
    case PP_SLOT_FA:
        return r;
    case PP_SLOT_FB:
        return 2 * p - r - 1;
    case PP_SLOT_IB:
        return 2 * p + shift + r;
    default:
        return 4 * p + shift - r - 1;
    }
}

static pp_status v_min_build(const pp_schedule_params *params, pp_order **order_out, pp_err *err)
{
    return pp_controlled_build(params, v_min_offset, order_out, err);
}

const pp_schedule pp_schedule_v_min = {
    .name = "v-min",
    .summary = "two stages per rank on a V, with a third of the activation memory of 1F1B (Qi "
               "2024, V-Min)",
    .placement = PP_PLACE_V,
    .chunks = 2,
    .splits_backward = true,
    .build = v_min_build,
};
