/* The table of targets, made from traces/targets.def. */
#include "traces/target/registry.h"

#include <string.h>

#define PP_TARGET(id) extern const pp_target pp_target_##id;
#include "traces/targets.def"
#undef PP_TARGET

static const pp_target *const targets[] = {
#define PP_TARGET(id) &pp_target_##id,
#include "traces/targets.def"
#undef PP_TARGET
};

enum { TARGET_COUNT = sizeof targets / sizeof targets[0] };

size_t pp_target_count(void)
{
    return TARGET_COUNT;
}

const pp_target *pp_target_at(size_t index)
{
    return targets[index];
}

const pp_target *pp_target_find(const char *name)
{
    for (size_t i = 0; i < TARGET_COUNT; i++) {
        if (strcmp(targets[i]->limits.name, name) == 0)
            return targets[i];
    }
    return NULL;
}

pp_status pp_target_get(const char *name, const pp_target **target_out, pp_err *err)
{
    const pp_target *found = pp_target_find(name);
    pp_text names PP_CLEANUP(pp_text_free) = { 0 };
    if (found) {
        *target_out = found;
        return PP_OK;
    }
    for (size_t i = 0; i < TARGET_COUNT; i++)
        pp_text_add(&names, "%s%s",
                    i == 0                 ? ""
                    : i + 1 < TARGET_COUNT ? ", "
                                           : " or ",
                    targets[i]->limits.name);
    return pp_err_set(err, PP_USAGE, "--target", "'%.64s' is no target; it may be %s", name,
                      names.data ? names.data : "one of 'ppsim list targets'");
}
