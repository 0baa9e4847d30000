/* The sizes that the backends cpu and cuda work with: stages, batches, the matrices of a stage, and
 * the offset of each tensor of a block in the memory that the arena gives to an op. Nothing here
 * depends on the element type. */
#include "runtime/cpu/model.h"

#include "sim/base/alloc.h"
#include "sim/base/units.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static pp_status set_stages(const pp_compute_work *work, pp_cpu_model *model, pp_err *err)
{
    uint64_t layers = 0;
    for (uint32_t s = 0; s < work->stages; s++) {
        const pp_stage *part = work->partition ? &work->partition[s] : NULL;
        pp_cpu_stage *stage = &model->stage[s];
        stage->first = s == 0;
        stage->last = s + 1 == work->stages;
        if (part && model->settings.vocab &&
            (part->embedding != stage->first || part->loss != stage->last))
            return pp_err_set(err, PP_INPUT, model->where,
                              "stage %u of the partition: with vocab= the first stage must have "
                              "the embedding and the last one the loss; vocab=0 needs neither",
                              s);
        stage->embedding = model->settings.vocab && stage->first;
        stage->head = model->settings.vocab && stage->last;
        stage->first_layer = layers;
        stage->layers = part ? part->layers + part->mtp : 1; /* an MTP module is one more block */
        layers += (uint64_t)stage->layers;
    }
    if (model->settings.tied && work->stages < 2)
        return pp_err_set(err, PP_USAGE, model->where,
                          "tied=on needs at least 2 stages, but there is only 1; use tied=off");
    if (model->settings.recompute && work->split)
        return pp_err_set(err, PP_USAGE, model->where,
                          "recompute=on computes a layer again in a backward of one op, but there "
                          "are I and W here; use a schedule with B (probe cpu-ops measures I and W "
                          "alone), or recompute=off");
    return PP_OK;
}

static pp_status set_batch(const pp_cpu_model *model, const pp_workload *padded,
                           const pp_workload *data, uint32_t j, pp_cpu_batch *batch, pp_err *err)
{
    const pp_microbatch *from = &padded->microbatch[j];
    const pp_microbatch *real = &data->microbatch[j];
    if (from->count != real->count || !from->count)
        return pp_err_set(err, PP_INPUT, model->where,
                          "microbatch %u has %zu sequences, but its data have %zu", j, from->count,
                          real->count);
    batch->sequences = from->count;
    batch->lengths = padded->lengths + from->first;
    batch->counted = data->lengths + real->first;
    for (size_t i = 0; i < from->count; i++) {
        int64_t length = batch->lengths[i];
        if (batch->counted[i] < 1 || batch->counted[i] > length)
            return pp_err_set(
                err, PP_INPUT, model->where,
                "sequence %zu of microbatch %u has %lld tokens, but its data have %lld", i, j,
                (long long)length, (long long)batch->counted[i]);
        batch->tokens += length;
        batch->longest = length > batch->longest ? length : batch->longest;
    }
    return PP_OK;
}

static pp_status set_batches(const pp_compute_work *work, pp_cpu_model *model, pp_err *err)
{
    const pp_workload *padded = work->workload;
    const pp_workload *data = work->data ? work->data : padded;
    uint64_t sequence = work->sequences_before;
    if (padded &&
        (padded->microbatches < work->microbatches || data->microbatches < work->microbatches))
        return pp_err_set(err, PP_INPUT, model->where,
                          "there are sequences for %u microbatches instead of %u",
                          padded->microbatches, work->microbatches);
    for (uint32_t j = 0; j < work->microbatches; j++) {
        pp_cpu_batch *batch = &model->batch[j];
        const int64_t *length = &model->settings.tokens;
        *batch = (pp_cpu_batch){ .tokens = *length,
                                 .longest = *length,
                                 .sequences = 1,
                                 .lengths = length,
                                 .counted = length };
        if (padded) {
            *batch = (pp_cpu_batch){ 0 };
            pp_status status = set_batch(model, padded, data, j, batch, err);
            if (status)
                return status;
        }
        batch->first_sequence = sequence;
        sequence += batch->sequences;
        for (size_t i = 0; i < batch->sequences; i++)
            model->counted_tokens += (double)batch->counted[i];
    }
    if (work->step_tokens > 0)
        model->counted_tokens = work->step_tokens;
    else
        model->counted_tokens *= model->replicas;
    return PP_OK;
}

