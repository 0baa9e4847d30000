/* Look-up by name in a table of plug-ins (sim/schedules.def and the other .def tables). */
#ifndef PPSIM_SIM_BASE_REGISTRY_H
#define PPSIM_SIM_BASE_REGISTRY_H

#include "sim/base/field.h"

#include <stddef.h>

/* Describes a table whose entries are numbered from 0 to count - 1. */
typedef struct pp_registry {
    const char *noun; /* what one entry is called in messages: "schedule" */
    pp_field field;   /* the input that names an entry, for pp_err.where; may be PP_FIELD_NONE */
    pp_field all;     /* what lists all entries, for messages; may be PP_FIELD_NONE */
    size_t count;
    const char *(*name)(size_t index); /* the name of entry `index` */
} pp_registry;

/* The index of the entry called `name`, or registry->count when there is none. Linear in count. */
size_t pp_registry_find(const pp_registry *registry, const char *name);

/* Like pp_registry_find. Fails: USAGE when there is no such entry, with the nearest name. */
PP_MUST_CHECK pp_status pp_registry_get(const pp_registry *registry, const char *name,
                                        size_t *index_out, pp_err *err);

#endif
