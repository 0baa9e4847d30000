/* Writes jitter and sensitivity; see "jitter" and "sensitivity" of ppsim.report in
 * docs/reference/formats.md.
 */
#include "sim/analysis/robustness_json.h"

static void put_slow(pp_json_build *build, pp_json *object, const char *key, const char *what,
                     const pp_jitter_slow *slow)
{
    if (slow->factor <= 0) {
        pp_json_put_null(build, object, key);
        return;
    }
    pp_json *value = pp_json_new_object(build);
    if (slow->at == PP_JITTER_ANY)
        pp_json_put_text(build, value, what, "any");
    else
        pp_json_put_int(build, value, what, slow->at);
    pp_json_put_double(build, value, "factor", slow->factor);
    pp_json_put(build, object, key, value);
}

static void put_jitter(const pp_jitter_result *jitter, pp_json *object, pp_json_build *build)
{
    pp_json *value = pp_json_new_object(build);
    pp_json *sigma = pp_json_new_object(build);
    for (int kind = 0; kind < PP_OP_KIND_COUNT; kind++) {
        const char key[] = { pp_op_letter((pp_op_kind)kind), '\0' };
        pp_json_put_double(build, sigma, key, jitter->spec.sigma[kind]);
    }
    pp_json_put_double(build, sigma, "comm", jitter->spec.comm_sigma);
    pp_json_put(build, value, "sigma", sigma);
    put_slow(build, value, "slow_rank", "rank", &jitter->spec.rank);
    put_slow(build, value, "slow_link", "link", &jitter->spec.link);
    pp_json_put_int(build, value, "scenarios", jitter->spec.scenarios);
    pp_json_put_int(build, value, "seed", (int64_t)jitter->seed);
    pp_json_put_int(build, value, "min_ns", jitter->min_ns);
    pp_json_put_int(build, value, "p50_ns", jitter->p50_ns);
    pp_json_put_int(build, value, "p95_ns", jitter->p95_ns);
    pp_json_put_int(build, value, "p99_ns", jitter->p99_ns);
    pp_json_put_int(build, value, "max_ns", jitter->max_ns);
    pp_json *twentieths = pp_json_new_array(build);
    for (int i = 0; i < PP_JITTER_TWENTIETHS; i++)
        pp_json_add_int(build, twentieths, jitter->twentieth_ns[i]);
    pp_json_put(build, value, "twentieths_ns", twentieths);
    pp_json_put_int(build, value, "p50_error_ns", jitter->p50_error_ns);
    pp_json_put_int(build, value, "p95_error_ns", jitter->p95_error_ns);
    pp_json_put_double(build, value, "mean_ns", jitter->mean_ns);
    if (jitter->spec.scenarios > 1)
        pp_json_put_double(build, value, "deviation_ns", jitter->deviation_ns);
    else
        pp_json_put_null(build, value, "deviation_ns");
    pp_json_put(build, object, "jitter", value);
}

static pp_json *write_row(const pp_sensitivity *sensitivity, const pp_sensitivity_row *row,
                          pp_json_build *build)
{
    pp_json *value = pp_json_new_object(build);
    if (row->is_link) {
        pp_json *ranks = pp_json_new_array(build);
        pp_json_add_int(build, ranks, row->first);
        pp_json_add_int(build, ranks, row->second);
        pp_json_put(build, value, "link", ranks);
    } else {
        pp_json_put_int(build, value, "stage", row->first);
    }
    pp_json_put_int(build, value, "growth", row->growth);
    if (sensitivity->has_path) {
        pp_json_put_int(build, value, "path_count", row->path_count);
        pp_json_put_int(build, value, "path_ns", row->path_ns);
    } else {
        pp_json_put_null(build, value, "path_count");
        pp_json_put_null(build, value, "path_ns");
    }
    return value;
}

static void put_sensitivity(const pp_sensitivity *sensitivity, pp_json *object,
                            pp_json_build *build)
{
    pp_json *value = pp_json_new_object(build);
    pp_json *rows = pp_json_new_array(build);
    int64_t growth[2] = { 0 }; /* stages, links */
    pp_ns path_ns[2] = { 0 };
    for (size_t i = 0; i < sensitivity->count; i++) {
        const pp_sensitivity_row *row = &sensitivity->row[i];
        growth[row->is_link] += row->growth;
        path_ns[row->is_link] += row->path_ns;
        pp_json_add(build, rows, write_row(sensitivity, row, build));
    }
    pp_json_put(build, value, "rows", rows);
    pp_json_put_int(build, value, "stages_growth", growth[0]);
    pp_json_put_int(build, value, "links_growth", growth[1]);
    if (sensitivity->has_path) {
        pp_json_put_int(build, value, "stages_path_ns", path_ns[0]);
        pp_json_put_int(build, value, "links_path_ns", path_ns[1]);
        pp_json_put_int(build, value, "path_end_ns", sensitivity->path_end_ns);
    } else {
        pp_json_put_null(build, value, "stages_path_ns");
        pp_json_put_null(build, value, "links_path_ns");
        pp_json_put_null(build, value, "path_end_ns");
    }
    pp_json_put(build, object, "sensitivity", value);
}

void pp_robustness_put(const pp_robustness *robustness, pp_json *object, pp_json_build *build)
{
    if (robustness->has_jitter)
        put_jitter(&robustness->jitter, object, build);
    if (robustness->sensitivity)
        put_sensitivity(robustness->sensitivity, object, build);
}
