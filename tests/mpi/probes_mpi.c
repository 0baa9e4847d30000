/* Probe mpi-link between the processes of mpirun: the first one has the samples, the second one
 * only helps. usage: probes_mpi link | refused */
#include "calib/probe/calibrate.h"
#include "tests/mpi/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_link(const pp_samples *samples, const pp_calibration *calibration)
{
    CHECK(samples->count == 1 && !samples->skipped, "%zu series", samples->count);
    const pp_series *series = &samples->series[0];
    CHECK(series->count == calibration->note[0].points && series->count >= 4, "%zu samples",
          series->count);
    for (size_t i = 0; i < series->count; i++) {
        const pp_sample *s = &series->sample[i];
        CHECK(isfinite(s->seconds) && s->seconds > 0 && s->at[PP_VARIABLE_BYTES] > 0, "%g s of %g",
              s->seconds, s->at[PP_VARIABLE_BYTES]);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "mpi-link", NULL };
    pp_calibrate_options options = pp_calibrate_default(true);
    pp_samples samples = { 0 };
    pp_calibration calibration = { 0 };
    pp_err err = { 0 };
    options.names = names;
    options.probe.scale = PP_PROBE_TINY;
    options.protocol.total_ns = 1000000000;
    pp_status status = pp_calibrate_probes(&options, &samples, &calibration, &err);
    if (argc > 1 && strcmp(argv[1], "refused") == 0) {
        CHECK(status == PP_USAGE && strstr(err.text, "mpirun -n 2"), "%s", err.text);
    } else {
        OK(status, err);
        if (calibration.helped)
            CHECK(samples.count == 0, "%zu series", samples.count);
        else
            check_link(&samples, &calibration);
    }
    pp_samples_free(&samples);
    pp_calibration_free(&calibration);
    return EXIT_SUCCESS;
}
