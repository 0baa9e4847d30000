/* Lowers recomputation on one rank greedily: the items whose recomputation takes longest come
 * first, and each takes the lowest level for which the memory of all ops between its forward and
 * its backward suffices. This repeats until nothing changes. A round takes time in proportion to
 * the items and the ops that lie between their forwards and backwards. */
#include "planner/refine/recompute_lower.h"

#include <stdlib.h>

/* Takes what the items hold from what the ops have to spare; meanwhile these are differences, so
 * that an item is two of them. Returns false if that leaves too little. */
static bool take_all(int64_t *spare, uint32_t ops, const pp_recompute_item *item, uint32_t items)
{
    bool fits = true;
    for (uint32_t t = ops; t-- > 1;)
        spare[t] -= spare[t - 1];
    for (uint32_t i = 0; i < items; i++) {
        const pp_recompute_level *now = &item[i].level[item[i].now];
        const uint32_t after = item[i].backward + 1;
        spare[item[i].forward] -= now->held_bytes;
        spare[item[i].backward] -= now->extra_bytes;
        if (after < ops)
            spare[after] += now->held_bytes + now->extra_bytes;
    }
    for (uint32_t t = 0; t < ops; t++) {
        spare[t] += t ? spare[t - 1] : 0;
        fits = fits && spare[t] >= 0;
    }
    return fits;
}

static void set_level(int64_t *spare, pp_recompute_item *item, uint32_t level)
{
    const pp_recompute_level *before = &item->level[item->now], *now = &item->level[level];
    const int64_t more_bytes = now->held_bytes - before->held_bytes;
    for (uint32_t t = item->forward; t <= item->backward; t++)
        spare[t] -= more_bytes;
    spare[item->backward] -= now->extra_bytes - before->extra_bytes;
    item->now = level;
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
    if (!take_all(spare_bytes, ops, item, items))
        return false;
    qsort(item, items, sizeof *item, compare_items);
    for (bool lowered = true; lowered;) { /* an item that was lowered may make room for others */
        lowered = false;
        for (uint32_t i = 0; i < items; i++) {
            const uint32_t before = item[i].now;
            const uint32_t level = before ? lowest_level(spare_bytes, &item[i]) : 0;
            if (level == before)
                continue;
            set_level(spare_bytes, &item[i], level);
            lowered = true;
        }
    }
    return true;
}
