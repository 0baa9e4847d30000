/* The table of the transports of this build, made from runtime/transports.def. */
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

PP_REGISTRY(transport, transports, .noun = "transport", .field = PP_FIELD_TRANSPORT,
            .all = PP_FIELD_ASK_TRANSPORTS);
PP_REGISTRY_GET(transport, transports);
