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

PP_REGISTRY(form, forms, .noun = "form");
PP_REGISTRY_FIND(form, forms);
_Static_assert(form_count <= PP_FORM_MAX, "PP_FORM_MAX bounds forms.def");
