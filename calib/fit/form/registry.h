/* The forms of cost functions, as calib/forms.def lists them. */
#ifndef PPSIM_CALIB_FIT_FORM_REGISTRY_H
#define PPSIM_CALIB_FIT_FORM_REGISTRY_H

#include "calib/fit/form/form.h"

size_t pp_form_count(void);
const pp_form *pp_form_at(size_t index);
/* Returns NULL when the name is unknown. */
const pp_form *pp_form_find(const char *name);

#endif
