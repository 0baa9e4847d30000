#include "calib/fit/form/form.h"

#include "sim/base/registry.h"

#include <math.h>

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

/* The next larger value among the points; infinite: there is none. */
static double next_value(const pp_fit_points *points, double (*of)(const pp_fit_point *point),
                         double after)
{
    double next = INFINITY;
    for (size_t i = 0; i < points->count; i++) {
        const double value = of(&points->point[i]);
        if (value > after && value < next)
            next = value;
    }
    return next;
}

double pp_form_split(const pp_fit_points *points, double (*of)(const pp_fit_point *point),
                     size_t least, size_t most, size_t index, bool *more_out)
{
    size_t values = 0;
    for (double v = next_value(points, of, -INFINITY); v < INFINITY; v = next_value(points, of, v))
        values++;
    const size_t places = values + 1 > 2 * least ? values + 1 - 2 * least : 0;
    const size_t tried = places < most ? places : most;
    *more_out = index + 1 < tried;
    if (index >= tried)
        return NAN;
    const size_t skipped = tried > 1 ? index * (places - 1) / (tried - 1) : 0;
    double below = -INFINITY;
    for (size_t i = 0; i < least + skipped; i++)
        below = next_value(points, of, below);
    return below + (next_value(points, of, below) - below) / 2;
}
