/* The tables behind traces/read/data.h. */
#ifndef PPSIM_TRACES_READ_DATA_TABLE_H
#define PPSIM_TRACES_READ_DATA_TABLE_H

#include "traces/read/data.h"

typedef struct pp_data_table {
    const pp_data_file *files;
    size_t count;
} pp_data_table;

/* Indexed by pp_data_kind. The build makes it (cmake/Embed.cmake). */
extern const pp_data_table pp_data_tables[PP_DATA_KIND_COUNT];

#endif
