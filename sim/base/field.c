/* Looks up the names of fields in messages: those of the front end if the pp_err carries them,
 * otherwise the library's own. Nothing is allocated. */
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
