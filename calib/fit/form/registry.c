/* The table of forms, in the order of calib/forms.def. */
#include "calib/fit/form/registry.h"

#include "sim/base/registry.h"

#define PP_FORM(id) extern const pp_form pp_form_##id;
#include "calib/forms.def"
#undef PP_FORM

static const pp_form *const forms[] = {
#define PP_FORM(id) &pp_form_##id,
#include "calib/forms.def"
#undef PP_FORM
};

enum { FORM_COUNT = sizeof forms / sizeof forms[0] };
_Static_assert(FORM_COUNT <= PP_FORM_MAX, "PP_FORM_MAX bounds forms.def");

size_t pp_form_count(void)
{
    return FORM_COUNT;
}

const pp_form *pp_form_at(size_t index)
{
    return forms[index];
}

static const char *name_at(size_t index)
{
    return forms[index]->name;
}

static const pp_registry registry = { .noun = "form", .count = FORM_COUNT, .name = name_at };

const pp_form *pp_form_find(const char *name)
{
    const size_t index = pp_registry_find(&registry, name);
    return index < FORM_COUNT ? forms[index] : NULL;
}
