/* Transports by name: one file in runtime/transport/ and one line in runtime/transports.def each.
 */
#ifndef PPSIM_RUNTIME_TRANSPORT_REGISTRY_H
#define PPSIM_RUNTIME_TRANSPORT_REGISTRY_H

#include "runtime/core/transport.h"

size_t pp_transport_count(void);
const pp_transport *pp_transport_at(size_t index);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_transport_get(const char *name, const pp_transport **transport_out,
                                         pp_err *err);

#endif
