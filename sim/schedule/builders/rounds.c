/* PyTorch's ScheduleInterleaved1F1B: number_of_rounds = max(1, m div p), which must divide m. */
#include "sim/schedule/builders/rounds.h"

#include "sim/base/field.h"

#include <inttypes.h>

static uint32_t rounds_of(uint32_t p, uint32_t m)
{
    return m / p ? m / p : 1;
}

pp_status pp_rounds_group(const char *name, bool takes_group, uint32_t ranks, uint32_t microbatches,
                          uint32_t *group_out, pp_err *err)
{
    uint32_t rounds = rounds_of(ranks, microbatches);
    if (microbatches % rounds == 0) {
        *group_out = microbatches / rounds;
        return PP_OK;
    }
    uint32_t below = microbatches - 1;
    while (below % rounds_of(ranks, below) != 0)
        below--;
    uint32_t above = microbatches + 1;
    while (above % rounds_of(ranks, above) != 0)
        above++;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_MICROBATCHES),
                      "%s on %" PRIu32 " ranks runs max(1, m div p) = %" PRIu32
                      " rounds, which must divide m = %" PRIu32 "; the nearest that do are %" PRIu32
                      " and %" PRIu32 "%s%s",
                      name, ranks, rounds, microbatches, below, above,
                      takes_group ? ", or give " : "",
                      takes_group ? pp_err_name(err, PP_FIELD_GROUP_SIZE) : "");
}
