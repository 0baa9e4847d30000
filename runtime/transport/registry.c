/* The transports that this build knows: runtime/transports.def as a table. */
#include "runtime/transport/registry.h"

#include "sim/base/field.h"
#include "sim/base/registry.h"

#define PP_TRANSPORT(id) extern const pp_transport pp_transport_##id;
#include "runtime/transports.def"
#undef PP_TRANSPORT

static const pp_transport *const transports[] = {
#define PP_TRANSPORT(id) &pp_transport_##id,
#include "runtime/transports.def"
#undef PP_TRANSPORT
};

enum { TRANSPORT_COUNT = sizeof transports / sizeof transports[0] };

size_t pp_transport_count(void)
{
    return TRANSPORT_COUNT;
}

const pp_transport *pp_transport_at(size_t index)
{
    return transports[index];
}

static const char *name_at(size_t index)
{
    return transports[index]->name;
}

static const pp_registry registry = { .noun = "transport",
                                      .field = PP_FIELD_TRANSPORT,
                                      .all = PP_FIELD_ASK_TRANSPORTS,
                                      .count = TRANSPORT_COUNT,
                                      .name = name_at };

pp_status pp_transport_get(const char *name, const pp_transport **transport_out, pp_err *err)
{
    size_t index = 0;
    pp_status status = pp_registry_get(&registry, name, &index, err);
    if (!status)
        *transport_out = transports[index];
    return status;
}
