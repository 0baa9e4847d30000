/* The common part of probes of kernels on a GPU. The GPU module prepares a point; then its work
 * runs for a while, so that clocks and temperature settle, and is timed by the clock of the GPU. */
#include "calib/measure/gpu_probe.h"

#include "calib/measure/probe_options.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    HIDDEN,
    HEADS,
    KV_HEADS,
    MLP,
    VOCAB,
    TP,
    TOKENS,
    EXPERTS,
    EXPERT_MLP,
    GATED,
    NUMBERS = GATED,
    KEY_COUNT = GATED + 1
};

static const char *const keys[] = { "hidden", "heads",  "kv_heads", "mlp",        "vocab",
                                    "tp",     "tokens", "experts",  "expert_mlp", "gated" };
/* Settings of compute cpu that do not change shapes; they are accepted and ignored. */
static const char *const others[] = { "tied", "dtype", "lr", "recompute" };

static int find(const char *word, size_t bytes, const char *const words[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(words[i]) == bytes && strncmp(word, words[i], bytes) == 0)
            return (int)i;
    }
    return -1;
}

static pp_status read_value(int key, const char *value, size_t bytes, int64_t *numbers,
                            pp_gpu_shapes *s, pp_err *err)
{
    static const int64_t most[NUMBERS] = { 1 << 16, 1 << 16, 1 << 16, 1 << 18,
                                           1 << 20, 1 << 16, 1 << 24, PP_GPU_EXPERTS_MAX,
                                           1 << 18 };
    static const char *const words[] = { "off", "on" };
    char text[32];
    pp_err unused = { 0 };
    snprintf(text, sizeof text, "%.*s", (int)bytes, value);
    if (key == GATED) {
        const int word = find(value, bytes, words, 2);
        s->gated = word == 1;
        return word >= 0 ? PP_OK
                         : pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS),
                                      "gated=%s: must be off or on", text);
    }
    if (pp_parse_int(text, pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS), 1, most[key], &numbers[key],
                     &unused))
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS),
                          "%s=%s: must be a whole number from 1 to %lld", keys[key], text,
                          (long long)most[key]);
    return PP_OK;
}

static pp_status check_settings(const pp_gpu_shapes *s, pp_err *err)
{
    if (s->hidden % s->heads)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS),
                          "hidden=%lld is not a multiple of heads=%lld", (long long)s->hidden,
                          (long long)s->heads);
    if (s->heads % s->kv_heads)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS),
                          "heads=%lld is not a multiple of kv_heads=%lld", (long long)s->heads,
                          (long long)s->kv_heads);
    if (s->kv_heads % s->tp || s->mlp % s->tp)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS),
                          "tp=%lld does not divide kv_heads and mlp", (long long)s->tp);
    if (s->tokens % 64)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS),
                          "tokens=%lld: must be a multiple of 64", (long long)s->tokens);
    return PP_OK;
}

pp_status pp_gpu_shapes_parse(const char *text, pp_gpu_shapes *settings_out, pp_err *err)
{
    int64_t numbers[NUMBERS] = { 4096, 32, 0, 16384, 32000, 1, 16384, 8, 0 };
    pp_gpu_shapes s = { .gated = false };
    while (*text) {
        const size_t bytes = strcspn(text, ",");
        const size_t name = strcspn(text, "=,");
        const int key = find(text, name, keys, KEY_COUNT);
        if (text[name] != '=' ||
            (key < 0 && find(text, name, others, sizeof others / sizeof *others) < 0))
            return pp_err_set(
                err, PP_USAGE, pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS),
                "'%.*s' is not a setting of GPU probes; the settings are hidden, "
                "heads, kv_heads, mlp, gated, vocab, tp, tokens, experts and expert_mlp",
                (int)(bytes < 40 ? bytes : 40), text);
        pp_status status =
            key < 0 ? PP_OK : read_value(key, text + name + 1, bytes - name - 1, numbers, &s, err);
        if (status)
            return status;
        text += bytes + (text[bytes] == ',');
    }
    s.hidden = numbers[HIDDEN];
    s.heads = numbers[HEADS];
    s.kv_heads = numbers[KV_HEADS] ? numbers[KV_HEADS] : s.heads;
    s.mlp = numbers[MLP];
    s.vocab = numbers[VOCAB];
    s.tp = numbers[TP];
    s.tokens = numbers[TOKENS];
    s.experts = numbers[EXPERTS];
    s.expert_mlp = numbers[EXPERT_MLP] ? numbers[EXPERT_MLP] : s.mlp;
    *settings_out = s;
    return check_settings(&s, err);
}

/* Runs the work in slices of 0.1 s, between which the stop flag is checked. */
static pp_status heat(const pp_gpu_probe *p, pp_ns wanted_ns, pp_err *err)
{
    enum { SLICE_NS = 100000000 };
    pp_ns left_ns = wanted_ns < p->heat_most_ns ? wanted_ns : p->heat_most_ns;
    pp_status status = PP_OK;
    for (; left_ns > 0 && !status && !(p->stop && *p->stop); left_ns -= SLICE_NS)
        status = p->calls->heat(p->gpu, p->task, left_ns < SLICE_NS ? left_ns : SLICE_NS, err);
    return status;
}

