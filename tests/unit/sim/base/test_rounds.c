/* Rounds over ids beside two plain arrays of flags. */
#include "sim/base/rounds.h"

#include "sim/base/random.h"
#include "tests/support/step.h"

#include <string.h>

enum { IDS_MOST = 20000 };

static bool now[IDS_MOST], next[IDS_MOST];

static void add(pp_rounds *rounds, uint32_t id, uint32_t current)
{
    pp_rounds_add(rounds, id, current);
    (id > current ? now : next)[id] = true;
}

/* Every round gives the ids of the flags in their order, while ids before, at and behind the one
 * that was taken are added. */
START_TEST(ids_come_in_order_and_in_their_round)
{
    static const uint32_t sizes[] = { 1, 63, 64, 65, 4095, 4096, 4097, IDS_MOST };
    const uint32_t ids = sizes[_i];
    pp_rounds rounds;
    pp_rng random = { 7 + (uint64_t)_i };
    size_t taken = 0;
    memset(now, 0, sizeof now);
    memset(next, 0, sizeof next);
    ck_assert(pp_rounds_new(&rounds, ids));
    pp_rounds_add_next(&rounds, ids - 1);
    next[ids - 1] = true;
    add(&rounds, 0, UINT32_MAX);
    for (int round = 0; round < 40; round++) {
        uint32_t id;
        pp_rounds_begin(&rounds);
        memcpy(now, next, sizeof now);
        memset(next, 0, sizeof next);
        for (uint32_t due = 0; due < ids; due++) {
            if (!now[due])
                continue;
            ck_assert(pp_rounds_take(&rounds, &id));
            ck_assert_uint_eq(id, due);
            taken++;
            add(&rounds, pp_rng_below(&random, ids), id);
            add(&rounds, id, id);
            if (id + 1 < ids && taken % 3 == 0)
                add(&rounds, id + 1, id);
        }
        ck_assert(!pp_rounds_take(&rounds, &id));
        ck_assert(!pp_rounds_take(&rounds, &id));
    }
    ck_assert_uint_ge(taken, 40);
    pp_rounds_free(&rounds);
    pp_rounds_free(&rounds); /* twice does no harm */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rounds");
    TCase *tc = tcase_create("rounds");
    tcase_add_loop_test(tc, ids_come_in_order_and_in_their_round, 0, 8);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
