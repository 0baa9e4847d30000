/* Writes the object "why" of ppsim.report (docs/reference/formats.md). */
#include "sim/analysis/time_breakdown_json.h"

static const char *const keys[PP_WHY_COUNT] = {
#define PP_WHY_KEY(name, key, text) #key "_ns",
    PP_WHY_MAP(PP_WHY_KEY)
#undef PP_WHY_KEY
};

static pp_json *write_parts(const pp_why *why, const pp_ns *ns, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    for (int c = 0; c < PP_WHY_COUNT; c++) {
        if (c == PP_WHY_COLLECTIVES && !why->has_collectives)
            pp_json_put_null(build, object, keys[c]);
        else if (c != PP_WHY_SHARDING || why->has_sharding)
            pp_json_put_int(build, object, keys[c], ns[c]);
    }
    return object;
}

pp_json *pp_why_write(const pp_why *why, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json_put(build, object, "mean", write_parts(why, why->mean_ns, build));
    pp_json_put(build, object, "slowest", write_parts(why, why->slowest_ns, build));
    pp_json_put_int(build, object, "slowest_rank", why->slowest);
    return object;
}
