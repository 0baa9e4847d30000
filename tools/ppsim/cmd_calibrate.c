/* ppsim calibrate: makes a profile from measurements on this machine or from imported ones. */
#include "calib/import/import_read.h"
#include "calib/profile/profile_read.h"
#include "calib/profile/profile_write.h"
#include "calib/samples/stage_costs_json.h"
#include "sim/base/alloc.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/option_names.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/base/ticker.h"
#include "tools/ppsim/calibrate/print.h"
#include "tools/ppsim/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBES_MAX = 64 };

static const pp_option options[] = {
    { PP_ROW_REPEATED("--import", "[FORMAT=]FILE", MEASUREMENTS,
                      "import measurements: a format from 'ppsim list imports', recognised if not "
                      "given",
                      NULL) },
    { PP_ROW_REPEATED("--probe", "NAME", MEASUREMENTS,
                      "run only this measurement: a name from 'ppsim list probes'",
                      "all but GPU probes, or none with --import") },
    { PP_ROW("--quick", NULL, MEASUREMENTS, "measure fewer points: 20 s instead of 2 minutes",
             NULL) },
    { PP_ROW("--budget", "TIME", MEASUREMENTS, "time limit of all measurements together",
             "75s, with --quick 14s") },
    { PP_ROW("--resume", NULL, MEASUREMENTS, "continue the interrupted or failed run in -o FILE",
             NULL) },
    { PP_ROW("--device", "N", MEASUREMENTS, "run the GPU measurements, on this GPU, counted from 0",
             "0 with --probe") },
    { PP_ROW("--compute-settings", "LIST", MEASUREMENTS, "sizes of the model that is measured",
             PP_PROBE_SETTINGS ", for GPUs see docs/reference/calibration-probes.md") },
    { PP_ROW("--layers", "N", MEASUREMENTS, "number of layers of the measured stage", "1") },
    { PP_ROW("--seed", "N", MEASUREMENTS, "random seed of the order of the points", "0") },
    { PP_ROW(
        "--sm-count", "N", MEASUREMENTS,
        "number of SMs of the GPU that ran the imported kernels, for fits with wave quantization",
        NULL) },
    { PP_ROW("--emit", "costs=FILE", OUTPUT,
             "write the times of the numbered stages, for --costs-file", NULL) },
    { PP_ROW_END },
};

/* Set by a signal. The samples measured so far are kept. */
static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
    signal(SIGINT, SIG_DFL); /* a second signal ends the program */
    signal(SIGTERM, SIG_DFL);
}

typedef struct calibrating {
    const char *names[PROBES_MAX + 1];
    pp_calibrate_options options;
    bool measures;
    pp_samples samples;
    size_t known; /* number of samples before anything is measured */
    pp_calibration calibration;
    pp_profile *before; /* NULL: nothing is resumed */
    pp_profile *profile;
} calibrating;

static void calibrating_free(calibrating *c)
{
    pp_samples_free(&c->samples);
    pp_calibration_free(&c->calibration);
    pp_profile_free(&c->before);
    pp_profile_free(&c->profile);
}

static pp_status read_probes(const pp_args *args, calibrating *c, pp_err *err)
{
    int64_t layers = 1, seed = 0;
    int64_t device = 0;
    const char *name;
    size_t count = 0, gpu = 0;
    c->options = pp_calibrate_default(pp_args_has(args, "--quick"));
    for (; (name = pp_args_each(args, "--probe", count)); count++) {
        const pp_probe *ignored;
        pp_status status = pp_probe_get(name, &ignored, err);
        if (status)
            return status;
        if (count == PROBES_MAX)
            return pp_err_set(err, PP_USAGE, "--probe", "is given more than %d times", PROBES_MAX);
        c->names[count] = name;
    }
    for (size_t i = 0; pp_args_has(args, "--device") && !count && i < pp_probe_count(); i++) {
        if (pp_probe_at(i)->asked)
            c->names[gpu++] = pp_probe_at(i)->name;
    }
    count += gpu;
    c->options.names = count ? c->names : NULL;
    c->options.probe.settings = pp_args_text(args, "--compute-settings");
    c->options.protocol.stop = &stop;
    c->measures = count || !pp_args_has(args, "--import");
    pp_status status = pp_args_int(args, "--layers", 1, 1000, &layers, err);
    if (status || (status = pp_args_int(args, "--seed", 0, INT32_MAX, &seed, err)) ||
        (status = pp_args_duration(args, "--budget", &c->options.protocol.total_ns, err)))
        return status;
    if ((status = pp_args_int(args, "--device", 0, 1023, &device, err)))
        return status;
    c->options.probe.layers = layers;
    c->options.probe.device = (uint32_t)device;
    c->options.protocol.seed = (uint64_t)seed;
    return PP_OK;
}

