/* Names of fields in messages: those of the front end that the pp_err carries, else the library's
 * own. A look-up in a table, without allocation. */
#include "sim/base/field.h"

#include <stddef.h>

static const char *const own_names[] = {
#define PP_FIELD_NAME(id, name) [PP_FIELD_##id] = (name),
    PP_FIELD_MAP(PP_FIELD_NAME)
#undef PP_FIELD_NAME
};

const char *pp_err_name(const pp_err *err, pp_field field)
{
    const char *name = err && err->names ? err->names->of[field] : NULL;
    return name ? name : own_names[field];
}
