/* Where arrays lie, and sizes that no memory has. */
#include "sim/base/alloc.h"

#include "tests/support/step.h"

/* Wherever a block begins, the place is in the quarter, and no further than the room for it. */
START_TEST(a_place_is_in_its_quarter_of_a_page)
{
    static char block[3 * PP_APART];
    for (size_t from = 0; from < PP_APART + 100; from += 4) {
        char *at = pp_apart(block + from, (uintptr_t)_i);
        ck_assert_uint_eq((uintptr_t)at % PP_APART, (uintptr_t)_i * PP_APART / 4);
        ck_assert(at >= block + from && at < block + from + PP_APART);
    }
}
END_TEST

START_TEST(a_size_beyond_the_addresses_is_refused)
{
    /* 2^64 + 16 bytes, which are 16 in 64 bits */
    ck_assert_ptr_null(pp_alloc_large(SIZE_MAX / 16 + 2, 16));
    ck_assert_ptr_null(pp_alloc_array(SIZE_MAX / 16 + 2, 16));
    void *none = pp_alloc_large(0, 16);
    ck_assert_ptr_nonnull(none);
    free(none);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("alloc");
    TCase *tc = tcase_create("alloc");
    tcase_add_loop_test(tc, a_place_is_in_its_quarter_of_a_page, 0, 4);
    tcase_add_test(tc, a_size_beyond_the_addresses_is_refused);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
