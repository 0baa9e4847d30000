/* Lowers recomputation on one rank greedily: the items whose recomputation takes longest come
 * first, and each takes the lowest level for which the memory of all ops between its forward and
 * its backward suffices. This repeats until nothing changes. A round takes time in proportion to
 * the items and the ops that lie between their forwards and backwards. */
#include "planner/refine/recompute_lower.h"

#include <stdlib.h>

/* Takes the bytes of the item's level, or gives them back if sign is -1. */
static void take(int64_t *spare, const pp_recompute_item *item, int sign)
{
    const pp_recompute_level *level = &item->level[item->now];
    for (uint32_t t = item->forward; t <= item->backward; t++)
        spare[t] -= sign * level->held_bytes;
    spare[item->backward] -= sign * level->extra_bytes;
}

/* The lowest level that fits if the item takes nothing now. */
static uint32_t lowest_level(const int64_t *spare, const pp_recompute_item *item)
{
    int64_t least = spare[item->backward];
    uint32_t k = 0;
    for (uint32_t t = item->forward; t < item->backward; t++)
        least = spare[t] < least ? spare[t] : least;
    while (k < item->now &&
           (item->level[k].held_bytes > least ||
            item->level[k].held_bytes + item->level[k].extra_bytes > spare[item->backward]))
        k++;
    return k;
}

static int compare_items(const void *left, const void *right)
{
    const pp_recompute_item *a = left;
    const pp_recompute_item *b = right;
    const int64_t a_ns = a->level[a->now].ns - a->level[0].ns;
    const int64_t b_ns = b->level[b->now].ns - b->level[0].ns;
    if (a_ns != b_ns)
        return a_ns > b_ns ? -1 : 1;
    return (a->forward < b->forward) - (a->forward > b->forward);
}

bool pp_recompute_lower(int64_t *spare_bytes, uint32_t ops, pp_recompute_item *item, uint32_t items)
{
    for (uint32_t i = 0; i < items; i++)
        take(spare_bytes, &item[i], 1);
    for (uint32_t t = 0; t < ops; t++) {
        if (spare_bytes[t] < 0)
            return false;
    }
    qsort(item, items, sizeof *item, compare_items);
    for (bool lowered = true; lowered;) { /* an item that was lowered may make room for others */
        lowered = false;
        for (uint32_t i = 0; i < items; i++) {
            const uint32_t before = item[i].now;
            take(spare_bytes, &item[i], -1);
            item[i].now = lowest_level(spare_bytes, &item[i]);
            take(spare_bytes, &item[i], 1);
            lowered = lowered || item[i].now < before;
        }
    }
    return true;
}
