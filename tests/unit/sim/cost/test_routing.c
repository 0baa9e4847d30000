/* How many ranges of experts a token reaches, against all of its choices one by one. */
#include "sim/cost/routing.h"
#include "tests/support/step.h"

#include <string.h>

#define EXPERTS 12

static unsigned ones(unsigned bits)
{
    unsigned count = 0;
    for (; bits; bits &= bits - 1)
        count++;
    return count;
}

/* The mean over all sets of groups and all sets of their experts of the ranges with one of them. */
static double counted(const pp_model *m, unsigned width)
{
    const unsigned groups = m->expert_groups ? (unsigned)m->expert_groups : 1;
    const unsigned wanted = m->expert_groups ? (unsigned)m->groups_per_token : 1;
    const unsigned size = EXPERTS / groups;
    double mean = 0, sets = 0;
    for (unsigned g = 0; g < 1U << groups; g++) {
        double reached = 0, choices = 0;
        unsigned allowed = 0;
        if (ones(g) != wanted)
            continue;
        for (unsigned k = 0; k < groups; k++)
            allowed |= g >> k & 1 ? ((1U << size) - 1) << k * size : 0;
        for (unsigned e = 0; e < 1U << EXPERTS; e++) {
            if (ones(e) != m->experts_per_token || (e & ~allowed))
                continue;
            choices++;
            for (unsigned first = 0; first < EXPERTS; first += width)
                reached += (e >> first & ((1U << width) - 1)) != 0;
        }
        mean += reached / choices;
        sets++;
    }
    return mean / sets;
}

START_TEST(the_mean_is_that_of_all_choices)
{
    static const struct {
        int64_t groups, chosen;
    } rows[] = { { 0, 0 }, { 1, 1 }, { 2, 1 }, { 3, 2 }, { 4, 1 },
                 { 4, 3 }, { 4, 4 }, { 6, 2 }, { 6, 5 }, { 12, 3 } };
    int compared = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int64_t k = 1; k <= 6; k++) {
            const pp_model m = { .experts = EXPERTS,
                                 .experts_per_token = k,
                                 .expert_groups = rows[i].groups,
                                 .groups_per_token = rows[i].chosen };
            if (rows[i].groups && rows[i].chosen * EXPERTS / rows[i].groups < k)
                continue;
            /* ranges within groups, of whole ones, and with parts of several; the last one maybe
             * shorter */
            for (int64_t width = 1; width <= EXPERTS; width++) {
                ck_assert_double_eq_tol(pp_routing_reached(&m, width), counted(&m, (unsigned)width),
                                        1e-12);
                compared++;
            }
        }
    }
    ck_assert_int_gt(compared, 500);
}
END_TEST

/* DeepSeek-V3: of 8 nodes, each with a group of 32 experts, at most 4, which its 8 experts miss
 * with probability C(96, 8) / C(128, 8); without the limit 8, missed with C(224, 8) / C(256, 8). */
START_TEST(limited_routing_reaches_fewer_nodes)
{
    pp_model m = {
        .experts = 256, .experts_per_token = 8, .expert_groups = 8, .groups_per_token = 4
    };
    double limited = 1, any = 1;
    for (int i = 0; i < 8; i++) {
        limited *= (96.0 - i) / (128 - i);
        any *= (224.0 - i) / (256 - i);
    }
    ck_assert_double_eq_tol(pp_routing_reached(&m, 32), 4 * (1 - limited), 1e-12);
    m.groups_per_token = 8;
    ck_assert_double_eq_tol(pp_routing_reached(&m, 32), 8 * (1 - any), 1e-12);
    m.expert_groups = m.groups_per_token = 0;
    ck_assert_double_eq_tol(pp_routing_reached(&m, 32), 8 * (1 - any), 1e-12);
    ck_assert_double_eq_tol(pp_routing_reached(&m, 1), 8, 1e-12);
    ck_assert_double_eq(pp_routing_reached(&m, 256), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("routing");
    TCase *tc = tcase_create("reached");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_mean_is_that_of_all_choices);
    tcase_add_test(tc, limited_routing_reaches_fewer_nodes);
    return step_run(suite);
}
