/* Published runs (tests/data/published_steps.json) and their prediction. */
#ifndef PPSIM_TESTS_SUPPORT_PUBLISHED_H
#define PPSIM_TESTS_SUPPORT_PUBLISHED_H

#include "sim/base/json.h"
#include "sim/cost/cost_model.h"
#include "tests/support/stacks.h"
#include "tests/support/step.h"

#include <math.h>

#define RUNS_MAX 64

typedef struct run {
    char id[64], set[32], model_name[64];
    pp_model model;
    pp_switches switches;
    pp_parallel parallel;
    int64_t micro_batch_size, seq_length;
    uint32_t microbatches;
    double seconds; /* published */
    pp_placement placement;
    bool shards_ops;
} run;

static inline char *run_file(const char *folder, const char *name, size_t *bytes_out)
{
    char path[512];
    char *text = NULL;
    pp_err err = { 0 };
    snprintf(path, sizeof path, "%s/%s/%s.json", PPSIM_SOURCE_DIR, folder, name);
    STEP_OK(pp_file_read(path, &text, bytes_out, &err), err);
    return text;
}

static inline pp_model run_model(const char *name)
{
    pp_model model;
    size_t bytes = 0;
    pp_err err = { 0 };
    char *text = run_file("traces/data/models", name, &bytes);
    STEP_OK(pp_model_parse(text, bytes, name, &model, &err), err);
    free(text);
    return model;
}

static inline pp_hardware run_hardware(const char *name)
{
    pp_hardware hardware;
    size_t bytes = 0;
    pp_err err = { 0 };
    char *text = run_file("traces/data/hardware", name, &bytes);
    STEP_OK(pp_hardware_parse(text, bytes, name, &hardware, &err), err);
    free(text);
    return hardware;
}

static inline pp_json *run_data(void)
{
    pp_json *json = NULL;
    size_t bytes = 0;
    pp_err err = { 0 };
    char *text = run_file("tests/data", "published_steps", &bytes);
    STEP_OK(pp_json_parse(text, bytes, "published_steps.json", &json, &err), err);
    free(text);
    return json;
}

static inline int64_t run_int(const pp_json_at *row, const char *key)
{
    int64_t value = 0;
    pp_err err = { 0 };
    STEP_OK(pp_json_get_int(row, key, 0, 1 << 30, &value, &err), err);
    return value;
}

static inline double run_double(const pp_json_at *row, const char *key)
{
    double value = 0;
    pp_err err = { 0 };
    STEP_OK(pp_json_get_double(row, key, 0, 1e30, &value, &err), err);
    return value;
}

static inline const char *run_text(const pp_json_at *row, const char *key)
{
    const char *text = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_json_get_text(row, key, &text, &err), err);
    return text;
}

static inline pp_recompute run_recompute(const char *name)
{
    return strcmp(name, "full") == 0        ? PP_RECOMPUTE_FULL
           : strcmp(name, "selective") == 0 ? PP_RECOMPUTE_SELECTIVE
                                            : PP_RECOMPUTE_NONE;
}

static inline run run_read(const pp_json_at *row)
{
    run r = { .micro_batch_size = run_int(row, "micro_batch_size"),
              .seq_length = run_int(row, "seq_length"),
              .microbatches = (uint32_t)run_int(row, "microbatches"),
              .seconds = run_double(row, "seconds") };
    pp_err err = { 0 };
    snprintf(r.id, sizeof r.id, "%s", run_text(row, "id"));
    snprintf(r.set, sizeof r.set, "%s", run_text(row, "set"));
    snprintf(r.model_name, sizeof r.model_name, "%s", run_text(row, "model"));
    r.model = run_model(r.model_name);
    r.parallel = (pp_parallel){ .pp = run_int(row, "pp"),
                                .tp = run_int(row, "tp"),
                                .cp = 1,
                                .dp = run_int(row, "dp"),
                                .ep = 1,
                                .vpp = run_int(row, "vpp") };
    r.switches = stack_switches(run_text(row, "stack"), &r.parallel);
    r.switches.recompute = run_recompute(run_text(row, "recompute"));
    STEP_OK(pp_json_get_bool(row, "sequence_parallel", &r.switches.sequence_parallel, &err), err);
    return r;
}

/* runs: [RUNS_MAX]. Returns how many there are. */
static inline size_t run_read_all(run *runs)
{
    pp_json *json = run_data();
    const pp_json_at root = pp_json_root(json, "published_steps.json");
    pp_json_at list, row;
    size_t count = 0;
    pp_err err = { 0 };
    STEP_OK(pp_json_get(&root, "steps", &list, &err), err);
    STEP_OK(pp_json_count(&list, &count, &err), err);
    ck_assert_uint_le(count, RUNS_MAX);
    for (size_t i = 0; i < count; i++) {
        STEP_OK(pp_json_item(&list, i, &row, &err), err);
        runs[i] = run_read(&row);
    }
    pp_json_free(&json);
    return count;
}

/* Equal layers per stage; the first stages get what is left. */
static inline pp_stage *run_stages(const pp_model *model, uint32_t stages)
{
    pp_stage *list = calloc(stages, sizeof *list);
    ck_assert_ptr_nonnull(list);
    int64_t first = 0;
    for (uint32_t s = 0; s < stages; s++) {
        const int64_t layers = model->layers / stages + (s < model->layers % stages);
        list[s] = (pp_stage){ .first_layer = first,
                              .layers = layers,
                              .embedding = s == 0,
                              .loss = s + 1 == stages,
                              .mtp = s + 1 == stages ? model->mtp_layers : 0 };
        first += layers;
    }
    return list;
}

static inline pp_costs *run_costs(const run *r, const pp_hardware *hardware)
{
    const pp_cost_context context = { .model = &r->model,
                                      .hardware = hardware,
                                      .parallel = r->parallel,
                                      .switches = r->switches,
                                      .placement = r->placement,
                                      .shards_ops = r->shards_ops };
    const uint32_t stage_count = (uint32_t)(r->parallel.pp * r->parallel.vpp);
    pp_stage *stages = run_stages(&r->model, stage_count);
    pp_workload workload;
    pp_costs *costs = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_workload_fixed(r->microbatches, r->micro_batch_size, r->seq_length, &workload, &err),
            err);
    STEP_OK(pp_cost_model_build(&context, stages, stage_count, &workload, 0, &costs, &err), err);
    pp_workload_free(&workload);
    free(stages);
    return costs;
}

/* Whole step: 1F1B or interleaved, then the boundary, as the report counts it. */
static inline double run_predict(const run *r, const pp_hardware *hardware)
{
    const uint32_t p = (uint32_t)r->parallel.pp, v = (uint32_t)r->parallel.vpp;
    pp_order *order =
        step_order(v > 1 ? "interleaved" : "1f1b", p, v, r->microbatches, v > 1 ? p : 0);
    step s = { .order = order, .costs = run_costs(r, hardware) };
    step_simulate(&s);
    const double seconds = 1e-9 * (double)s.report->step_ns;
    step_free(&s);
    return seconds;
}

#endif
