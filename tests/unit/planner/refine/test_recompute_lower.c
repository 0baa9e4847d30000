/* Recomputation on one rank, compared with all choices, on small random orders. */
#include "planner/refine/recompute_lower.h"
#include "sim/base/random.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS_MAX = 6, LEVELS_MAX = 4 };

typedef struct rank {
    uint32_t ops, items;
    int64_t room[2 * ITEMS_MAX];
    pp_recompute_level level[ITEMS_MAX][LEVELS_MAX];
    pp_recompute_item item[ITEMS_MAX];
} rank;

static int64_t below(uint64_t *state, uint64_t end)
{
    return (int64_t)(pp_random_next(state) % end);
}

static bool they_fit(const int64_t *room, uint32_t ops, const pp_recompute_item *item,
                     uint32_t items)
{
    for (uint32_t t = 0; t < ops; t++) {
        int64_t bytes = 0;
        for (uint32_t i = 0; i < items; i++) {
            const pp_recompute_level *now = &item[i].level[item[i].now];
            bytes += item[i].forward <= t && t <= item[i].backward ? now->held_bytes : 0;
            bytes += item[i].backward == t ? now->extra_bytes : 0;
        }
        if (bytes > room[t])
            return false;
    }
    return true;
}

/* The time of recomputation alone. */
static int64_t time_of(const pp_recompute_item *item, uint32_t items)
{
    int64_t ns = 0;
    for (uint32_t i = 0; i < items; i++)
        ns += item[i].level[item[i].now].ns - item[i].level[0].ns;
    return ns;
}

/* The least time of all choices; `now` is the highest level of each. INT64_MAX: none fits. */
static int64_t brute_force(rank *r, uint32_t i)
{
    int64_t least = INT64_MAX;
    if (i == r->items)
        return they_fit(r->room, r->ops, r->item, r->items) ? time_of(r->item, r->items)
                                                            : INT64_MAX;
    const uint32_t most = r->item[i].now;
    for (uint32_t k = 0; k <= most; k++) {
        r->item[i].now = k;
        const int64_t ns = brute_force(r, i + 1);
        least = ns < least ? ns : least;
    }
    r->item[i].now = most;
    return least;
}

/* Forwards and backwards in any order; a level recomputes one layer more. */
static void draw(rank *r, uint64_t *state)
{
    uint32_t begun = 0;
    bool done[ITEMS_MAX] = { false };
    *r = (rank){ .items = 1 + (uint32_t)below(state, ITEMS_MAX) };
    r->ops = 2 * r->items;
    for (uint32_t t = 0, left = r->items; t < r->ops; t++) {
        uint32_t i = (uint32_t)below(state, r->items);
        if (begun < r->items && (begun + left == r->items || below(state, 2))) {
            r->item[begun++].forward = t;
            continue;
        }
        while (i >= begun || done[i])
            i = (i + 1) % r->items;
        done[i] = true;
        r->item[i].backward = t;
        left--;
    }
    int64_t most = 1;
    for (uint32_t i = 0; i < r->items; i++) {
        const int64_t layer = 5 + below(state, 40);
        const int64_t ns = 10 + below(state, 40);
        pp_recompute_item *item = &r->item[i];
        item->level = r->level[i];
        item->now = (uint32_t)below(state, LEVELS_MAX);
        for (uint32_t k = 0; k <= item->now; k++)
            r->level[i][k] = (pp_recompute_level){ 100 + k * ns, 3 * layer + k - k * layer,
                                                   (k ? layer : 0) + below(state, 3) };
        most += 3 * layer / 2;
    }
    for (uint32_t t = 0; t < r->ops; t++)
        r->room[t] = most / 2 + below(state, (uint64_t)most);
}

/* With less recomputation of anything it does not fit. Another choice may take less in total, on
 * average by little. */
START_TEST(nothing_is_left_that_memory_does_not_ask_for)
{
    uint64_t state = 7;
    int64_t ours = 0;
    int64_t least = 0;
    int found = 0;
    for (int n = 0; n < 3000; n++) {
        rank r;
        int64_t spare[2 * ITEMS_MAX];
        draw(&r, &state);
        const bool fits = they_fit(r.room, r.ops, r.item, r.items);
        const int64_t best = brute_force(&r, 0);
        memcpy(spare, r.room, sizeof spare);
        ck_assert_int_eq(pp_recompute_lower(spare, r.ops, r.item, r.items), fits);
        if (!fits)
            continue;
        const int64_t ns = time_of(r.item, r.items);
        ck_assert_msg(they_fit(r.room, r.ops, r.item, r.items), "case %d does not fit", n);
        ck_assert_msg(ns >= best, "case %d: %lld below %lld", n, (long long)ns, (long long)best);
        for (uint32_t i = 0; i < r.items; i++) {
            const uint32_t now = r.item[i].now;
            for (r.item[i].now = 0; r.item[i].now < now; r.item[i].now++)
                ck_assert_msg(!they_fit(r.room, r.ops, r.item, r.items), "case %d, item %u", n, i);
        }
        ours += ns;
        least += best;
        found++;
    }
    ck_assert_int_gt(found, 1000);
    ck_assert_msg((double)ours <= 1.1 * (double)least, "%.4f of the least",
                  (double)ours / (double)least);
}
END_TEST

