/* Recomputation on one rank: against all choices there are, on small drawn orders. */
#include "planner/recompute_cover.h"
#include "sim/random.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS_MAX = 6, LEVELS_MAX = 4, OPS_MAX = 2 * 512 * 8 };

typedef struct rank {
    uint32_t ops, items;
    int64_t room[2 * ITEMS_MAX];
    pp_recompute_level level[ITEMS_MAX][LEVELS_MAX];
    pp_cover_item item[ITEMS_MAX];
} rank;

static int64_t below(uint64_t *state, uint64_t end)
{
    return (int64_t)(pp_random_next(state) % end);
}

static bool chosen_fit(const int64_t *room, uint32_t ops, const pp_cover_item *item, uint32_t items)
{
    for (uint32_t t = 0; t < ops; t++) {
        int64_t bytes = 0;
        for (uint32_t i = 0; i < items; i++) {
            const pp_recompute_level *now = &item[i].level[item[i].chosen];
            bytes += item[i].forward <= t && t <= item[i].backward ? now->held_bytes : 0;
            bytes += item[i].backward == t ? now->extra_bytes : 0;
        }
        if (bytes > room[t])
            return false;
    }
    return true;
}

static int64_t chosen_ns(const pp_cover_item *item, uint32_t items)
{
    int64_t ns = 0;
    for (uint32_t i = 0; i < items; i++)
        ns += item[i].level[item[i].chosen].ns;
    return ns;
}

/* The least time of all choices; INT64_MAX: none fits. */
static int64_t brute_force(rank *r, uint32_t i)
{
    int64_t least = INT64_MAX;
    if (i == r->items)
        return chosen_fit(r->room, r->ops, r->item, r->items) ? chosen_ns(r->item, r->items)
                                                              : INT64_MAX;
    for (uint32_t k = r->item[i].least; k < r->item[i].levels; k++) {
        r->item[i].chosen = k;
        const int64_t ns = brute_force(r, i + 1);
        least = ns < least ? ns : least;
    }
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
        pp_cover_item *item = &r->item[i];
        item->level = r->level[i];
        item->levels = 1 + (uint32_t)below(state, LEVELS_MAX);
        item->least = (uint32_t)below(state, 4) ? 0 : item->levels - 1;
        item->known = item->levels - 1;
        for (uint32_t k = 0; k < item->levels; k++)
            r->level[i][k] = (pp_recompute_level){ 100 + k * ns, 3 * layer + k - k * layer,
                                                   (k ? layer : 0) + below(state, 3) };
        most += 3 * layer / 2;
    }
    for (uint32_t t = 0; t < r->ops; t++)
        r->room[t] = most / 2 + below(state, (uint64_t)most);
}

/* What fits is found wherever all levels at their highest fit; in all, the time is a little above
 * the least. The worst case of the method is known to be 4 times it. */
START_TEST(close_to_the_best_choice)
{
    uint64_t state = 7;
    int64_t ours = 0;
    int64_t least = 0;
    int found = 0;
    for (int n = 0; n < 3000; n++) {
        rank r;
        int64_t spare = -1;
        pp_err err = { 0 };
        draw(&r, &state);
        ck_assert_int_eq(pp_recompute_cover(r.room, r.ops, r.item, r.items, &spare, &err), PP_OK);
        const int64_t ns = spare >= 0 ? chosen_ns(r.item, r.items) : INT64_MAX;
        if (spare >= 0)
            ck_assert_msg(chosen_fit(r.room, r.ops, r.item, r.items), "case %d does not fit", n);
        for (uint32_t i = 0; i < r.items; i++) {
            ck_assert_uint_ge(spare >= 0 ? r.item[i].chosen : r.item[i].least, r.item[i].least);
            r.item[i].chosen = r.item[i].levels - 1;
        }
        const bool highest = chosen_fit(r.room, r.ops, r.item, r.items);
        const int64_t highest_ns = chosen_ns(r.item, r.items);
        ck_assert_msg(spare >= 0 || !highest, "case %d: the highest levels fit", n);
        ck_assert(!highest || ns <= highest_ns);
        const int64_t best = brute_force(&r, 0);
        ck_assert_msg(ns >= best, "case %d: %lld below %lld", n, (long long)ns, (long long)best);
        if (spare < 0)
            continue;
        ours += ns - 100 * r.items;
        least += best - 100 * r.items;
        found++;
    }
    ck_assert_int_gt(found, 1000);
    ck_assert_msg((double)ours <= 1.01 * (double)least, "%.4f of the least",
                  (double)ours / (double)least);
}
END_TEST

