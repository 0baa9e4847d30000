/* Lowers recomputation on one rank greedily: the items whose recomputation takes longest come
 * first, and each takes the lowest level for which the memory of all ops between its forward and
 * its backward suffices. This repeats until nothing changes. A round takes time in proportion to
 * the items and the ops that lie between their forwards and backwards. */
#include "planner/refine/recompute_lower.h"

#include <stdlib.h>

/* Takes the bytes of a level of the item, or gives them back if sign is -1. */
static void take(int64_t *spare, const pp_recompute_item *item, uint32_t level, int sign)
{
    const int64_t held_bytes = sign * item->level[level].held_bytes;
    for (uint32_t t = item->forward; t <= item->backward; t++)
        spare[t] -= held_bytes;
    spare[item->backward] -= sign * item->level[level].extra_bytes;
}

/* The lowest level that fits in place of the present one. */
static uint32_t lowest_level(const int64_t *spare, const pp_recompute_item *item)
{
    const pp_recompute_level *now = &item->level[item->now];
    const int64_t last = spare[item->backward] + now->held_bytes + now->extra_bytes;
    int64_t lightest = INT64_MAX;
    int64_t least = last;
    uint32_t k = 0;
    for (uint32_t i = 0; i < item->now; i++)
        lightest = item->level[i].held_bytes < lightest ? item->level[i].held_bytes : lightest;
    for (uint32_t t = item->forward; t < item->backward && least >= lightest; t++)
        least = spare[t] + now->held_bytes < least ? spare[t] + now->held_bytes : least;
    while (k < item->now && (item->level[k].held_bytes > least ||
                             item->level[k].held_bytes + item->level[k].extra_bytes > last))
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
        take(spare_bytes, &item[i], item[i].now, 1);
    for (uint32_t t = 0; t < ops; t++) {
        if (spare_bytes[t] < 0)
            return false;
    }
    qsort(item, items, sizeof *item, compare_items);
    for (bool lowered = true; lowered;) { /* an item that was lowered may make room for others */
        lowered = false;
        for (uint32_t i = 0; i < items; i++) {
            const uint32_t before = item[i].now;
            const uint32_t level = before ? lowest_level(spare_bytes, &item[i]) : 0;
            if (level == before)
                continue;
            take(spare_bytes, &item[i], before, -1);
            take(spare_bytes, &item[i], level, 1);
            item[i].now = level;
            lowered = true;
        }
    }
    return true;
}
