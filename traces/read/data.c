/* Finds models, hardware and profiles that are built into the program, in tables that the build
 * makes (cmake/Embed.cmake). */
#include "traces/read/data.h"

#include "traces/read/data_table.h"

#include <assert.h>
#include <string.h>

size_t pp_data_count(pp_data_kind kind)
{
    assert(kind < PP_DATA_KIND_COUNT);
    return pp_data_tables[kind].count;
}

const pp_data_file *pp_data_at(pp_data_kind kind, size_t index)
{
    return index < pp_data_count(kind) ? &pp_data_tables[kind].files[index] : NULL;
}

const pp_data_file *pp_data_find(pp_data_kind kind, const char *name)
{
    for (size_t i = 0; i < pp_data_count(kind); i++) {
        if (strcmp(pp_data_tables[kind].files[i].name, name) == 0)
            return &pp_data_tables[kind].files[i];
    }
    return NULL;
}
