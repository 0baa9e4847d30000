/* The table of imports, in the order of calib/imports.def, which is the order in which a file is
 * offered to them. */
#include "calib/import/registry.h"

#include "sim/base/registry.h"

#define PP_IMPORT(id) extern const pp_import pp_import_##id;
#include "calib/imports.def"
#undef PP_IMPORT

static const pp_import *const imports[] = {
#define PP_IMPORT(id) &pp_import_##id,
#include "calib/imports.def"
#undef PP_IMPORT
};

enum { IMPORT_COUNT = sizeof imports / sizeof imports[0] };

size_t pp_import_count(void)
{
    return IMPORT_COUNT;
}

const pp_import *pp_import_at(size_t index)
{
    return imports[index];
}

static const char *name_at(size_t index)
{
    return imports[index]->name;
}

static const pp_registry registry = { .noun = "import", .count = IMPORT_COUNT, .name = name_at };

pp_status pp_import_get(const char *name, const pp_import **import_out, pp_err *err)
{
    size_t index = 0;
    pp_status status = pp_registry_get(&registry, name, &index, err);
    if (!status)
        *import_out = imports[index];
    return status;
}