/* Checks that sizes cannot overflow: all sizes below are sums of less than this. */
static pp_status check_sizes(const pp_cpu_model *model, pp_err *err)
{
    const pp_cpu_settings *s = &model->settings;
    double h = (double)s->hidden, f = (double)s->mlp, v = (double)s->vocab;
    double tokens = 0;
    double layers = 1;
    for (uint32_t j = 0; j < model->microbatches; j++)
        tokens = fmax(tokens, (double)model->batch[j].tokens);
    for (uint32_t i = 0; i < model->stages; i++)
        layers += (double)model->stage[i].layers;
    double per_token = layers * (16 * h + 4 * f + 256) + 2 * v;
    double weights = layers * (4 * h * h + 2 * h * f + 256) + 2 * v * h;
    if (tokens > INT_MAX || 8 * (tokens * per_token + weights) > (double)PP_BYTES_MAX)
        return pp_err_set(err, PP_INPUT, model->where,
                          "%.0f tokens per microbatch and %.0f layers of hidden=%.0f are too much",
                          tokens, layers - 1, h);
    return PP_OK;
}

pp_status pp_cpu_model_new(const pp_compute_work *work, bool gpu, pp_cpu_model **model_out,
                           pp_err *err)
{
    pp_cpu_settings settings;
    pp_status status = gpu ? pp_gpu_settings_parse(work->settings, &settings, err)
                           : pp_cpu_settings_parse(work->settings, &settings, err);
    if (status)
        return status;
    pp_cpu_model *model PP_CLEANUP(pp_cpu_model_free) = pp_alloc_array(1, sizeof *model);
    if (!model)
        return pp_err_nomem(err);
    model->settings = settings;
    model->seed = work->seed;
    model->stages = work->stages;
    model->microbatches = work->microbatches;
    model->replicas = work->replicas ? work->replicas : 1;
    model->forward_only = work->forward_only;
    model->gpu = gpu;
    model->where = gpu ? "compute cuda" : "compute cpu";
    model->sum_bytes = settings.single ? sizeof(float) : sizeof(double);
    model->real_bytes = settings.bf16 ? sizeof(uint16_t) : model->sum_bytes;
    model->stage = pp_alloc_array(work->stages, sizeof *model->stage);
    model->batch = pp_alloc_array(work->microbatches, sizeof *model->batch);
    if (!model->stage || !model->batch)
        return pp_err_nomem(err);
    if ((status = set_stages(work, model, err)) || (status = set_batches(work, model, err)) ||
        (status = check_sizes(model, err)))
        return status;
    *model_out = model;
    model = NULL; /* the caller owns it now */
    return PP_OK;
}

void pp_cpu_model_free(pp_cpu_model **model)
{
    if (*model) {
        free((*model)->stage);
        free((*model)->batch);
    }
    free(*model);
    *model = NULL;
}

/* Reserves `count` elements in a layout and returns their offset. */
static size_t take(size_t *bytes, size_t real_bytes, int64_t count)
{
    size_t begin = *bytes;
    *bytes += round_up((size_t)count * real_bytes);
    return begin;
}

int64_t pp_cpu_tile(const pp_cpu_model *model, const pp_cpu_batch *batch, int64_t length)
{
    int64_t room = batch->tokens * model->settings.hidden / length; /* F keeps its scores in DX1 */
    int64_t tile = room < 64 ? room : 64;
    return tile < length ? tile : length;
}

/* Bytes of scratch of the attention on a GPU, whose thread blocks run concurrently: gradients of
 * all keys and values, and the dot product of d and out for every row and head. */
static size_t gpu_attention_bytes(const pp_cpu_model *model, const pp_cpu_batch *batch)
{
    size_t bytes = 0;
    take(&bytes, model->real_bytes, 2 * batch->tokens * model->settings.hidden);
    take(&bytes, model->sum_bytes, batch->tokens * model->settings.heads);
    return bytes;
}

/* Bytes of scratch of the backward of a stage: `hidden` elements per token for products, then
 * scores and their gradients, and gradients of keys and values. */
static size_t scratch_bytes(const pp_cpu_model *model, const pp_cpu_stage *stage,
                            const pp_cpu_batch *batch, size_t message)
{
    const pp_cpu_settings *s = &model->settings;
    size_t real = model->real_bytes;
    size_t bytes = stage->layers || stage->head ? message : 0;
    if (stage->layers) {
        size_t widest = 0;
        for (size_t i = 0; i < batch->sequences && !model->gpu; i++) {
            int64_t length = batch->lengths[i];
            size_t need = 0;
            take(&need, real, pp_cpu_tile(model, batch, length) * length);
            take(&need, real, pp_cpu_tile(model, batch, length) * length);
            take(&need, real, s->hidden / s->heads * length);
            take(&need, real, s->hidden / s->heads * length);
            widest = need > widest ? need : widest;
        }
        if (model->gpu)
            widest = gpu_attention_bytes(model, batch);
        size_t wide = round_up((size_t)(batch->tokens * s->mlp) * real);
        bytes = bytes + widest > wide ? bytes + widest : wide;
    }
    return bytes;
}

bool pp_cpu_recomputes(const pp_cpu_model *model)
{
    return model->settings.recompute && !model->forward_only;
}