/* 1F1B with `flying` microbatches and equal layers: any `flying` consecutive microbatches lack the
 * same amount, so one in `flying` recomputes for each layer that does not fit, and no more. */
START_TEST(equal_microbatches_meet_the_closed_form)
{
    enum { MICROBATCHES = 60, LAYERS = 4 };
    const uint32_t flying = (uint32_t)_i;
    static const pp_recompute_level level[] = {
        { 12, 400, 0 }, { 13, 300, 0 }, { 14, 200, 0 }, { 15, 100, 0 }, { 16, 0, 0 },
    };
    int64_t spare[2 * MICROBATCHES];
    for (uint32_t lack = 0; lack <= LAYERS * flying; lack++) {
        pp_recompute_item item[MICROBATCHES] = { 0 };
        uint32_t t = 0;
        for (uint32_t j = 0; j < MICROBATCHES + flying - 1; j++) {
            if (j < MICROBATCHES)
                item[j] = (pp_recompute_item){ .level = level,
                                               .now = (lack + flying - 1) / flying,
                                               .forward = t++ };
            if (j + 1 >= flying)
                item[j + 1 - flying].backward = t++;
        }
        for (uint32_t k = 0; k < t; k++)
            spare[k] = 100 * ((int64_t)LAYERS * flying - lack);
        ck_assert(pp_recompute_lower(spare, t, item, MICROBATCHES));
        ck_assert_int_eq(time_of(item, MICROBATCHES), lack * (MICROBATCHES / flying));
        for (uint32_t k = 0; k < t; k++)
            ck_assert_int_ge(spare[k], 0);
    }
}
END_TEST

/* The longest recomputation is removed first; if the items do not fit, they stay as they are. */
START_TEST(the_longest_goes_first)
{
    static const pp_recompute_level level[] = { { 0, 10, 0 }, { 5, 4, 0 }, { 6, 4, 0 } };
    static const pp_recompute_level longer[] = { { 0, 10, 0 }, { 7, 4, 0 } };
    pp_recompute_item item[] = { { level, 2, 0, 3, 0 }, { longer, 1, 1, 2, 1 } };
    int64_t little[] = { 20, 7, 14, 20 };
    int64_t spare[] = { 20, 14, 14, 20 };
    ck_assert(!pp_recompute_lower(little, 4, item, 2));
    ck_assert_uint_eq(item[0].cell, 0);
    ck_assert_uint_eq(item[0].now, 2);
    ck_assert(pp_recompute_lower(spare, 4, item, 2));
    ck_assert_uint_eq(item[0].cell, 1);
    ck_assert_uint_eq(item[0].now, 0);
    ck_assert_uint_eq(item[1].now, 1);
    ck_assert_int_eq(spare[0], 16);
    ck_assert_int_eq(spare[1], 0);
}
END_TEST

/* A recomputed layer is in memory while its backward runs, so recomputing the first one helps only
 * the others. */
START_TEST(the_backward_needs_what_it_recomputes)
{
    static const pp_recompute_level level[] = { { 0, 40, 0 }, { 1, 31, 10 }, { 2, 22, 10 } };
    pp_recompute_item item[] = { { level, 2, 0, 1, 0 } };
    int64_t spare[] = { 40, 39 };
    int64_t ample[] = { 40, 40 };
    ck_assert(pp_recompute_lower(spare, 2, item, 1));
    ck_assert_uint_eq(item[0].now, 2);
    ck_assert_int_eq(spare[1], 39 - 22 - 10);
    ck_assert(pp_recompute_lower(ample, 2, item, 1));
    ck_assert_uint_eq(item[0].now, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recompute_lower");
    TCase *tc = tcase_create("recompute_lower");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, nothing_is_left_that_memory_does_not_ask_for);
    tcase_add_loop_test(tc, equal_microbatches_meet_the_closed_form, 1, 7);
    tcase_add_test(tc, the_longest_goes_first);
    tcase_add_test(tc, the_backward_needs_what_it_recomputes);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
