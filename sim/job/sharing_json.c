/* Reads and writes the object "sharing" of ppsim.plan (docs/reference/formats.md). */
#include "sim/job/sharing_json.h"

#include <math.h>

pp_status pp_sharing_read(const pp_json_at *at, pp_sharing *sharing_out, pp_err *err)
{
    static const char *const keys[] = { "ranks_per_nic", "compute_slowdown", "comm_slowdown",
                                        "transfer_latency_ns", NULL };
    pp_sharing s = { 0 };
    pp_status status = pp_json_only(at, keys, err);
    if (status || (pp_json_has(at, keys[0]) &&
                   (status = pp_json_get_int(at, keys[0], 1, UINT16_MAX, &s.ranks_per_nic, err))))
        return status;
    if ((status = pp_json_get_double(at, keys[1], 1, PP_SLOWDOWN_MAX, &s.compute_slowdown, err)) ||
        (status = pp_json_get_double(at, keys[2], 1, PP_SLOWDOWN_MAX, &s.comm_slowdown, err)) ||
        (status = pp_json_get_int(at, keys[3], 0, PP_NS_MAX, &s.latency_ns, err)))
        return status;
    *sharing_out = s;
    return PP_OK;
}

pp_json *pp_sharing_write(const pp_sharing *sharing, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    if (sharing->ranks_per_nic)
        pp_json_put_int(build, object, "ranks_per_nic", sharing->ranks_per_nic);
    else
        pp_json_put_null(build, object, "ranks_per_nic");
    pp_json_put_double(build, object, "compute_slowdown", fmax(1, sharing->compute_slowdown));
    pp_json_put_double(build, object, "comm_slowdown", fmax(1, sharing->comm_slowdown));
    pp_json_put_int(build, object, "transfer_latency_ns", sharing->latency_ns);
    return object;
}