pp_cpu_layout pp_cpu_layout_of(const pp_cpu_model *model, const pp_cpu_stage *stage,
                               const pp_cpu_batch *batch)
{
    const pp_cpu_settings *s = &model->settings;
    const int64_t h = s->hidden;
    const int64_t width[PP_CPU_SLOTS] = { h, 3 * h, h, h, h, s->mlp, s->mlp, h, 1, 1, s->heads };
    const size_t real = model->real_bytes;
    const size_t sum = model->sum_bytes;
    const int64_t tokens = batch->tokens;
    pp_cpu_layout at = { .message = round_up((size_t)(tokens * h) * real) };
    size_t stash = 0;
    size_t saved = 0;
    for (int i = 0; i < PP_CPU_SLOTS; i++)
        at.slot[i] = i < PP_CPU_STASH_SLOTS ? take(&stash, real, tokens * width[i])
                                            : take(&saved, sum, tokens * width[i]);
    const bool again = pp_cpu_recomputes(model);
    const bool shared = model->forward_only || again;
    const size_t layers = (size_t)stage->layers;
    const size_t kept = shared && layers > 1 ? 1 : layers;
    at.stash_step = shared ? 0 : stash;
    at.saved_step = shared ? 0 : saved;
    at.stash_bytes = kept * stash;
    at.inputs = at.stash_bytes;
    at.stash_bytes += again ? layers * at.message : 0;
    at.saved_bytes = kept * saved;
    if (stage->embedding || (stage->last && !stage->layers))
        at.bottom = take(&at.stash_bytes, real, tokens * h);
    if (stage->head) {
        at.norm = take(&at.stash_bytes, real, tokens * h);
        at.logits = take(&at.stash_bytes, real, tokens * s->vocab);
        at.norm_inverse = take(&at.saved_bytes, sum, tokens);
    }
    at.attention = at.message;
    at.scratch_bytes = scratch_bytes(model, stage, batch, at.message);
    at.again = at.scratch_bytes;
    at.scratch_bytes += again && layers ? at.message : 0;
    return at;
}

bool pp_cpu_same_sizes(const pp_cpu_batch *a, const pp_cpu_batch *b)
{
    return a->sequences == b->sequences &&
           memcmp(a->lengths, b->lengths, a->sequences * sizeof *a->lengths) == 0;
}

size_t pp_cpu_matrix_count(const pp_cpu_stage *stage)
{
    return (size_t)stage->embedding + 4 * (size_t)stage->layers + (size_t)stage->head;
}

pp_cpu_matrix pp_cpu_matrix_at(const pp_cpu_model *model, const pp_cpu_stage *stage, size_t index)
{
    const size_t h = (size_t)model->settings.hidden;
    const size_t f = (size_t)model->settings.mlp;
    const size_t v = (size_t)model->settings.vocab;
    const size_t real = model->real_bytes;
    const pp_cpu_matrix block[4] = {
        { .what = PP_CPU_WEIGHT_QKV, .rows = h, .columns = 3 * h },
        { .what = PP_CPU_WEIGHT_O, .rows = h, .columns = h },
        { .what = PP_CPU_WEIGHT_1, .rows = h, .columns = f },
        { .what = PP_CPU_WEIGHT_2, .rows = f, .columns = h },
    };
    size_t offset[5] = { 0 };
    for (int i = 0; i < 4; i++)
        offset[i + 1] = offset[i] + round_up(block[i].rows * block[i].columns * real);
    const pp_cpu_matrix ends = {
        .what = PP_CPU_WEIGHT_EMBEDDING, .rows = v, .columns = h, .scale = sqrt(3.0 / (double)h)
    };
    if (stage->embedding && index == 0)
        return ends;
    size_t begin = stage->embedding ? round_up(v * h * real) : 0;
    size_t i = index - stage->embedding;
    pp_cpu_matrix matrix = i < 4 * (size_t)stage->layers ? block[i % 4] : ends;
    if (i == 4 * (size_t)stage->layers) {
        matrix.what = model->settings.tied ? PP_CPU_WEIGHT_EMBEDDING : PP_CPU_WEIGHT_HEAD;
    } else {
        matrix.layer = stage->first_layer + i / 4;
        matrix.scale = sqrt(3.0 / (double)matrix.rows);
    }
    matrix.offset = begin + i / 4 * offset[4] + offset[i % 4];
    return matrix;
}

size_t pp_cpu_parameter_bytes(const pp_cpu_model *model, const pp_cpu_stage *stage)
{
    size_t count = pp_cpu_matrix_count(stage);
    if (!count)
        return 0;
    pp_cpu_matrix last = pp_cpu_matrix_at(model, stage, count - 1);
    const size_t bytes = last.offset + round_up(last.rows * last.columns * model->real_bytes);
    const size_t part = (size_t)64 * model->replicas;
    return (bytes + part - 1) / part * part;
}
