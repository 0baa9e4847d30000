/* Probe of messages between two processes that mpirun started. It runs first, because the second
 * process, which ends after it, would disturb the later measurements. */
#include "calib/measure/link_probe.h"
#include "calib/probe/probe.h"
#include "runtime/transport/registry.h"

#include <stdlib.h>

/* Returns whether an MPI launcher started this process. Without one, opening a world would start
 * MPI in vain. */
static bool under_mpirun(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE") || getenv("PMIX_RANK");
}

/* Another number of processes is an error, not a reason to skip the probe: several processes would
 * run the other probes at the same time. */
static pp_status meet(const pp_transport *transport, size_t bytes_max, pp_ping **ping_out,
                      pp_err *err)
{
    pp_err why = pp_err_like(err);
    pp_status status = pp_ping_new(transport, bytes_max, ping_out, &why);
    if (status == PP_USAGE)
        return pp_err_set(err, PP_USAGE, "probe mpi-link",
                          "it needs exactly two processes; start them with mpirun -n 2");
    return status ? pp_err_set(err, status, why.where, "%s", why.text) : PP_OK;
}

static pp_status join(size_t bytes_max, pp_ping **ping_out, pp_err *err)
{
    const pp_transport *transport;
    pp_status status = pp_transport_get("mpi", &transport, err);
    if (!status && !under_mpirun())
        status = pp_err_set(err, PP_UNAVAILABLE, NULL,
                            "it needs two processes; start them with mpirun -n 2");
    if (!status)
        status = meet(transport, bytes_max, ping_out, err);
    if (!status && pp_ping_is_partner(*ping_out))
        status = pp_ping_serve(*ping_out, err);
    return status;
}

static pp_status link_open(const pp_probe_options *options, void **state_out,
                           const pp_subject **subject_out, pp_err *err)
{
    return pp_link_probe_open(options, "mpi_link", "probe mpi-link, wall time", join, state_out,
                              subject_out, err);
}

const pp_probe pp_probe_mpi_link = {
    .name = "mpi-link",
    .summary = "time of messages between two processes of mpirun -n 2 by size (transport mpi)",
    .share = 12,
    .joint = true,
    .open = link_open,
    .close = pp_link_probe_close,
};
