/* Reads and writes the uncertainty of ppsim.report (docs/reference/formats.md). */
#include "sim/analysis/uncertainty_json.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void pp_uncertainty_put(const pp_uncertainty *uncertainty, pp_json *report, pp_json_build *build)
{
    if (!uncertainty->step_ns)
        return;
    pp_json_put_int(build, report, "step_low_ns", uncertainty->step_low_ns);
    pp_json_put_int(build, report, "step_high_ns", uncertainty->step_high_ns);
    pp_json_put_bool(build, report, "compute_measured", !uncertainty->links_only);
    if (uncertainty->has_memory) {
        pp_json_put_int(build, report, "peak_memory_low_bytes", uncertainty->peak_low_bytes);
        pp_json_put_int(build, report, "peak_memory_high_bytes", uncertainty->peak_high_bytes);
    }
    pp_json *list = pp_json_new_array(build);
    for (size_t i = 0; i < uncertainty->count; i++) {
        pp_json *item = pp_json_new_object(build);
        pp_json_put_text(build, item, "class", uncertainty->part[i].name);
        pp_json_put_int(build, item, "less_ns", uncertainty->part[i].less_ns);
        pp_json_put_int(build, item, "more_ns", uncertainty->part[i].more_ns);
        pp_json_add(build, list, item);
    }
    pp_json_put(build, report, "uncertainty", list);
}

static pp_status read_part(const pp_json_at *list, size_t index, pp_uncertain_part *part,
                           pp_err *err)
{
    static const char *const keys[] = { "class", "less_ns", "more_ns", NULL };
    pp_json_at item;
    pp_status status = pp_json_item(list, index, &item, err);
    if (status || (status = pp_json_only(&item, keys, err)) ||
        (status = pp_json_get_name(&item, "class", part->name, sizeof part->name, err)) ||
        (status = pp_json_get_int(&item, "less_ns", 0, PP_NS_MAX, &part->less_ns, err)))
        return status;
    return pp_json_get_int(&item, "more_ns", 0, PP_NS_MAX, &part->more_ns, err);
}

static pp_status read_parts(const pp_json_at *report, pp_uncertainty *u, pp_err *err)
{
    pp_json_at list;
    size_t count = 0;
    pp_status status = pp_json_get(report, "uncertainty", &list, err);
    if (status || (status = pp_json_count(&list, &count, err)))
        return status;
    u->part = pp_alloc_array(count + 1, sizeof *u->part);
    if (!u->part)
        return pp_err_nomem(err);
    for (; u->count < count && !status; u->count += !status)
        status = read_part(&list, u->count, &u->part[u->count], err);
    return status;
}

pp_status pp_uncertainty_read(const pp_json_at *report, pp_uncertainty *uncertainty_out,
                              pp_err *err)
{
    pp_uncertainty u PP_CLEANUP(pp_uncertainty_free) = { 0 };
    if (!pp_json_has(report, "step_low_ns"))
        return PP_OK;
    pp_status status = pp_json_get_int(report, "step_ns", 1, PP_NS_MAX, &u.step_ns, err);
    if (status ||
        (status = pp_json_get_int(report, "step_low_ns", 0, u.step_ns, &u.step_low_ns, err)) ||
        (status =
             pp_json_get_int(report, "step_high_ns", u.step_ns, PP_NS_MAX, &u.step_high_ns, err)) ||
        (status = read_parts(report, &u, err)))
        return status;
    if (pp_json_has(report, "compute_measured")) {
        bool measured = true;
        if ((status = pp_json_get_bool(report, "compute_measured", &measured, err)))
            return status;
        u.links_only = !measured;
    }
    u.has_memory = pp_json_has(report, "peak_memory_low_bytes");
    if (u.has_memory &&
        ((status = pp_json_get_int(report, "peak_memory_low_bytes", 0, PP_BYTES_MAX,
                                   &u.peak_low_bytes, err)) ||
         (status = pp_json_get_int(report, "peak_memory_high_bytes", u.peak_low_bytes, PP_BYTES_MAX,
                                   &u.peak_high_bytes, err))))
        return status;
    *uncertainty_out = u;
    u = (pp_uncertainty){ 0 };
    return PP_OK;
}
