/* The types of a model's layers, in order.
 *
 * A pattern is a list of runs, of which the last ones may repeat: 3 dense layers and 58 with
 * experts are two runs, and a full layer after every five with a sliding window is two runs that
 * repeat. So layers are counted in O(runs), however many there are. To find the repetition, each
 * period of at most PERIOD_MAX layers is tried, from the first layer and from the end of the first
 * run on. */
#include "sim/job/model_layers.h"

#include <string.h>

#define PERIOD_MAX 64

bool pp_mixer_has_attention(pp_mixer mixer)
{
    return mixer <= PP_MIXER_CHUNK || mixer == PP_MIXER_HYBRID;
}

bool pp_mixer_has_scan(pp_mixer mixer)
{
    return mixer >= PP_MIXER_DELTA && mixer <= PP_MIXER_HYBRID;
}

double pp_model_norms(const pp_model *model, pp_layer_type type)
{
    const bool both = type.mixer != PP_MIXER_NONE && type.mlp != PP_MLP_NONE;
    return (model->norms ? (double)model->norms : 2) * (both ? 1 : 0.5);
}

int pp_model_types(const pp_model *model)
{
    return model->pattern.runs ? model->pattern.types : 2;
}

pp_layer_type pp_model_type(const pp_model *model, int index)
{
    if (model->pattern.runs)
        return model->pattern.type[index];
    return (pp_layer_type){ .mixer = model->sliding_window ? PP_MIXER_WINDOW : PP_MIXER_FULL,
                            .mlp = index ? PP_MLP_MOE : PP_MLP_DENSE };
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Adds the layers of each type among the first `layers` ones of these runs. */
static void count_runs(const pp_layer_run *run, int32_t runs, int64_t layers, int64_t times,
                       int64_t counts[])
{
    for (int32_t r = 0; r < runs && layers > 0; r++) {
        const int64_t here = least(run[r].layers, layers);
        counts[run[r].type] += times * here;
        layers -= here;
    }
}

static int64_t run_layers(const pp_layer_run *run, int32_t runs)
{
    int64_t sum = 0;
    for (int32_t r = 0; r < runs; r++)
        sum += run[r].layers;
    return sum;
}

/* Counts the types of the first `layers` layers `times` times. */
static void count_first(const pp_model *model, int64_t layers, int64_t times, int64_t counts[])
{
    const pp_layer_pattern *p = &model->pattern;
    if (!p->runs) {
        const int64_t dense = model->experts ? least(model->dense_layers, layers) : layers;
        counts[0] += times * dense;
        counts[1] += times * (layers - dense);
        return;
    }
    const int64_t once = run_layers(p->run, p->repeat);
    const int64_t period = run_layers(p->run + p->repeat, p->runs - p->repeat);
    count_runs(p->run, p->repeat, layers, times, counts);
    if (layers <= once)
        return;
    const int64_t whole = (layers - once) / period;
    count_runs(p->run + p->repeat, p->runs - p->repeat, period, times * whole, counts);
    count_runs(p->run + p->repeat, p->runs - p->repeat, (layers - once) % period, times, counts);
}

void pp_model_count_types(const pp_model *model, int64_t first, int64_t layers,
                          int64_t counts_out[])
{
    memset(counts_out, 0, PP_LAYER_TYPES_MAX * sizeof *counts_out);
    count_first(model, first + layers, 1, counts_out);
    count_first(model, first, -1, counts_out);
}

int pp_model_type_at(const pp_model *model, int64_t layer)
{
    int64_t counts[PP_LAYER_TYPES_MAX];
    int type = 0;
    pp_model_count_types(model, least(layer, model->layers - 1), 1, counts);
    while (type + 1 < PP_LAYER_TYPES_MAX && !counts[type])
        type++;
    return type;
}

bool pp_model_types_are_sorted(const pp_model *model)
{
    const pp_layer_pattern *p = &model->pattern;
    return !p->runs || (p->runs == p->types && p->repeat >= p->runs - 1);
}

bool pp_model_layer_is_moe(const pp_model *model, int64_t layer)
{
    return pp_model_type(model, pp_model_type_at(model, layer)).mlp == PP_MLP_MOE;
}

int64_t pp_model_moe_layers(const pp_model *model)
{
    int64_t counts[PP_LAYER_TYPES_MAX];
    int64_t sum = 0;
    pp_model_count_types(model, 0, model->layers, counts);
    for (int k = 0; k < pp_model_types(model); k++)
        sum += pp_model_type(model, k).mlp == PP_MLP_MOE ? counts[k] : 0;
    return sum;
}

static bool same_type(pp_layer_type a, pp_layer_type b)
{
    return a.mixer == b.mixer && a.mlp == b.mlp;
}

/* Returns true if the types from `first` on repeat after `period` layers. */
static bool repeats(const pp_layer_type *type_of, int64_t first, int64_t layers, int64_t period)
{
    for (int64_t l = first; l + period < layers; l++) {
        if (!same_type(type_of[l], type_of[l + period]))
            return false;
    }
    return true;
}

/* Adds layers first to end - 1 as runs. The first run is new, even if it continues the last. */
static const char *add_runs(const pp_layer_type *type_of, int64_t first, int64_t end,
                            pp_layer_pattern *p)
{
    for (int64_t l = first; l < end; l++) {
        int32_t type = 0;
        while (type < p->types && !same_type(p->type[type], type_of[l]))
            type++;
        if (type == PP_LAYER_TYPES_MAX)
            return "there are more than 8 types of layers";
        if (type == p->types)
            p->type[p->types++] = type_of[l];
        if (l > first && same_type(type_of[l], type_of[l - 1])) {
            p->run[p->runs - 1].layers++;
            continue;
        }
        if (p->runs == PP_LAYER_RUNS_MAX)
            return "the type of layer changes more than 256 times without repeating itself";
        p->run[p->runs++] = (pp_layer_run){ .layers = 1, .type = (uint8_t)type };
    }
    return NULL;
}

/* Returns true if a model without pattern has these layers, of which the first *dense_out have no
 * experts. */
static bool is_plain(const pp_model *model, const pp_layer_type *type_of, int64_t *dense_out)
{
    const pp_mixer mixer = model->sliding_window ? PP_MIXER_WINDOW : PP_MIXER_FULL;
    int64_t dense = 0;
    while (dense < model->layers && type_of[dense].mlp == PP_MLP_DENSE)
        dense++;
    for (int64_t l = 0; l < model->layers; l++) {
        if (type_of[l].mixer != mixer || (l >= dense && type_of[l].mlp != PP_MLP_MOE))
            return false;
    }
    if (!model->experts && dense < model->layers)
        return false;
    *dense_out = model->experts ? dense : 0;
    return true;
}

const char *pp_model_set_layers(pp_model *model, const pp_layer_type *type_of)
{
    const int64_t layers = model->layers;
    if (is_plain(model, type_of, &model->dense_layers))
        return NULL;
    pp_layer_pattern p = { 0 };
    int64_t first_run = 1;
    while (first_run < layers && same_type(type_of[first_run], type_of[0]))
        first_run++;
    int64_t once = layers - 1, period = 1; /* where nothing repeats, the last layer does */
    const int64_t starts[] = { 0, first_run };
    for (int64_t k = 1; k <= PERIOD_MAX && once == layers - 1; k++) {
        for (int i = 0; i < 2 && once == layers - 1; i++) {
            if (starts[i] + k <= layers && repeats(type_of, starts[i], layers, k)) {
                once = starts[i];
                period = k;
            }
        }
    }
    const char *wrong = add_runs(type_of, 0, once, &p);
    p.repeat = p.runs;
    if (!wrong)
        wrong = add_runs(type_of, once, once + period, &p);
    if (!wrong)
        model->pattern = p;
    return wrong;
}
