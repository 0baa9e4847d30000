/* Prepares one batch for packing: the modelled weight of each sequence, and the sequences sorted by
 * weight. O(n log n). */
#include "planner/pack/pack_case.h"

#include "sim/base/alloc.h"

#include <stdlib.h>

typedef struct heavy {
    double weight;
    uint32_t index;
} heavy;

static int compare_heavy(const void *left, const void *right)
{
    const heavy *a = left;
    const heavy *b = right;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static pp_status weigh(pp_pack_case *c, pp_err *err)
{
    const size_t count = c->task->count;
    c->weight = pp_alloc_array(count, sizeof *c->weight);
    c->by_size = pp_alloc_array(count, sizeof *c->by_size);
    heavy *list = pp_alloc_array(count, sizeof *list);
    if (!c->weight || !c->by_size || !list) {
        free(list);
        return pp_err_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        const double n = (double)c->task->lengths[i];
        c->weight[i] = pp_pack_weight(c->packer->weights, n, n * n);
        list[i] = (heavy){ c->weight[i], (uint32_t)i };
    }
    qsort(list, count, sizeof *list, compare_heavy);
    for (size_t i = 0; i < count; i++)
        c->by_size[i] = list[i].index;
    free(list);
    return PP_OK;
}

void pp_pack_case_free(pp_pack_case *c)
{
    free(c->weight);
    free(c->by_size);
    pp_grouping_free(&c->first_fit);
}

bool pp_pack_is_over(const pp_pack_case *c, int part)
{
    const pp_pack_task *task = c->task;
    return (task->stop && task->stop(task->context)) ||
           (task->ops_most && (c->packer->ops - c->ops_before) * part >= task->ops_most);
}

pp_status pp_pack_case_open(pp_pack_case *c, pp_packer *packer, const pp_pack_task *task,
                            pp_err *err)
{
    *c = (pp_pack_case){ .packer = packer, .task = task, .ops_before = packer->ops };
    int64_t tokens = 0;
    for (size_t i = 0; i < task->count; i++)
        tokens += task->lengths[i];
    const int64_t room = packer->capacity * packer->replicas;
    c->fewest = (uint32_t)((tokens + room - 1) / room);
    return weigh(c, err);
}
