/* Steps of a long recording: the n-th time of an op by its begin, whatever the order of the file.
 * Memory is used only for the requested steps. */
#include "sim/base/text.h"
#include "tests/support/scratch_file.h"
#include "traces/read/recorded_steps.h"
#include "traces/read/recording.h"

#include <check.h>
#include <stdlib.h>

#define STEPS 6000
#define RANKS 2
#define STEP_US 100

/* The step at place i of the file. */
static size_t in_order(size_t i)
{
    return i;
}

static size_t reversed(size_t i)
{
    return STEPS - 1 - i;
}

static size_t halves_exchanged(size_t i)
{
    return (i + STEPS / 2) % STEPS;
}

static size_t (*const orders[])(size_t) = { in_order, reversed, halves_exchanged };
static const size_t parts[][2] = { { 0, 0 }, { 2990, 3010 }, { STEPS - 2, STEPS - 1 } };

/* On each rank F lasts 10 us from the beginning of the step, and B the next 20. */
static void add_step(size_t step, pp_text *text)
{
    for (int rank = 0; rank < RANKS; rank++) {
        for (int back = 0; back < 2; back++)
            pp_text_add(
                text,
                ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":0,\"ts\":%zu,\"dur\":%d,\"name\":\"%d%c0\","
                "\"cat\":\"compute\"}",
                rank, step * STEP_US + (back ? 10 : 0), back ? 20 : 10, rank, back ? 'B' : 'F');
    }
}

START_TEST(steps_are_found_in_any_order_of_the_file)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_err err = { 0 };
    pp_text_add(&text, "{\"traceEvents\":[{\"ph\":\"M\"}");
    for (size_t i = 0; i < STEPS; i++)
        add_step(orders[_i](i), &text);
    pp_text_add(&text, "]}");
    scratch_file file PP_CLEANUP(scratch_remove) = scratch_write(text.data, text.bytes);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        pp_window *window = NULL;
        size_t count = 0;
        bool everywhere = true;
        ck_assert_msg(pp_recording_windows(file.path, parts[i][0], parts[i][1], &window, &count,
                                           &everywhere, &err) == PP_OK,
                      "%s", err.text);
        ck_assert_uint_eq(count, RANKS);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            ck_assert_uint_eq(window[rank].rank, rank);
            ck_assert_int_eq(window[rank].begin_ns, (pp_ns)parts[i][0] * STEP_US * 1000);
            ck_assert_int_eq(window[rank].end_ns, ((pp_ns)parts[i][1] * STEP_US + 30) * 1000);
        }
        free(window);
    }
}
END_TEST

START_TEST(steps_beyond_the_last_one_are_refused)
{
    pp_op_slices slices = { .some = true, .first_step = 99999, .last_step = 100000 };
    pp_err err = { 0 };
    for (pp_ns i = 0; i < 100000; i++) {
        const pp_op_slice slice = { .begin_ns = i, .end_ns = i + 1 };
        ck_assert_int_eq(pp_op_slices_add(&slices, &slice, &err), PP_OK);
    }
    ck_assert_int_eq(pp_op_slices_keep(&slices, 99999, 100000, &err), PP_USAGE);
    ck_assert_str_eq(err.text, "the recording has 100000 steps, counted from 0");
    free(slices.item);
}
END_TEST

/* 100,000 steps of 3 ops; 10 steps are requested. */
START_TEST(memory_is_that_of_the_steps_wanted)
{
    static const size_t lows[] = { 0, 50000, 99990 };
    const size_t low = lows[_i];
    pp_op_slices slices = { .some = true, .first_step = low, .last_step = low + 9 };
    pp_err err = { 0 };
    for (pp_ns i = 0; i < 300000; i++) {
        const pp_op_slice slice = { .op.microbatch = (uint32_t)(i % 3),
                                    .begin_ns = i,
                                    .end_ns = i + 1 };
        ck_assert_int_eq(pp_op_slices_add(&slices, &slice, &err), PP_OK);
    }
    ck_assert_uint_lt(slices.capacity, 40000);
    ck_assert_int_eq(pp_op_slices_keep(&slices, low, low + 9, &err), PP_OK);
    ck_assert_uint_eq(slices.count, 30);
    for (size_t i = 0; i < 30; i++)
        ck_assert_int_eq(slices.item[i].begin_ns, (pp_ns)(3 * low + i));
    free(slices.item);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recorded_steps");
    TCase *tc = tcase_create("recorded_steps");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, steps_are_found_in_any_order_of_the_file, 0, 3);
    tcase_add_test(tc, steps_beyond_the_last_one_are_refused);
    tcase_add_loop_test(tc, memory_is_that_of_the_steps_wanted, 0, 3);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
