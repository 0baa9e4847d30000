/* A set of small integers is iterated in the order of CPython. */
#include "sim/framework/lowering/python_set.h"

#include <check.h>
#include <stdlib.h>

enum { STEPS_MAX = 27 };

/* What CPython 3.11 and 3.13 print for list(set) after these steps, random ones among members that
 * collide in tables of 8, 16 and 32: n adds n, -n-1 removes n. */
START_TEST(members_come_in_the_order_of_cpython)
{
    static const struct {
        int steps[STEPS_MAX];
        size_t count;
        uint32_t members[PP_PYTHON_SET_MAX];
        size_t left;
    } cases[] = {
        { { 5, 7, 6 }, 3, { 5, 6, 7 }, 3 },
        { { 4, 2, -5, 15, 6, -3, 12 }, 7, { 12, 6, 15 }, 3 }, /* takes the slot of 4 */
        { { 9,  5,  -10, 2,  40, -3,  -41, 40,  -6, -41, 65534, -65535, 2,
            -3, 15, 12,  24, 31, -32, 32,  -16, 3,  -4,  -13,   16 },
          25,
          { 32, 16, 24 },
          3 },
        { { 9,   -10, 5,   -6,  2,  -3,  24, 32,    8, -9, 12,     40,
            -41, -13, -33, -25, 16, -17, 40, 65534, 5, 1,  -65535, 32 },
          24,
          { 32, 1, 5, 40 },
          4 },
        { { 7,  -8, 15, 8,  40,  65534, -16, 9,  -9,  -65535, -10, 9, 1, -41,
            31, 40, -2, 17, -10, -18,   -32, 16, -17, -41,    33,  8, 4 },
          27,
          { 33, 4, 8 },
          3 },
        { { 32, 65534, -65535, 8, -33,    -9, 0,  5,  -1,  32, 1, -33,
            -6, 5,     65534,  3, -65535, 16, -6, -2, -17, 15, 7, 8 },
          24,
          { 3, 7, 8, 15 },
          4 },
    };
    _Static_assert(sizeof cases / sizeof cases[0] == 6, "as often as main loops");
    pp_python_set set = { .used = 0 };
    uint32_t members[PP_PYTHON_SET_MAX];
    for (size_t i = 0; i < cases[_i].count; i++) {
        int step = cases[_i].steps[i];
        if (step < 0)
            pp_python_set_remove(&set, (uint32_t)(-step - 1));
        else
            pp_python_set_add(&set, (uint32_t)step);
    }
    ck_assert_uint_eq(pp_python_set_list(&set, members), cases[_i].left);
    for (size_t k = 0; k < cases[_i].left; k++) {
        ck_assert_uint_eq(members[k], cases[_i].members[k]);
        ck_assert(pp_python_set_has(&set, members[k]));
    }
    ck_assert(!pp_python_set_has(&set, 1000));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("python_set");
    TCase *tc = tcase_create("python_set");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, members_come_in_the_order_of_cpython, 0, 6);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