/* Refuses options about measuring when nothing is measured. */
static pp_status check_options(const pp_args *args, const calibrating *c, pp_err *err)
{
    static const char *const measuring[] = {
        "--quick", "--budget", "--resume", "--compute-settings", "--layers", "--seed", NULL
    };
    const char *word = pp_args_word(args, 0);
    if (word)
        return pp_err_set(err, PP_USAGE, NULL,
                          "unexpected argument '%.200s'; to import a file, use --import FILE",
                          word);
    for (size_t i = 0; measuring[i] && !c->measures; i++) {
        if (pp_args_has(args, measuring[i]))
            return pp_err_set(
                err, PP_USAGE, measuring[i],
                "applies to probes, but with --import no probe runs; name probes with --probe");
    }
    const char *emit = pp_args_text(args, "--emit");
    if (emit && (strncmp(emit, "costs=", 6) != 0 || !emit[6]))
        return pp_err_set(err, PP_USAGE, "--emit", "'%.64s' must be costs=FILE", emit);
    if (pp_args_has(args, "--resume") && !pp_args_text(args, "-o"))
        return pp_err_set(err, PP_USAGE, "--resume",
                          "needs -o with the file of the interrupted profile");
    if (c->options.protocol.total_ns <= 0)
        return pp_err_set(err, PP_USAGE, "--budget", "must be longer than 0, for example 60s");
    return PP_OK;
}

static void show_measured(void *context, const pp_measure_progress *now)
{
    char what[96];
    snprintf(what, sizeof what, "measuring %s", now->class_name);
    pp_ticker_show(context, what, now->done, now->total);
}

static void show_fitted(void *context, const char *class_name, size_t done, size_t total)
{
    char what[96];
    snprintf(what, sizeof what, "fitting %s", class_name);
    pp_ticker_show(context, what, done, total);
}

static pp_status check_machine(const pp_profile *before, const char *path, pp_err *err)
{
    pp_environment here;
    pp_environment_look(&here);
    if (strcmp(before->environment.cpu, here.cpu) == 0)
        return PP_OK;
    return pp_err_set(err, PP_INPUT, path,
                      "was measured on '%s', but this machine is '%s'; resume there, or start a "
                      "new profile with another -o",
                      before->environment.cpu, here.cpu);
}

/* Loads the samples of an interrupted run. Its file is not changed until the new one is
 * complete. */
static pp_status resume(const pp_args *args, calibrating *c, pp_err *err)
{
    const char *path = pp_args_text(args, "-o");
    pp_status status = pp_profile_load(path, &c->before, err);
    if (status)
        return status;
    if (!c->before->measured)
        return pp_err_set(err, PP_USAGE, "--resume",
                          "%.200s has only imported measurements, so there is no run to resume",
                          path);
    if ((status = check_machine(c->before, path, err)))
        return status;
    c->samples = c->before->samples;
    c->before->samples = (pp_samples){ 0 };
    return PP_OK;
}

static size_t count_samples(const pp_samples *samples)
{
    size_t count = 0;
    for (size_t i = 0; i < samples->count; i++)
        count += samples->series[i].count;
    return count;
}

static pp_status gather(const pp_args *args, calibrating *c, pp_err *err)
{
    pp_ticker ticker = pp_ticker_begin("points", 0);
    const char *argument;
    pp_status status = PP_OK;
    if (pp_args_has(args, "--resume") && (status = resume(args, c, err)))
        return status;
    for (size_t i = 0; !status && (argument = pp_args_each(args, "--import", i)); i++)
        status = pp_import_argument(argument, &c->samples, err);
    if (status || !c->measures)
        return status;
    c->options.protocol.progress = show_measured;
    c->options.protocol.progress_context = &ticker;
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    c->known = count_samples(&c->samples);
    status = pp_calibrate_probes(&c->options, &c->samples, &c->calibration, err);
    pp_ticker_end(&ticker);
    if (!status && c->before)
        status = pp_profile_carry(c->before, c->options.names, &c->calibration, err);
    stop = 0; /* fitting takes seconds, and a new signal can stop it */
    return status;
}

