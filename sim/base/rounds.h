/* Rounds over ids, lowest first: an id is due in this round or in the next one. Two levels of bits
 * say which (a bit per id, and one per word of those), so that a round costs what it looks at and
 * a word per 4096 ids. */
#ifndef PPSIM_SIM_BASE_ROUNDS_H
#define PPSIM_SIM_BASE_ROUNDS_H

#include "sim/base/alloc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct pp_rounds_due {
    uint64_t *id;   /* a bit per id */
    uint64_t *word; /* a bit per word of `id` that is not 0 */
} pp_rounds_due;

typedef struct pp_rounds {
    pp_rounds_due now, next; /* this round and the next one */
    uint64_t *bits;          /* owned: of both */
    size_t at, words;        /* the word of `now.word` that was looked at last, and their number */
} pp_rounds;

static inline void pp_rounds_free(pp_rounds *rounds)
{
    free(rounds->bits);
    *rounds = (pp_rounds){ 0 };
}

/* Makes rounds over the ids 0 to ids - 1, of which none is due. Returns false without memory; in
 * any case pp_rounds_free() takes it. */
PP_MUST_CHECK static inline bool pp_rounds_new(pp_rounds *rounds, uint32_t ids)
{
    const size_t low = ids / (size_t)64 + 1, words = low / 64 + 1;
    *rounds = (pp_rounds){ .at = words, .words = words };
    rounds->bits = pp_alloc_array(2 * (low + words), sizeof *rounds->bits);
    if (!rounds->bits)
        return false;
    rounds->now = (pp_rounds_due){ rounds->bits, rounds->bits + low };
    rounds->next = (pp_rounds_due){ rounds->now.word + words, rounds->now.word + words + low };
    return true;
}

static inline void pp_rounds_set(const pp_rounds_due *due, uint32_t id)
{
    due->id[id / 64] |= (uint64_t)1 << id % 64;
    due->word[id / 4096] |= (uint64_t)1 << id / 64 % 64;
}

/* Makes an id due in the next round. */
static inline void pp_rounds_add_next(pp_rounds *rounds, uint32_t id)
{
    pp_rounds_set(&rounds->next, id);
}

/* Makes an id due in this round if it comes after `current`, which was taken last, and in the next
 * round otherwise. Between two rounds `current` is UINT32_MAX. */
static inline void pp_rounds_add(pp_rounds *rounds, uint32_t id, uint32_t current)
{
    pp_rounds_set(id > current ? &rounds->now : &rounds->next, id);
}

/* Begins the next round; all ids of the last one must have been taken. */
static inline void pp_rounds_begin(pp_rounds *rounds)
{
    const pp_rounds_due done = rounds->now;
    rounds->now = rounds->next;
    rounds->next = done;
    rounds->at = 0;
}

/* Takes the lowest id that is due in this round. Returns false at its end. */
static inline bool pp_rounds_take(pp_rounds *rounds, uint32_t *id_out)
{
    const pp_rounds_due *now = &rounds->now;
    while (rounds->at < rounds->words && !now->word[rounds->at])
        rounds->at++;
    if (rounds->at == rounds->words)
        return false;
    const size_t low = rounds->at * 64 + (size_t)__builtin_ctzll(now->word[rounds->at]);
    *id_out = (uint32_t)(low * 64 + (size_t)__builtin_ctzll(now->id[low]));
    now->id[low] &= now->id[low] - 1;
    if (!now->id[low])
        now->word[rounds->at] &= now->word[rounds->at] - 1;
    return true;
}

#endif
