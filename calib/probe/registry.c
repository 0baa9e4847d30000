/* The table of probes, in the order of calib/probes.def, which is the order in which they run. */
#include "calib/probe/registry.h"

#include "sim/base/registry.h"

#include <string.h>

#define PP_PROBE(id) extern const pp_probe pp_probe_##id;
#include "calib/probes.def"
#undef PP_PROBE

static const pp_probe *const probes[] = {
#define PP_PROBE(id) &pp_probe_##id,
#include "calib/probes.def"
#undef PP_PROBE
};

PP_REGISTRY(probe, probes, .noun = "probe", .field = PP_FIELD_PROBE, .all = PP_FIELD_ASK_PROBES);
PP_REGISTRY_GET(probe, probes);

uint32_t pp_probe_bits(const char *const *names)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < probe_count; i++) {
        size_t k = 0;
        while (names && names[k] && strcmp(names[k], probes[i]->name) != 0)
            k++;
        const bool wanted = names ? names[k] != NULL : !probes[i]->asked;
        bits |= wanted ? 1u << i : 0;
    }
    return bits;
}
