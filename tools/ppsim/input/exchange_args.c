/* Reads the options of size protocols: how receivers learn the sizes of tensors, and what that
 * costs the host. */
#include "tools/ppsim/input/exchange_args.h"

#include "tools/ppsim/base/args.h"

#include <string.h>

bool pp_args_is_auto(const pp_args *args, const char *option)
{
    const char *text = pp_args_text(args, option);
    return text && strcmp(text, "auto") == 0;
}

pp_status pp_args_exchange(const pp_args *args, pp_exchange_options *exchange, pp_err *err)
{
    return pp_args_exchange_or_auto(args, exchange, NULL, err);
}

pp_status pp_args_exchange_or_auto(const pp_args *args, pp_exchange_options *exchange,
                                   bool *auto_out, pp_err *err)
{
    const bool chosen = auto_out && pp_args_is_auto(args, "--shapes");
    const char *shapes = chosen ? NULL : pp_args_text(args, "--shapes");
    const char *host = pp_args_text(args, "--host");
    pp_exchange_options parsed = *exchange;
    pp_status status = PP_OK;
    if (shapes)
        status = pp_size_protocol_parse(shapes, &parsed.shapes, err);
    if (!status && host)
        status = pp_host_costs_parse(host, &parsed.host, err);
    if (status ||
        (status = pp_args_duration(args, "--shape-message", &parsed.shape_message_ns, err)) ||
        (status = pp_args_int(args, "--tensors-per-boundary", 1, PP_TENSORS_MAX, &parsed.tensors,
                              err)) ||
        (status = pp_args_int(args, "--pipeline-runs", 1, PP_RUNS_MAX, &parsed.runs, err)))
        return status;
    const char *ahead = pp_args_text(args, "--unshard-lookahead");
    if (ahead)
        status = pp_unshard_lookahead_parse(ahead, &parsed.pytorch.unshard_lookahead, err);
    const char *sends = pp_args_text(args, "--max-outstanding-sends");
    if (!status && sends && strcmp(sends, "none") == 0)
        parsed.pytorch.max_outstanding_sends = 0;
    else if (!status)
        status = pp_args_int(args, "--max-outstanding-sends", 1, PP_SENDS_MAX,
                             &parsed.pytorch.max_outstanding_sends, err);
    if (status)
        return status;
    if (parsed.shape_message_ns > PP_HOST_NS_MAX)
        return pp_err_set(err, PP_USAGE, "--shape-message", "must be at most 1000 s");
    *exchange = parsed;
    if (auto_out)
        *auto_out = chosen;
    return PP_OK;
}
