/* Messages between two processes that mpirun started. It comes first, as the second process must
 * not disturb what the first one measures later. */
#include "calib/ping.h"
#include "calib/probes.h"
#include "sim/alloc.h"

#include <stdlib.h>

enum { POINTS_MAX = 12 };

typedef struct linking {
    pp_subject subject;
    pp_subject_series series;
    pp_point point[POINTS_MAX];
    pp_ping *ping;
} linking;

/* Without, opening a world would start MPI for nothing. */
static bool under_mpirun(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE") || getenv("PMIX_RANK");
}

static void link_close(void *state)
{
    linking *l = state;
    if (!l)
        return;
    pp_ping_free(&l->ping);
    free(l);
}

static pp_status link_run(void *context, size_t point, uint32_t runs, pp_timing *timing,
                          pp_err *err)
{
    linking *l = context;
    return pp_ping_run(l->ping, (size_t)l->point[point].at[PP_VARIABLE_BYTES], runs, timing, err);
}

/* More processes would measure side by side, so that this is an error and no reason to skip. */
static pp_status meet(const pp_transport *transport, size_t bytes_max, pp_ping **ping_out,
                      pp_err *err)
{
    pp_err why = { 0 };
    pp_status status = pp_ping_new(transport, bytes_max, ping_out, &why);
    if (status == PP_USAGE)
        return pp_err_set(err, PP_USAGE, "probe mpi-link",
                          "it takes two processes, but mpirun has started more or fewer; start "
                          "them with mpirun -n 2");
    return status ? pp_err_set(err, status, why.where, "%s", why.text) : PP_OK;
}

static pp_status link_open(const pp_probe_options *options, void **state_out,
                           const pp_subject **subject_out, pp_err *err)
{
    static const size_t bytes[] = { 64,     65536,  1048576, 4194304, 4096, 262144,
                                    524288, 131072, 16384,   2097152, 1024 };
    static const size_t counts[] = {
        [PP_PROBE_FULL] = 11, [PP_PROBE_QUICK] = 5, [PP_PROBE_TINY] = 2
    };
    const pp_transport *transport;
    size_t bytes_max = 0;
    linking *l = pp_alloc_array(1, sizeof *l);
    if (!l)
        return pp_err_nomem(err);
    l->series = (pp_subject_series){ .class_name = "mpi_link", .link = true, .ranks = 2 };
    l->subject = (pp_subject){ .source = "probe mpi-link, wall time",
                               .stopwatch = PP_STOPWATCH_WALL,
                               .series = &l->series,
                               .series_count = 1,
                               .point = l->point,
                               .point_count = counts[options->scale],
                               .context = l,
                               .run = link_run };
    for (size_t i = 0; i < l->subject.point_count; i++) {
        l->point[i] = pp_point_of(0, 1);
        l->point[i].at[PP_VARIABLE_BYTES] = (double)bytes[i];
        bytes_max = bytes[i] > bytes_max ? bytes[i] : bytes_max;
    }
    pp_status status = pp_transport_get("mpi", &transport, err);
    if (!status && !under_mpirun())
        status = pp_err_set(err, PP_UNAVAILABLE, NULL,
                            "it takes two processes; start them with mpirun -n 2");
    if (!status)
        status = meet(transport, bytes_max, &l->ping, err);
    bool partner = !status && pp_ping_is_partner(l->ping);
    if (partner)
        status = pp_ping_serve(l->ping, err);
    if (status) {
        link_close(l);
        return status;
    }
    *state_out = l;
    *subject_out = partner ? NULL : &l->subject;
    return PP_OK;
}

const pp_probe pp_probe_mpi_link = {
    .name = "mpi-link",
    .summary = "messages between two processes of mpirun -n 2 (transport mpi), over bytes",
    .share = 12,
    .open = link_open,
    .close = link_close,
};
