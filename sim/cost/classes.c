/* Finds the microbatches of equal cost by sorting them; O(n log n). */
#include "sim/cost/classes.h"

#include "sim/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

pp_batch pp_batch_of(const pp_cost_context *context, const pp_workload *workload,
                     const pp_microbatch *microbatch)
{
    pp_batch batch = { .tokens = microbatch->tokens, .square_sum = microbatch->square_sum };
    if (context->switches.recompute == PP_RECOMPUTE_MICROBATCHES)
        batch.recomputed = context->recomputed->of + (size_t)(microbatch - workload->microbatch) *
                                                         context->recomputed->stages;
    if (context->expert_tokens) {
        const size_t index = (size_t)(microbatch - workload->microbatch);
        batch.imbalance = pp_expert_tokens_imbalance(context->expert_tokens,
                                                     (uint32_t)(index % workload->microbatches),
                                                     context->parallel.ep);
    }
    if (!context->hardware->measured || !workload->lengths)
        return batch;
    for (size_t i = 0; i < microbatch->count; i++) {
        const double length = (double)workload->lengths[microbatch->first + i];
        const double edge = ceil(length / 128);
        batch.longest = fmax(batch.longest, length);
        batch.tiles += edge * edge;
    }
    return batch;
}

/* A microbatch with its place in the step, for sorting. */
typedef struct sorted {
    pp_batch batch;
    uint32_t index, stages;
} sorted;

static int compare_doubles(double a, double b)
{
    return a < b ? -1 : a > b;
}

static int compare_batches(const sorted *left, const sorted *right)
{
    const pp_batch *a = &left->batch, *b = &right->batch;
    if (a->tokens != b->tokens)
        return a->tokens < b->tokens ? -1 : 1;
    if (a->square_sum != b->square_sum)
        return a->square_sum < b->square_sum ? -1 : 1;
    if (a->imbalance != b->imbalance)
        return compare_doubles(a->imbalance, b->imbalance);
    if (a->longest != b->longest)
        return compare_doubles(a->longest, b->longest);
    if (a->tiles != b->tiles || !a->recomputed)
        return compare_doubles(a->tiles, b->tiles);
    return memcmp(a->recomputed, b->recomputed, left->stages * sizeof *a->recomputed);
}

static int compare_microbatches(const void *left, const void *right)
{
    const sorted *a = left, *b = right;
    const int order = compare_batches(a, b);
    return order ? order : a->index < b->index ? -1 : a->index > b->index;
}

pp_status pp_cost_classify(const pp_cost_context *context, const pp_workload *workload,
                           const pp_microbatch *microbatches, uint32_t count, uint32_t *class_of,
                           uint32_t *classes_out, pp_err *err)
{
    sorted *order = pp_alloc_array(count, sizeof *order);
    if (!order)
        return pp_err_nomem(err);
    const uint32_t stages = context->recomputed ? context->recomputed->stages : 0;
    for (uint32_t j = 0; j < count; j++)
        order[j] = (sorted){ pp_batch_of(context, workload, &microbatches[j]), j, stages };
    qsort(order, count, sizeof *order, compare_microbatches);
    /* the first of equal microbatches represents them; then classes get numbers in step order */
    uint32_t first = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (k == 0 || compare_batches(&order[k], &order[k - 1]) != 0)
            first = order[k].index;
        class_of[order[k].index] = first;
    }
    uint32_t classes = 0;
    for (uint32_t j = 0; j < count; j++)
        class_of[j] = class_of[j] == j ? classes++ : class_of[class_of[j]];
    free(order);
    *classes_out = classes;
    return PP_OK;
}
