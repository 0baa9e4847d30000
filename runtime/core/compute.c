#include "runtime/core/compute.h"

#include "sim/base/text.h"

#include <string.h>

#define PP_COMPUTE(id) extern const pp_compute pp_compute_##id;
#include "runtime/computes.def"
#undef PP_COMPUTE

static const pp_compute *const computes[] = {
#define PP_COMPUTE(id) &pp_compute_##id,
#include "runtime/computes.def"
#undef PP_COMPUTE
};

enum { COMPUTE_COUNT = sizeof computes / sizeof computes[0] };

size_t pp_compute_count(void)
{
    return COMPUTE_COUNT;
}

const pp_compute *pp_compute_at(size_t index)
{
    return computes[index];
}

pp_status pp_compute_get(const char *name, const pp_compute **compute_out, pp_err *err)
{
    const char *names[COMPUTE_COUNT + 1] = { NULL };
    for (size_t i = 0; i < COMPUTE_COUNT; i++) {
        names[i] = computes[i]->name;
        if (strcmp(names[i], name) == 0) {
            *compute_out = computes[i];
            return PP_OK;
        }
    }
    const char *near = pp_text_nearest(name, names);
    return pp_err_set(err, PP_USAGE, "--compute",
                      "there is no compute '%.64s'%s%s%s; 'ppsim list computes' shows all", name,
                      near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}
