/* V-Half (Qi et al. 2024, arXiv 2405.15362): a repeating pattern whose lifetimes halve the
 * activation memory of 1F1B. */
#include "sim/schedule/builders/controlled.h"
#include "sim/schedule/schedule.h"

/* First slots of the pattern; the shift makes its residues modulo 6 differ when p is even. */
static uint32_t v_half_offset(uint32_t type, uint32_t r, uint32_t p)
{
    uint32_t shift = p % 2 == 0 ? 3 : 0;
    switch (type) {
    case PP_SLOT_FA:
        return 2 * r;
    case PP_SLOT_FB:
        return 3 * p - r - 2;
    case PP_SLOT_IB:
        return 3 * p + shift + 2 * r - 1;
    default:
        return 6 * p + shift - r - 2;
    }
}

static pp_status v_half_build(const pp_schedule_params *params, pp_order **order_out, pp_err *err)
{
    return pp_controlled_build(params, v_half_offset, order_out, err);
}

const pp_schedule pp_schedule_v_half = {
    .name = "v-half",
    .summary =
        "two stages per rank on a V, with half the activation memory of 1F1B (Qi 2024, V-Half)",
    .placement = PP_PLACE_V,
    .chunks = 2,
    .splits_backward = true,
    .build = v_half_build,
};