static pp_status prepare(void *context, size_t index, pp_err *err)
{
    pp_gpu_probe *p = context;
    const pp_gpu_probe_point *of = &p->of[index];
    pp_point *point = &p->point[index];
    char ignored[PP_SAMPLE_KERNEL];
    pp_status status =
        p->calls->prepare(p->gpu, &of->work, &p->task, point->kernel, sizeof point->kernel, err);
    if (!status && of->has_beside)
        status = p->calls->prepare(p->gpu, &of->beside, &p->beside, ignored, sizeof ignored, err);
    const pp_ns heat_ns = of->heat_ns ? of->heat_ns : p->hot ? p->heat_ns : p->first_heat_ns;
    if (!status && !of->rest_ns)
        status = heat(p, heat_ns, err);
    p->hot = true;
    if (status) {
        p->calls->release(p->beside);
        p->calls->release(p->task);
        p->task = p->beside = NULL;
    }
    return status;
}

static void release(void *context, size_t index)
{
    pp_gpu_probe *p = context;
    (void)index;
    p->calls->release(p->beside);
    p->calls->release(p->task);
    p->task = p->beside = NULL;
}

static pp_status run(void *context, size_t index, uint32_t runs, pp_timing *timing, pp_err *err)
{
    pp_gpu_probe *p = context;
    const pp_ns rest_ns = p->of[index].rest_ns;
    const pp_gpu_timing how = { .runs = runs,
                                .cold = p->point[index].cold,
                                .beside = p->beside,
                                .posting = p->of[index].posting };
    pp_ns took_ns = 0;
    if (rest_ns)
        nanosleep(
            &(struct timespec){ .tv_sec = rest_ns / 1000000000, .tv_nsec = rest_ns % 1000000000 },
            NULL);
    pp_status status = p->calls->time(p->gpu, p->task, &how, &took_ns, err);
    if (!status)
        pp_timing_add(timing, 0, runs, took_ns);
    return status;
}

void pp_gpu_probe_close(void *state)
{
    pp_gpu_probe *p = state;
    if (!p)
        return;
    if (p->calls)
        p->calls->close(p->gpu);
    free(p);
}

pp_status pp_gpu_probe_open(const pp_probe_options *options, const char *name,
                            const pp_subject_series *series, size_t series_count,
                            pp_gpu_probe **probe_out, pp_err *err)
{
    static const pp_ns first_heat_ns[] = {
        [PP_PROBE_FULL] = 5000000000, [PP_PROBE_QUICK] = 1000000000, [PP_PROBE_TINY] = 1
    };
    static const pp_ns heat_ns[] = {
        [PP_PROBE_FULL] = 50000000, [PP_PROBE_QUICK] = 20000000, [PP_PROBE_TINY] = 1
    };
    char what[36];
    pp_gpu_probe *p = pp_alloc_array(1, sizeof *p);
    if (!p)
        return pp_err_nomem(err);
    const char *settings = options->settings ? options->settings : PP_GPU_PROBE_SETTINGS;
    pp_status status = pp_gpu_shapes_parse(settings, &p->settings, err);
    if (!status)
        status = pp_gpu_open(options->device, &p->calls, &p->gpu, err);
    if (status) {
        pp_gpu_probe_close(p);
        return status;
    }
    const pp_gpu_facts *facts = p->calls->facts(p->gpu);
    snprintf(what, sizeof what, "%.16s, device time: bf16", name);
    pp_gpu_probe_describe(p, what);
    p->first_heat_ns = first_heat_ns[options->scale];
    p->heat_ns = heat_ns[options->scale];
    p->heat_most_ns =
        options->budget_ns ? options->budget_ns / 6 : INT64_MAX; /* half the budget in 3 passes */
    p->stop = options->stop;
    assert(series_count <= PP_GPU_PROBE_SERIES);
    memcpy(p->series, series, series_count * sizeof *series);
    p->subject = (pp_subject){ .source = p->source,
                               .stopwatch = PP_STOPWATCH_DEVICE,
                               .device = facts->name,
                               .sm_count = facts->multiprocessors,
                               .series = p->series,
                               .series_count = series_count,
                               .point = p->point,
                               .context = p,
                               .prepare = prepare,
                               .release = release,
                               .run = run };
    *probe_out = p;
    return PP_OK;
}

void pp_gpu_probe_describe(pp_gpu_probe *probe, const char *what)
{
    const pp_gpu_facts *facts = probe->calls->facts(probe->gpu);
    snprintf(probe->source, sizeof probe->source, "probe %.35s, %.40s, %.42s", what, facts->name,
             facts->software);
}

pp_point *pp_gpu_probe_add(pp_gpu_probe *probe, uint32_t series, const pp_gpu_probe_point *of)
{
    const size_t at = probe->subject.point_count++;
    assert(at < PP_GPU_PROBE_POINTS);
    probe->of[at] = *of;
    probe->point[at] = pp_point_of(series, 1);
    return &probe->point[at];
}

size_t pp_gpu_probe_tokens(const pp_gpu_probe *probe, pp_probe_scale scale,
                           int64_t tokens_out[PP_GPU_PROBE_TOKENS])
{
    static const int64_t of_64[PP_GPU_PROBE_TOKENS] = { 16, 4, 64, 1, 32, 8, 2, 24, 12, 48 };
    const int64_t part = probe->settings.tokens / 64;
    for (size_t i = 0; i < PP_GPU_PROBE_TOKENS; i++)
        tokens_out[i] = part * of_64[i];
    if (scale == PP_PROBE_TINY)
        tokens_out[0] = 32;
    return scale == PP_PROBE_TINY ? 1 : scale == PP_PROBE_QUICK ? 6 : PP_GPU_PROBE_TOKENS;
}
