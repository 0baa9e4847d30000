/* Gathers the times of numbered stages by kind of op, and completes the backwards: a pipeline may
 * split some of them into halves and not others. O(stages x series). */
#include "calib/samples/stage_costs_json.h"

#include "sim/base/alloc.h"
#include "sim/base/units.h"
#include "sim/order/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F, I, W, B, KINDS };

static const char *const keys[] = { "forward_ns", "input_ns", "weight_ns", "backward_ns" };

/* The times of one stage; 0: it has none. */
typedef struct stage_times {
    pp_ns ns[KINDS];
} stage_times;

/* Reads the kind and the stage from a class such as "stage_f 3". */
static bool read_class(const char *name, int *kind, uint32_t *stage)
{
    static const char letters[] = "fiwb";
    char letter = 0;
    int end = 0;
    if (sscanf(name, "stage_%c %5" SCNu32 "%n", &letter, stage, &end) != 2 || name[end] ||
        *stage >= PP_STAGES_MAX || !strchr(letters, letter))
        return false;
    *kind = (int)(strchr(letters, letter) - letters);
    return true;
}

/* Finds the time of one kind of op of one stage; 0: it was not measured. */
static pp_status find_time(const pp_samples *samples, int kind, uint32_t stage, pp_ns *ns_out,
                           pp_err *err)
{
    const pp_sample *first = NULL;
    double sum_s = 0;
    double repeats = 0;
    *ns_out = 0;
    for (size_t i = 0; i < samples->count; i++) {
        const pp_series *series = &samples->series[i];
        int its_kind;
        uint32_t its_stage;
        if (!read_class(series->class_name, &its_kind, &its_stage) || its_kind != kind ||
            its_stage != stage)
            continue;
        for (size_t k = 0; k < series->count; k++) {
            const pp_sample *sample = &series->sample[k];
            const double weight = sample->repeats ? sample->repeats : 1;
            first = first ? first : sample;
            if (!pp_variables_equal(first->at, sample->at))
                return pp_err_set(err, PP_INFEASIBLE, series->class_name,
                                  "was measured at several sizes, and costs have one time per "
                                  "stage; import microbatches of one size");
            sum_s += weight * sample->seconds;
            repeats += weight;
        }
    }
    return first ? pp_ns_from_seconds(sum_s / repeats, keys[kind], ns_out, err) : PP_OK;
}

/* Finds the times of a stage, with a B if it was measured or has halves. */
static pp_status read_stage(const pp_samples *samples, uint32_t stage, stage_times *t, pp_err *err)
{
    char where[32];
    pp_status status = PP_OK;
    for (int kind = 0; kind < KINDS && !status; kind++)
        status = find_time(samples, kind, stage, &t->ns[kind], err);
    if (status)
        return status;
    if (!t->ns[B] && t->ns[I] && t->ns[W])
        t->ns[B] = t->ns[I] + t->ns[W];
    if (t->ns[F] && t->ns[B])
        return PP_OK;
    snprintf(where, sizeof where, "stage %" PRIu32, stage);
    return pp_err_set(err, PP_INFEASIBLE, where,
                      "has no time of its %s, which costs need for every stage; import the "
                      "measurements of all ranks",
                      t->ns[F] ? "backward" : "forward");
}

static pp_json *write(const stage_times *t, uint32_t stages, pp_json_build *build)
{
    pp_json *root = pp_json_new_object(build);
    bool split = false;
    for (uint32_t s = 0; s < stages; s++)
        split = split || (t[s].ns[I] && t[s].ns[W]);
    pp_json_put_text(build, root, "format", "ppsim.costs");
    pp_json_put_int(build, root, "version", 1);
    pp_json_put_int(build, root, "stages", stages);
    for (int kind = 0; kind < KINDS; kind++) {
        if (!split && (kind == I || kind == W))
            continue;
        pp_json *list = pp_json_new_array(build);
        for (uint32_t s = 0; s < stages; s++) {
            const bool halved = kind != F && kind != B && !(t[s].ns[I] && t[s].ns[W]);
            const pp_ns half_ns = t[s].ns[B] / 2;
            pp_json_add_int(build, list,
                            !halved     ? t[s].ns[kind]
                            : kind == I ? half_ns
                                        : t[s].ns[B] - half_ns);
        }
        pp_json_put(build, root, keys[kind], list);
    }
    return root;
}

pp_status pp_stage_costs_write(const pp_samples *samples, pp_json_build *build, pp_json **json_out,
                               pp_err *err)
{
    uint32_t stages = 0;
    pp_status status = PP_OK;
    for (size_t i = 0; i < samples->count; i++) {
        int kind;
        uint32_t stage;
        if (read_class(samples->series[i].class_name, &kind, &stage) && stage >= stages)
            stages = stage + 1;
    }
    if (!stages)
        return pp_err_set(err, PP_INFEASIBLE, "costs",
                          "need times of numbered stages, such as 'stage_f 0', and none was "
                          "measured");
    stage_times *times = pp_alloc_array(stages, sizeof *times);
    if (!times)
        return pp_err_nomem(err);
    for (uint32_t s = 0; s < stages && !status; s++)
        status = read_stage(samples, s, &times[s], err);
    if (!status)
        *json_out = write(times, stages, build);
    free(times);
    return status;
}
