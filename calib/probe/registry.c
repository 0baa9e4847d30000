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

enum { PROBE_COUNT = sizeof probes / sizeof probes[0] };

size_t pp_probe_count(void)
{
    return PROBE_COUNT;
}

const pp_probe *pp_probe_at(size_t index)
{
    return probes[index];
}

static const char *name_at(size_t index)
{
    return probes[index]->name;
}

static const pp_registry registry = { .noun = "probe",
                                      .field = PP_FIELD_PROBE,
                                      .all = PP_FIELD_ASK_PROBES,
                                      .count = PROBE_COUNT,
                                      .name = name_at };

pp_status pp_probe_get(const char *name, const pp_probe **probe_out, pp_err *err)
{
    size_t index = 0;
    pp_status status = pp_registry_get(&registry, name, &index, err);
    if (!status)
        *probe_out = probes[index];
    return status;
}

uint32_t pp_probe_bits(const char *const *names)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < PROBE_COUNT; i++) {
        size_t k = 0;
        while (names && names[k] && strcmp(names[k], probes[i]->name) != 0)
            k++;
        const bool wanted = names ? names[k] != NULL : !probes[i]->asked;
        bits |= wanted ? 1u << i : 0;
    }
    return bits;
}
