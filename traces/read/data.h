#ifndef PPSIM_TRACES_READ_DATA_H
#define PPSIM_TRACES_READ_DATA_H

#include <stddef.h>

/* Models, hardware and profiles of links that are part of the program, so that names work without
 * an installation. Each traces/data/<kind>/<name>.json is one entry; everything lives as long as
 * the program. */
typedef enum pp_data_kind {
    PP_DATA_MODEL,
    PP_DATA_HARDWARE,
    PP_DATA_PROFILE,
    PP_DATA_STACK,
    PP_DATA_KIND_COUNT,
} pp_data_kind;

typedef struct pp_data_file {
    const char *name; /* file name without .json */
    const char *text; /* ends with a NUL, which `bytes` does not count */
    size_t bytes;
} pp_data_file;

size_t pp_data_count(pp_data_kind kind);
/* Entries are sorted by name. Returns NULL beyond the last one. */
const pp_data_file *pp_data_at(pp_data_kind kind, size_t index);
/* Returns NULL when there is no such name. */
const pp_data_file *pp_data_find(pp_data_kind kind, const char *name);

#endif
