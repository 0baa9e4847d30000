/* The formats of measurements that can be imported, as calib/imports.def lists them. */
#ifndef PPSIM_CALIB_IMPORT_REGISTRY_H
#define PPSIM_CALIB_IMPORT_REGISTRY_H

#include "calib/import/import.h"

size_t pp_import_count(void);
const pp_import *pp_import_at(size_t index);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_import_get(const char *name, const pp_import **import_out, pp_err *err);

#endif
