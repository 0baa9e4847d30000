/* What the command line says about shapes, hosts and tensors. */
#include "tools/tool.h"

pp_status pp_args_exchange(const pp_args *args, pp_exchange *exchange, pp_err *err)
{
    const char *shapes = pp_args_text(args, "--shapes");
    const char *host = pp_args_text(args, "--host");
    pp_exchange parsed = *exchange;
    pp_status status = PP_OK;
    if (shapes)
        status = pp_shapes_parse(shapes, &parsed.shapes, err);
    if (!status && host)
        status = pp_host_costs_parse(host, &parsed.host, err);
    if (status ||
        (status = pp_args_duration(args, "--shape-message", &parsed.shape_message_ns, err)) ||
        (status =
             pp_args_int(args, "--tensors-per-boundary", 1, PP_TENSORS_MAX, &parsed.tensors, err)))
        return status;
    if (parsed.shape_message_ns > PP_HOST_NS_MAX)
        return pp_err_set(err, PP_USAGE, "--shape-message", "is more than 1000 s");
    *exchange = parsed;
    return PP_OK;
}
