#include "calib/probe/probes.h"

#include "runtime/core/clock.h"
#include "sim/base/alloc.h"
#include "sim/base/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_BYTES_MAX ((size_t)256 << 20)

#define PP_PROBE(id) extern const pp_probe pp_probe_##id;
#include "calib/probes.def"
#undef PP_PROBE

static const pp_probe *const probes[] = {
#define PP_PROBE(id) &pp_probe_##id,
#include "calib/probes.def"
#undef PP_PROBE
};

enum { PROBE_COUNT = sizeof probes / sizeof probes[0] };

size_t pp_probe_count(void)
{
    return PROBE_COUNT;
}

const pp_probe *pp_probe_at(size_t index)
{
    return probes[index];
}

static const char *name_at(size_t index)
{
    return probes[index]->name;
}

static const pp_registry registry = {
    .noun = "probe", .option = "--probe", .list = "probes", .count = PROBE_COUNT, .name = name_at
};

pp_status pp_probe_get(const char *name, const pp_probe **probe_out, pp_err *err)
{
    size_t index = 0;
    pp_status status = pp_registry_get(&registry, name, &index, err);
    if (!status)
        *probe_out = probes[index];
    return status;
}

pp_status pp_probe_needs_two_cores(pp_err *err)
{
    pp_environment here;
    pp_environment_look(&here);
    if (here.cores != 1)
        return PP_OK;
    return pp_err_set(err, PP_UNAVAILABLE, NULL,
                      "it takes two processors, and this process may use one; start it without "
                      "mpirun, or with mpirun --bind-to none");
}

const pp_subject_series pp_gemm_series[PP_GEMM_SERIES] = {
    { .class_name = "gemm_fwd qkv" },      { .class_name = "gemm_fwd proj" },
    { .class_name = "gemm_fwd mlp_up" },   { .class_name = "gemm_fwd mlp_down" },
    { .class_name = "gemm_dgrad qkv" },    { .class_name = "gemm_dgrad proj" },
    { .class_name = "gemm_dgrad mlp_up" }, { .class_name = "gemm_dgrad mlp_down" },
    { .class_name = "gemm_wgrad qkv" },    { .class_name = "gemm_wgrad proj" },
    { .class_name = "gemm_wgrad mlp_up" }, { .class_name = "gemm_wgrad mlp_down" },
};

pp_point pp_point_of(uint32_t series, uint32_t laps)
{
    pp_point point = { .series = series, .laps = laps };
    for (int v = 0; v < PP_VARIABLE_COUNT; v++)
        point.at[v] = NAN;
    return point;
}

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

uint32_t pp_probe_bits(const char *const *names)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < PROBE_COUNT; i++) {
        size_t k = 0;
        while (names && names[k] && strcmp(names[k], probes[i]->name) != 0)
            k++;
        const bool wanted = names ? names[k] != NULL : !probes[i]->asked;
        bits |= wanted ? 1u << i : 0;
    }
    return bits;
}

static pp_status check_options(const pp_calibrate_options *options, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; options->names && options->names[i] && !status; i++) {
        const pp_probe *ignored;
        status = pp_probe_get(options->names[i], &ignored, err);
    }
    const uint32_t wanted = status ? 0 : pp_probe_bits(options->names);
    for (size_t i = 0; i < PROBE_COUNT && !status; i++) {
        if (wanted >> i & 1 && probes[i]->check)
            status = probes[i]->check(err);
    }
    return status;
}

/* What was left out before is tried again. */
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
    pp_err why = { 0 };
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

/* Time that a probe leaves over goes to those behind it. */
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
    for (size_t i = 0; i < PROBE_COUNT; i++)
        shares += calibration->unfinished >> i & 1 ? probes[i]->share : 0;
    for (size_t i = 0; i < PROBE_COUNT && !status; i++) {
        const pp_ns left_ns = end_ns - pp_clock_now_ns();
        if (calibration->interrupted)
            break;
        if (!(calibration->unfinished >> i & 1) || (calibration->helped && !probes[i]->joint))
            continue;
        protocol.total_ns = left_ns > 0 ? left_ns / shares * probes[i]->share : 0;
        shares -= probes[i]->share;
        status = run_probe(probes[i], options, &protocol, samples, calibration, err);
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
    calibration = (pp_calibration){ 0 }; /* the caller's now */
    return status;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

bool pp_interference_class(const char *class_name)
{
    static const char *const classes[] = { "compute_alone", "compute_beside_copy",
                                           "compute_beside_link", "link_alone",
                                           "link_beside_compute" };
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strcmp(classes[i], class_name) == 0)
            return true;
    }
    return false;
}

static const pp_sample *counterpart(const pp_series *series, const pp_sample *sample)
{
    for (size_t i = 0; i < series->count; i++) {
        const pp_sample *other = &series->sample[i];
        bool found = other->pass == sample->pass;
        for (int v = 0; v < PP_VARIABLE_COUNT && found; v++)
            found = other->at[v] == sample->at[v] || (isnan(other->at[v]) && isnan(sample->at[v]));
        if (found)
            return other;
    }
    return NULL;
}

/* The median of how much longer it takes; NaN where nothing was measured in both. */
static pp_status ratio(const pp_samples *samples, const char *beside, const char *alone,
                       double *ratio_out, pp_err *err)
{
    const pp_series *b = pp_samples_find(samples, beside);
    const pp_series *a = pp_samples_find(samples, alone);
    size_t count = 0;
    *ratio_out = NAN;
    if (!a || !b)
        return PP_OK;
    double *ratios = pp_alloc_array(b->count, sizeof *ratios);
    if (!ratios)
        return pp_err_nomem(err);
    for (size_t i = 0; i < b->count; i++) {
        const pp_sample *other = counterpart(a, &b->sample[i]);
        if (other)
            ratios[count++] = b->sample[i].seconds / other->seconds;
    }
    qsort(ratios, count, sizeof *ratios, by_size);
    if (count)
        *ratio_out = fmax(1, pp_quantile(ratios, count, 0.5));
    free(ratios);
    return PP_OK;
}

pp_status pp_interference_of(const pp_samples *samples, pp_interference *interference_out,
                             pp_err *err)
{
    pp_interference found;
    pp_status status;
    if ((status = ratio(samples, "compute_beside_link", "compute_alone", &found.compute, err)) ||
        (status = ratio(samples, "compute_beside_copy", "compute_alone", &found.compute_beside_copy,
                        err)) ||
        (status = ratio(samples, "link_beside_compute", "link_alone", &found.comm, err)))
        return status;
    *interference_out = found;
    return PP_OK;
}
