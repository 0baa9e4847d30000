/* Probe of messages between two threads of this process. */
#include "calib/measure/link_probe.h"
#include "calib/probe/probe.h"
#include "calib/samples/environment.h"
#include "runtime/transport/registry.h"

static pp_status join(size_t bytes_max, pp_ping **ping_out, pp_err *err)
{
    const pp_transport *transport;
    pp_status status = pp_environment_need_two_cores(err);
    if (!status)
        status = pp_transport_get("threads", &transport, err);
    if (!status)
        status = pp_ping_new(transport, bytes_max, ping_out, err);
    return status ? status : pp_ping_start(*ping_out, err);
}

static pp_status link_open(const pp_probe_options *options, void **state_out,
                           const pp_subject **subject_out, pp_err *err)
{
    return pp_link_probe_open(options, "thread_link", "probe thread-link, wall time", join,
                              state_out, subject_out, err);
}

const pp_probe pp_probe_thread_link = {
    .name = "thread-link",
    .summary = "time of messages between two threads by size (transport threads, rendezvous)",
    .share = 12,
    .open = link_open,
    .close = pp_link_probe_close,
};