/* 1F1B with `flying` microbatches and equal layers: any `flying` that follow each other lack as
 * much, so of these one in `flying` recomputes for each layer that is short, and no more. */
START_TEST(equal_microbatches_meet_the_closed_form)
{
    enum { MICROBATCHES = 60, LAYERS = 4 };
    const uint32_t flying = (uint32_t)_i;
    static const pp_recompute_level level[] = {
        { 12, 400, 0 }, { 13, 300, 0 }, { 14, 200, 0 }, { 15, 100, 0 }, { 16, 0, 0 },
    };
    int64_t room[2 * MICROBATCHES];
    for (uint32_t lack = 0; lack <= LAYERS * flying; lack++) {
        pp_cover_item item[MICROBATCHES] = { 0 };
        int64_t spare = -1;
        pp_err err = { 0 };
        uint32_t t = 0;
        for (uint32_t j = 0; j < MICROBATCHES + flying - 1; j++) {
            if (j < MICROBATCHES)
                item[j] = (pp_cover_item){ .level = level, .levels = LAYERS + 1, .forward = t++ };
            if (j + 1 >= flying)
                item[j + 1 - flying].backward = t++;
        }
        for (uint32_t k = 0; k < t; k++)
            room[k] = 100 * ((int64_t)LAYERS * flying - lack);
        for (uint32_t j = 0; j < MICROBATCHES; j++)
            item[j].known = (lack + flying - 1) / flying;
        ck_assert_int_eq(pp_recompute_cover(room, t, item, MICROBATCHES, &spare, &err), PP_OK);
        ck_assert(spare >= 0 && chosen_fit(room, t, item, MICROBATCHES));
        ck_assert_int_eq(chosen_ns(item, MICROBATCHES) - 12 * MICROBATCHES,
                         lack * (MICROBATCHES / flying));
    }
}
END_TEST

/* Of a solution that is known nothing is added, and what is not needed goes. */
START_TEST(what_is_known_is_only_lowered)
{
    static const pp_recompute_level level[] = { { 0, 10, 0 }, { 5, 4, 0 } };
    pp_cover_item item[] = { { level, 2, 0, 1, 0, 0, 3 }, { level, 2, 1, 1, 0, 1, 2 } };
    const int64_t room[] = { 20, 14, 14, 20 };
    int64_t spare = -1;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_recompute_cover(room, 4, item, 2, &spare, &err), PP_OK);
    ck_assert_int_eq(spare, 0);
    ck_assert_uint_eq(item[0].chosen, 0);
    ck_assert_uint_eq(item[1].chosen, 1);
    const int64_t little[] = { 20, 7, 14, 20 };
    ck_assert_int_eq(pp_recompute_cover(little, 4, item, 2, &spare, &err), PP_OK);
    ck_assert_int_lt(spare, 0);
}
END_TEST

/* A layer that is recomputed is there while its backward runs, so the first one helps others only.
 */
START_TEST(the_backward_needs_what_it_recomputes)
{
    static const pp_recompute_level level[] = { { 0, 40, 0 }, { 1, 31, 10 }, { 2, 22, 10 } };
    pp_cover_item item[] = { { level, 3, 0, 2, 0, 0, 1 } };
    const int64_t room[] = { 40, 39 };
    int64_t spare = -1;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_recompute_cover(room, 2, item, 1, &spare, &err), PP_OK);
    ck_assert_int_eq(spare, 39 - 22 - 10);
    ck_assert_uint_eq(item[0].chosen, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recompute_cover");
    TCase *tc = tcase_create("recompute_cover");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, close_to_the_best_choice);
    tcase_add_loop_test(tc, equal_microbatches_meet_the_closed_form, 1, 7);
    tcase_add_test(tc, what_is_known_is_only_lowered);
    tcase_add_test(tc, the_backward_needs_what_it_recomputes);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
