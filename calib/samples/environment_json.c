/* Reads and writes the "environment" of a profile (docs/reference/formats.md). Unknown facts are
 * left out or null. */
#include "calib/samples/environment_json.h"

pp_json *pp_environment_write(const pp_environment *e, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json_put_text(build, object, "cpu", e->cpu[0] ? e->cpu : NULL);
    pp_json_put_text(build, object, "governor", e->governor[0] ? e->governor : NULL);
    pp_json_put_text(build, object, "kernel", e->kernel[0] ? e->kernel : NULL);
    pp_json_put_text(build, object, "version", e->version);
    pp_json_put_int(build, object, "cores", e->cores);
    pp_json_put_int(build, object, "last_cache_bytes", e->last_cache_bytes);
    if (e->load >= 0)
        pp_json_put_double(build, object, "load", e->load);
    return object;
}

pp_status pp_environment_read(const pp_json_at *at, pp_environment *environment_out, pp_err *err)
{
    static const char *const keys[] = { "cpu",   "governor",         "kernel", "version",
                                        "cores", "last_cache_bytes", "load",   NULL };
    pp_environment e = { .load = -1 };
    int64_t cores = 0;
    pp_status status;
    if ((status = pp_json_only(at, keys, err)) ||
        (status = pp_json_get_optional_name(at, "cpu", e.cpu, sizeof e.cpu, err)) ||
        (status = pp_json_get_optional_name(at, "governor", e.governor, sizeof e.governor, err)) ||
        (status = pp_json_get_optional_name(at, "kernel", e.kernel, sizeof e.kernel, err)) ||
        (status = pp_json_get_optional_name(at, "version", e.version, sizeof e.version, err)) ||
        (status = pp_json_get_int(at, "cores", 0, INT32_MAX, &cores, err)) ||
        (status = pp_json_get_int(at, "last_cache_bytes", 0, INT64_MAX, &e.last_cache_bytes, err)))
        return status;
    if (pp_json_has(at, "load") && (status = pp_json_get_double(at, "load", 0, 1e9, &e.load, err)))
        return status;
    e.cores = (int32_t)cores;
    *environment_out = e;
    return PP_OK;
}
