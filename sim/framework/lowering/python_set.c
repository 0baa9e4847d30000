/* Imitates set_add_entry, set_insert_clean and set_table_resize of CPython's Objects/setobject.c:
 * open addressing with nine linear probes; removed entries stay until they are used again or the
 * table is resized; the hash of an integer is its value. */
#include "sim/framework/lowering/python_set.h"

#include <assert.h>

enum { SMALLEST = 8, LINEAR_PROBES = 9, PERTURB_SHIFT = 5, REMOVED = 1, FIRST = 2 };

static uint32_t mask_of(const pp_python_set *set)
{
    return SMALLEST - 1 + set->mask_grown;
}

/* Finds the slot whose content is `wanted`. With wanted 0, finds the slot for a new member: the
 * last removed entry on its probe sequence, else the first slot that was never used. */
static uint32_t find(const pp_python_set *set, uint32_t member, uint32_t wanted)
{
    uint32_t mask = mask_of(set);
    uint32_t perturb = member;
    uint32_t i = member & mask;
    uint32_t removed = mask + 1; /* none */
    for (;;) {
        uint32_t probes = i + LINEAR_PROBES <= mask ? LINEAR_PROBES : 0;
        for (uint32_t k = i; k <= i + probes; k++) {
            if (set->slot[k] == 0)
                return removed <= mask ? removed : k;
            if (set->slot[k] == wanted)
                return k;
            if (set->slot[k] == REMOVED)
                removed = k;
        }
        perturb >>= PERTURB_SHIFT;
        i = (i * 5 + 1 + perturb) & mask;
    }
}

static void resize(pp_python_set *set)
{
    pp_python_set grown = { .used = set->used, .filled = set->used };
    uint32_t slots = SMALLEST;
    while (slots <= 4 * set->used)
        slots *= 2;
    assert(slots <= PP_PYTHON_SET_SLOTS);
    grown.mask_grown = slots - SMALLEST;
    for (uint32_t k = 0; k <= mask_of(set); k++) {
        if (set->slot[k] >= FIRST)
            grown.slot[find(&grown, set->slot[k] - FIRST, 0)] = set->slot[k];
    }
    *set = grown;
}

void pp_python_set_add(pp_python_set *set, uint32_t member)
{
    assert(set->used < PP_PYTHON_SET_MAX);
    uint32_t k = find(set, member, 0);
    bool fresh = set->slot[k] == 0;
    set->slot[k] = member + FIRST;
    set->used++;
    set->filled += fresh;
    if (fresh && 5 * set->filled >= 3 * mask_of(set))
        resize(set);
}

void pp_python_set_remove(pp_python_set *set, uint32_t member)
{
    uint32_t k = find(set, member, member + FIRST);
    assert(set->slot[k] == member + FIRST);
    set->slot[k] = REMOVED;
    set->used--;
}

bool pp_python_set_has(const pp_python_set *set, uint32_t member)
{
    return set->slot[find(set, member, member + FIRST)] == member + FIRST;
}

size_t pp_python_set_list(const pp_python_set *set, uint32_t *out)
{
    size_t count = 0;
    for (uint32_t k = 0; k <= mask_of(set); k++) {
        if (set->slot[k] >= FIRST)
            out[count++] = set->slot[k] - FIRST;
    }
    return count;
}
