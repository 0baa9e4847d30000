/* The table of imports. A file is offered to them in the order of calib/imports.def. */
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

PP_REGISTRY(import, imports, .noun = "import");
PP_REGISTRY_GET(import, imports);
