/* Chooses the layers of stacks of memory. A component that is never more than a line would be a
 * colour in the key that nobody finds in the picture: such components share one layer. */
#include "traces/plot/draw/components.h"

#include <stdio.h>
#include <string.h>

#define SMALL_FILL "fc rgb '#c8c8c8' fs solid 1.0 noborder"

/* Neighbours in a stack differ in lightness. */
static const struct {
    const char *words, *fill;
} looks[PP_MEMORY_COUNT] = {
    [PP_MEMORY_PARAMETERS] = { "parameters", "fc rgb '#2f4f80' fs solid 1.0 noborder" },
    [PP_MEMORY_GRADIENTS] = { "gradients", "fc rgb '#b5cbe3' fs solid 1.0 noborder" },
    [PP_MEMORY_OPTIMIZER] = { "optimizer states", "fc rgb '#6f94c4' fs solid 1.0 noborder" },
    [PP_MEMORY_ACTIVATIONS] = { "activations", "fc rgb '#f6d08a' fs solid 1.0 noborder" },
    [PP_MEMORY_WEIGHT_STASH] = { "weight stash (what I keeps for W)",
                                 "fc rgb '#b07c1c' fs solid 1.0 noborder" },
    [PP_MEMORY_RECOMPUTE] = { "recomputed activations", "fc rgb '#7a4f9a' fs solid 1.0 noborder" },
    [PP_MEMORY_RECV_BUFFERS] = { "receive buffers", "fc rgb '#a5d3a5' fs solid 1.0 noborder" },
    [PP_MEMORY_SEND_BUFFERS] = { "send buffers", "fc rgb '#3d7a3d' fs solid 1.0 noborder" },
    [PP_MEMORY_LOGITS] = { "logits", "fc rgb '#c9a3dc' fs solid 1.0 noborder" },
    [PP_MEMORY_TEMPORARIES] = { "temporaries", "fc rgb '#d8d8d8' fs solid 1.0 noborder" },
    [PP_MEMORY_OUTPUTS] = { "outputs", "fc rgb '#2fa09a' fs solid 1.0 noborder" },
    [PP_MEMORY_WORKSPACE] = { "workspace", "fc rgb '#8c6d5a' fs solid 1.0 noborder" },
    [PP_MEMORY_COMM_LIBRARY] = { "communication library",
                                 "fc rgb '#808080' fs solid 1.0 noborder" },
};

static pp_plot_layer *add_layer(pp_plot_layers *layers, const char *name, const char *fill,
                                const char *words)
{
    pp_plot_layer *layer = &layers->layer[layers->count++];
    *layer = (pp_plot_layer){ .fill = fill };
    snprintf(layer->name, sizeof layer->name, "%s", name);
    snprintf(layer->words, sizeof layer->words, "%s", words);
    return layer;
}

void pp_plot_find_layers(const pp_track *track, const pp_plot_view *view, int64_t least_bytes,
                         pp_plot_layers *layers_out)
{
    int64_t most[PP_MEMORY_COUNT] = { 0 };
    int small = 0;
    pp_plot_layer *rest = NULL;
    layers_out->count = 0;
    for (size_t i = 0; i < track->sample_count; i++) {
        const pp_memory_sample_row *sample = &track->sample[i];
        if (sample->rank < view->first_rank || sample->rank > view->last_rank)
            continue;
        for (int c = 0; c < PP_MEMORY_COUNT; c++)
            most[c] = sample->bytes[c] > most[c] ? sample->bytes[c] : most[c];
    }
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        small += most[c] > 0 && most[c] < least_bytes;
    for (int c = 0; c < PP_MEMORY_COUNT; c++) {
        if (most[c] > 0 && (most[c] >= least_bytes || small < 2))
            add_layer(layers_out, pp_memory_key((pp_memory_component)c), looks[c].fill,
                      looks[c].words)
                ->has[c] = true;
    }
    for (int c = 0; c < PP_MEMORY_COUNT && small > 1; c++) {
        if (!most[c] || most[c] >= least_bytes)
            continue;
        bool first = !rest;
        rest = first ? add_layer(layers_out, "small", SMALL_FILL, "") : rest;
        rest->has[c] = true;
        size_t used = strlen(rest->words);
        snprintf(rest->words + used, sizeof rest->words - used, "%s%s", first ? "" : ", ",
                 looks[c].words);
    }
}

int64_t pp_plot_stacked(const pp_plot_layers *layers, int last, const pp_memory_sample_row *sample)
{
    int64_t sum = 0;
    for (int k = 0; k <= last; k++) {
        for (int c = 0; c < PP_MEMORY_COUNT; c++)
            sum += layers->layer[k].has[c] ? sample->bytes[c] : 0;
    }
    return sum;
}

int64_t pp_plot_total(const pp_memory_sample_row *sample)
{
    int64_t total = 0;
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        total += sample->bytes[c];
    return total;
}

void pp_plot_layers_key(const pp_plot_layers *layers, int64_t limit_bytes, bool over,
                        pp_plot_head *head)
{
    char bytes[64];
    char limit[80];
    for (int k = 0; k < layers->count; k++)
        pp_plot_head_add(head, layers->layer[k].fill, NULL, NULL, layers->layer[k].words);
    snprintf(limit, sizeof limit, "limit %s", pp_format_limit(bytes, sizeof bytes, limit_bytes));
    if (limit_bytes)
        pp_plot_head_add(head, NULL, PP_PLOT_LIMIT_LINE, NULL, limit);
    if (over)
        pp_plot_head_add(head, PP_PLOT_OVER_FILL, NULL, NULL, "over the limit");
}

void pp_plot_op_at(const pp_track *track, const pp_memory_sample_row *sample, char *name,
                   size_t size)
{
    const pp_box *found = NULL;
    *name = '\0';
    for (size_t i = 0; i < track->box_count; i++) {
        const pp_box *box = &track->box[i];
        if (box->rank != sample->rank || (found && found->end_ns > sample->at_ns))
            continue;
        found = box;
    }
    if (found)
        pp_op_print(found->op, name, size);
}
