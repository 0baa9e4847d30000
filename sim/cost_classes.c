/* Which microbatches cost the same. */
#include "sim/alloc.h"
#include "sim/cost_int.h"

#include <math.h>
#include <stdlib.h>

pp_batch pp_batch_of(const pp_cost_context *context, const pp_workload *workload,
                     const pp_microbatch *microbatch)
{
    pp_batch batch = { .tokens = microbatch->tokens, .square_sum = microbatch->square_sum };
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

static bool same_batch(const pp_batch *a, const pp_batch *b)
{
    return a->tokens == b->tokens && a->square_sum == b->square_sum && a->longest == b->longest &&
           a->tiles == b->tiles;
}

/* Equal microbatches cost the same; classes are numbered by first use. */
typedef struct sorted {
    pp_batch batch;
    uint32_t index;
} sorted;

static int compare_doubles(double a, double b)
{
    return a < b ? -1 : a > b;
}

static int compare_microbatches(const void *left, const void *right)
{
    const sorted *a = left, *b = right;
    if (a->batch.tokens != b->batch.tokens)
        return a->batch.tokens < b->batch.tokens ? -1 : 1;
    if (a->batch.square_sum != b->batch.square_sum)
        return a->batch.square_sum < b->batch.square_sum ? -1 : 1;
    int order = compare_doubles(a->batch.longest, b->batch.longest);
    if (!order)
        order = compare_doubles(a->batch.tiles, b->batch.tiles);
    return order ? order : a->index < b->index ? -1 : a->index > b->index;
}

pp_status pp_cost_classify(const pp_cost_context *context, const pp_workload *workload,
                           const pp_microbatch *microbatches, uint32_t count, uint32_t *class_of,
                           uint32_t *classes_out, pp_err *err)
{
    sorted *order = pp_alloc_array(count, sizeof *order);
    if (!order)
        return pp_err_nomem(err);
    for (uint32_t j = 0; j < count; j++)
        order[j] = (sorted){ pp_batch_of(context, workload, &microbatches[j]), j };
    qsort(order, count, sizeof *order, compare_microbatches);
    /* the first of each run of equals stands for it; then numbers in the order of the step */
    uint32_t first = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (k == 0 || !same_batch(&order[k].batch, &order[k - 1].batch))
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
