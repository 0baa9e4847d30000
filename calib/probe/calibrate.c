/* Runs probes one after the other. The time budget is divided by their shares, and time that a
 * probe does not use goes to the later ones. A probe that cannot run here is listed as skipped.
 * Samples measured before a failure or an interrupt are kept, so that a later call resumes. */
#include "calib/probe/calibrate.h"

#include "runtime/core/clock.h"
#include "sim/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_BYTES_MAX ((size_t)256 << 20)

pp_calibrate_options pp_calibrate_default(bool quick)
{
    pp_calibrate_options options = {
        .probe = { .scale = quick ? PP_PROBE_QUICK : PP_PROBE_FULL },
        .protocol = pp_protocol_default(quick),
    };
    options.protocol.total_ns = quick ? 14000000000 : 75000000000;
    return options;
}

void pp_calibration_free(pp_calibration *calibration)
{
    free(calibration->note);
    *calibration = (pp_calibration){ 0 };
}

static pp_status check_options(const pp_calibrate_options *options, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; options->names && options->names[i] && !status; i++) {
        const pp_probe *ignored;
        status = pp_probe_get(options->names[i], &ignored, err);
    }
    const uint32_t wanted = status ? 0 : pp_probe_bits(options->names);
    for (size_t i = 0; i < pp_probe_count() && !status; i++) {
        if (wanted >> i & 1 && pp_probe_at(i)->check)
            status = pp_probe_at(i)->check(err);
    }
    return status;
}

/* Measures the points of a probe. Points that an earlier run left out are tried again. */
static pp_status run_subject(const char *name, const pp_protocol *protocol,
                             const pp_subject *subject, pp_samples *samples,
                             pp_calibration *calibration, pp_err *err)
{
    char what[96];
    void *list = calibration->note;
    size_t count = calibration->count + subject->series_count;
    pp_status status = pp_grow(&list, &calibration->capacity, count, sizeof(pp_series_note), err);
    if (status)
        return status;
    calibration->note = list;
    pp_samples_unskip(samples, name);
    for (size_t k = 0; k < subject->series_count; k++) {
        snprintf(what, sizeof what, "points of %s", subject->series[k].class_name);
        pp_samples_unskip(samples, what);
    }
    status = pp_measure(protocol, subject, samples, calibration->note + calibration->count,
                        &calibration->interrupted, err);
    if (!status)
        calibration->count = count;
    return status;
}

static pp_status run_probe(const pp_probe *probe, const pp_calibrate_options *options,
                           const pp_protocol *protocol, pp_samples *samples,
                           pp_calibration *calibration, pp_err *err)
{
    void *state = NULL;
    const pp_subject *subject = NULL;
    pp_err why = pp_err_like(err);
    char name[64];
    pp_probe_options how = options->probe;
    snprintf(name, sizeof name, "probe %s", probe->name);
    how.budget_ns = protocol->total_ns > 0 ? protocol->total_ns : 1;
    how.stop = protocol->stop;
    pp_status status = probe->open(&how, &state, &subject, &why);
    if (status == PP_UNAVAILABLE)
        return pp_samples_skip(samples, name, why.text, err);
    if (status)
        return pp_err_set(err, status, why.where, "%s", why.text);
    if (subject && subject->device) {
        snprintf(samples->device, sizeof samples->device, "%s", subject->device);
        calibration->sm_count = subject->sm_count;
    }
    if (probe->asked)
        pp_gpu_states_look(&calibration->gpus, probe->name, false);
    if (subject)
        status = run_subject(name, protocol, subject, samples, calibration, err);
    if (probe->asked)
        pp_gpu_states_look(&calibration->gpus, probe->name, true);
    calibration->helped |= !subject;
    probe->close(state);
    return status;
}

/* Gives each probe its share of the time that is left. */
static pp_status run_probes(const pp_calibrate_options *options, pp_samples *samples,
                            pp_calibration *calibration, pp_err *err)
{
    pp_protocol protocol = options->protocol;
    const pp_ns end_ns = pp_clock_now_ns() + protocol.total_ns;
    pp_status status = PP_OK;
    uint32_t shares = 0;
    calibration->unfinished = pp_probe_bits(options->names);
    if (protocol.flush_bytes == 0 && calibration->environment.last_cache_bytes > 0) {
        size_t twice = 2 * (size_t)calibration->environment.last_cache_bytes;
        protocol.flush_bytes = twice < FLUSH_BYTES_MAX ? twice : FLUSH_BYTES_MAX;
    }
    for (size_t i = 0; i < pp_probe_count(); i++)
        shares += calibration->unfinished >> i & 1 ? pp_probe_at(i)->share : 0;
    for (size_t i = 0; i < pp_probe_count() && !status; i++) {
        const pp_ns left_ns = end_ns - pp_clock_now_ns();
        if (calibration->interrupted)
            break;
        if (!(calibration->unfinished >> i & 1) || (calibration->helped && !pp_probe_at(i)->joint))
            continue;
        protocol.total_ns = left_ns > 0 ? left_ns / shares * pp_probe_at(i)->share : 0;
        shares -= pp_probe_at(i)->share;
        status = run_probe(pp_probe_at(i), options, &protocol, samples, calibration, err);
        calibration->interrupted |= status != PP_OK;
        if (!calibration->interrupted)
            calibration->unfinished &= ~(1u << i);
    }
    return status;
}

pp_status pp_calibrate_probes(const pp_calibrate_options *options, pp_samples *samples,
                              pp_calibration *calibration_out, pp_err *err)
{
    pp_calibration calibration PP_CLEANUP(pp_calibration_free) = { 0 };
    pp_status status = check_options(options, err);
    if (status)
        return status;
    pp_environment_look(&calibration.environment);
    if (!samples->device[0])
        snprintf(samples->device, sizeof samples->device, "%s", calibration.environment.cpu);
    status = run_probes(options, samples, &calibration, err);
    *calibration_out = calibration;
    calibration = (pp_calibration){ 0 }; /* owned by the caller now */
    return status;
}
