/* Looks up transports by name. A transport is one file of runtime/transport/ and one line of
 * runtime/transports.def. */
#ifndef PPSIM_RUNTIME_TRANSPORT_REGISTRY_H
#define PPSIM_RUNTIME_TRANSPORT_REGISTRY_H

#include "runtime/core/transport.h"

size_t pp_transport_count(void);
const pp_transport *pp_transport_at(size_t index);
/* Finds the transport of this name. Fails: USAGE when there is none, naming the nearest one. */
PP_MUST_CHECK pp_status pp_transport_get(const char *name, const pp_transport **transport_out,
                                         pp_err *err);

#endif