static pp_status fit(const pp_args *args, calibrating *c, pp_err *err)
{
    pp_ticker ticker = pp_ticker_begin("classes", 0);
    int64_t sm_count = c->before ? c->before->sm_count : 0;
    if (c->calibration.sm_count)
        sm_count = c->calibration.sm_count;
    pp_status status = pp_args_int(args, "--sm-count", 1, 100000, &sm_count, err);
    if (status)
        return status;
    const pp_fit_options how = { .sm_count = (int)sm_count };
    const pp_profile_watch watch = { .fitting = show_fitted, .context = &ticker, .stop = &stop };
    status = pp_profile_make(&c->samples, c->measures ? &c->calibration : NULL, &how, &watch,
                             &c->profile, err);
    pp_ticker_end(&ticker);
    return status;
}

/* Writes the costs of --emit. */
static pp_status emit_costs(const pp_args *args, const pp_samples *samples, pp_err *err)
{
    pp_json_build build = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    const char *emit = pp_args_text(args, "--emit");
    if (!emit)
        return PP_OK;
    pp_status status = pp_stage_costs_write(samples, &build, &json, err);
    if (status || (status = pp_json_print(&build, json, &text, &bytes, err)))
        return status;
    return pp_write_text(emit + strlen("costs="), text, bytes, err);
}

/* Writes the profile to -o, and to stdout a description of it, or with --json the profile. */
static pp_status print(const pp_args *args, calibrating *c, pp_err *err)
{
    const char *path = pp_args_text(args, "-o");
    char *json PP_CLEANUP(pp_free_text) = NULL;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    size_t bytes = 0;
    const char *emit = pp_args_text(args, "--emit");
    bool to_stdout = path && strcmp(path, "-") == 0;
    pp_status status = pp_profile_write(c->profile, &json, &bytes, err);
    if (status || (path && !to_stdout && (status = pp_write_text(path, json, bytes, err))))
        return status;
    if (to_stdout || pp_args_has(args, "--json"))
        return pp_print_stdout(json, bytes, err);
    if (emit && strcmp(emit, "costs=-") == 0)
        return PP_OK; /* stdout has the costs */
    pp_profile_print(c->profile, &text);
    status = pp_text_check(&text, err);
    return status ? status : pp_print_stdout(text.data, text.bytes, err);
}

/* Writes the samples measured before a failure to -o. A process that only takes part in another's
 * measurements has none. */
static void keep(const pp_args *args, calibrating *c)
{
    pp_err err = PP_COMMAND_ERR;
    char *json PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    const char *path = pp_args_text(args, "-o");
    if (!path || strcmp(path, "-") == 0 || count_samples(&c->samples) == c->known)
        return;
    pp_status status =
        c->before ? pp_profile_carry(c->before, c->options.names, &c->calibration, &err) : PP_OK;
    if (!status)
        status = fit(args, c, &err);
    if (!status)
        status = pp_profile_write(c->profile, &json, &bytes, &err);
    if (!status)
        status = pp_write_text(path, json, bytes, &err);
    if (status)
        pp_remark("the measurements made before the failure are lost: %.600s", err.text);
    else
        pp_remark("the measurements made before the failure are in %.200s; continue with --resume",
                  path);
}

static pp_status calibrate(const pp_args *args, pp_err *err)
{
    calibrating c PP_CLEANUP(calibrating_free) = { .measures = false };
    pp_status status = read_probes(args, &c, err);
    if (status || (status = check_options(args, &c, err)))
        return status;
    status = gather(args, &c, err);
    if (status && c.calibration.interrupted)
        keep(args, &c);
    if (status || c.calibration.helped)
        return status;
    if (c.samples.count == 0)
        return pp_err_set(err, PP_UNAVAILABLE, NULL, "nothing could be measured: %.600s",
                          c.samples.skipped ? c.samples.skipped
                                            : "interrupted before the first measurement");
    status = fit(args, &c, err);
    if (status || (status = emit_costs(args, &c.profile->samples, err)))
        return status;
    return print(args, &c, err);
}

const pp_command pp_command_calibrate = {
    .name = "calibrate",
    .arguments = "[--probe NAME]... [--import [FORMAT=]FILE]... [-o PROFILE]",
    .summary = "measure this machine or import measurements, and fit a profile",
    .options = options,
    .examples = "ppsim calibrate --quick -o machine.json\n"
                "ppsim calibrate --import samples-csv=samples.csv -o imported.json\n"
                "ppsim plan --model llama3-8b --pp 4 --hw h100-80g --profile h100-ib\n",
    .run = calibrate,
};
