/* Look-up by name in a table of plug-ins (sim/schedules.def and the other .def tables). */
#ifndef PPSIM_SIM_BASE_REGISTRY_H
#define PPSIM_SIM_BASE_REGISTRY_H

#include "sim/base/field.h"

#include <stddef.h>

/* Describes a table whose entries are numbered from 0 to count - 1. */
typedef struct pp_registry {
    const char *noun; /* noun for one entry in messages: "schedule" */
    pp_field field;   /* the input that names an entry, for pp_err.where; may be PP_FIELD_NONE */
    pp_field all;     /* the request to ppsim that lists all entries, for messages; may be
                         PP_FIELD_NONE */
    size_t count;
    const char *(*name)(size_t index); /* the name of entry `index` */
} pp_registry;

/* The index of the entry called `name`, or registry->count when there is none. Linear in count. */
size_t pp_registry_find(const pp_registry *registry, const char *name);

/* Like pp_registry_find, in any case ("ZBV" is zbv). Fails: USAGE when there is no such entry, with
 * the nearest name. */
PP_MUST_CHECK pp_status pp_registry_get(const pp_registry *registry, const char *name,
                                        size_t *index_out, pp_err *err);

/* Macros that define the functions of a registry. Its entries are of type pp_KIND, have a
 * `name` and are listed in `table`, an array of pointers. For schedules:
 * - PP_REGISTRY(schedule, schedules, .noun = "schedule") defines pp_schedule_count and
 *   pp_schedule_at; it must precede the other two. Its further arguments are fields of pp_registry.
 * - PP_REGISTRY_FIND(schedule, schedules) defines pp_schedule_find: NULL when unknown.
 * - PP_REGISTRY_GET(schedule, schedules) defines pp_schedule_get. It fails as pp_registry_get. */
#define PP_REGISTRY(kind, table, ...)                                   \
    enum { kind##_count = sizeof(table) / sizeof(table)[0] };           \
    size_t pp_##kind##_count(void)                                      \
    {                                                                   \
        return kind##_count;                                            \
    }                                                                   \
    const pp_##kind *pp_##kind##_at(size_t index)                       \
    {                                                                   \
        return (table)[index];                                          \
    }                                                                   \
    static const char *kind##_name(size_t index)                        \
    {                                                                   \
        return (table)[index]->name;                                    \
    }                                                                   \
    static const pp_registry kind##_registry = { .count = kind##_count, \
                                                 .name = kind##_name,   \
                                                 __VA_ARGS__ }

#define PP_REGISTRY_FIND(kind, table)                                  \
    const pp_##kind *pp_##kind##_find(const char *name)                \
    {                                                                  \
        const size_t index = pp_registry_find(&kind##_registry, name); \
        return index < kind##_count ? (table)[index] : NULL;           \
    }                                                                  \
    struct pp_##kind /* takes the semicolon */

#define PP_REGISTRY_GET(kind, table)                                                      \
    pp_status pp_##kind##_get(const char *name, const pp_##kind **entry_out, pp_err *err) \
    {                                                                                     \
        size_t index = 0;                                                                 \
        const pp_status status = pp_registry_get(&kind##_registry, name, &index, err);    \
        if (!status)                                                                      \
            *entry_out = (table)[index];                                                  \
        return status;                                                                    \
    }                                                                                     \
    struct pp_##kind /* takes the semicolon */

#endif
