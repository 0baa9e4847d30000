/* Finds the component that causes a shortage of memory, and prints reasons for messages of
 * failure. */
#include "planner/candidate/reason.h"

#include "sim/base/units.h"

#include <inttypes.h>
#include <stdio.h>

pp_memory_shortage pp_memory_shortage_of(uint32_t rank, int64_t short_bytes,
                                         const int64_t bytes[PP_MEMORY_COUNT])
{
    int64_t dynamic = 0;
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        dynamic += pp_memory_is_static((pp_memory_component)c) ? 0 : bytes[c];
    const bool look_static = short_bytes > dynamic;
    pp_memory_component biggest = look_static ? PP_MEMORY_PARAMETERS : PP_MEMORY_ACTIVATIONS;
    for (int c = 0; c < PP_MEMORY_COUNT; c++) {
        if (pp_memory_is_static((pp_memory_component)c) == look_static && bytes[c] > bytes[biggest])
            biggest = (pp_memory_component)c;
    }
    return (pp_memory_shortage){ .rank = rank, .bytes = short_bytes, .component = biggest };
}

pp_reason pp_reason_refused(const pp_err *refusal)
{
    pp_reason reason = { .kind = PP_REASON_REFUSED };
    snprintf(reason.refusal, sizeof reason.refusal, "%.390s", refusal->text);
    return reason;
}

pp_reason pp_reason_short(pp_memory_shortage shortage)
{
    return (pp_reason){ .kind = PP_REASON_MEMORY, .shortage = shortage };
}

const char *pp_misfit_print(const pp_reason *reason, char *buffer, size_t size)
{
    const pp_memory_shortage *s = &reason->shortage;
    char amount[32];
    buffer[0] = '\0';
    if (reason->kind == PP_REASON_REFUSED)
        snprintf(buffer, size, "%s", reason->refusal);
    else if (reason->kind == PP_REASON_MEMORY)
        snprintf(buffer, size, "rank %" PRIu32 " short by %s, %s %s%s", s->rank,
                 pp_format_bytes(amount, sizeof amount, s->bytes),
                 pp_memory_is_static(s->component) ? "largest:" : "the step adds mostly",
                 pp_memory_key(s->component), s->alone ? ", even with a single microbatch" : "");
    return buffer;
}
