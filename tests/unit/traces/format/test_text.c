/* Rows and grids for terminals, compared letter for letter. */
#include "tests/support/step.h"

static const pp_format *text_format(void)
{
    const pp_format *format = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_format_get("text", &format, &err), err);
    return format;
}

static void expect_grid(const step *s, int columns, const char *expected)
{
    pp_text text = { 0 };
    pp_err err = { 0 };
    const pp_export data = { .program = s->program, .timeline = s->timeline, .columns = columns };
    STEP_OK(text_format()->trace(&data, &text, &err), err);
    ck_assert_str_eq(text.data, expected);
    pp_text_free(&text);
}

START_TEST(orders_become_token_rows)
{
    const char *rows = "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1I0,1F1,1B1,1W0\n";
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_companion companion = { 0 };
    pp_text text = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_format_read(rows, strlen(rows), "f.csv", &order, &err), err);
    const pp_export data = { .order = order };
    STEP_OK(text_format()->emit(&data, &text, &companion, &err), err);
    ck_assert_str_eq(text.data, "r0: 0F0 (0F1;0B0)OVERLAP_F_B 0B1\nr1: 1F0 1I0 1F1 1B1 1W0\n");
    pp_text_free(&text);
}
END_TEST

START_TEST(multiples_of_a_tick_are_drawn_exactly)
{
    step s PP_CLEANUP(step_free) = step_of(step_order("1f1b", 3, 1, 3, 0), "F=1ms,B=2ms,comm=0");
    expect_grid(&s, 80,
                "   0                                   15.00 ms\nr0 F0 F1 F2 .  .  .  .  B0--- .  "
                "B1--- .  B2---\nr1 .  F0 F1 .  .  B0--- F2 B1--- .  B2--- .  .\nr2 .  .  F0 B0--- "
                "F1 B1--- F2 B2--- .  .  .  .\nF forward; B backward, input + weight; . "
                "idle\nmicrobatch after the letter; one cell is 1.000 ms\n");
}
END_TEST

START_TEST(cells_without_room_for_spaces_stay_equal)
{
    step s PP_CLEANUP(step_free) = step_of(step_order("1f1b", 3, 1, 3, 0), "F=1ms,B=2ms,comm=0");
    expect_grid(
        &s, 40,
        "   0                     15.00 ms\nr0 F0F1F2........B0--..B1--..B2--\nr1 "
        "..F0F1....B0--F2B1--..B2--....\nr2 ....F0B0--F1B1--F2B2--........\nF forward; B backward, "
        "input + weight; . idle\nmicrobatch after the letter; one cell is 1.000 ms\n");
}
END_TEST

START_TEST(other_durations_are_drawn_to_scale)
{
    step s PP_CLEANUP(step_free) =
        step_of(step_order("1f1b", 2, 1, 2, 0), "F=1ms,B=1.999ms,comm=0.3ms");
    expect_grid(&s, 43,
                "   0                               9.597 ms\nr0 "
                "F0--F1--...........B0-------....B1------\nr1 "
                ".....F0---B0------F1--B1------..........\nF forward; B backward, input + weight; "
                ". idle\nmicrobatch after the letter; one column is about 239.9 us\n");
}
END_TEST

/* 40 F and B that take turns are no block of either, but all F before all B are two. */
START_TEST(cells_of_several_kinds_are_no_blocks)
{
    step turns PP_CLEANUP(step_free) =
        step_of(step_order("1f1b", 1, 1, 40, 0), "F=1ms,B=1.0001ms,comm=0");
    step blocks PP_CLEANUP(step_free) =
        step_of(step_order("gpipe", 1, 1, 40, 0), "F=1ms,B=1.0001ms,comm=0");
    expect_grid(&turns, 23,
                "   0           80.00 ms\nr0 ********************\nF forward; B backward, input + "
                "weight; * several, too short to tell apart; . idle\nmicrobatch after the letter; "
                "one column is about 4.000 ms\n");
    expect_grid(&blocks, 23,
                "   0           80.00 ms\nr0 FFFFFFFFFFBBBBBBBBBB\nF forward; B backward, input + "
                "weight; - goes on; . idle\nwith room, microbatch after the letter; one column is "
                "about 4.000 ms\n");
}
END_TEST

START_TEST(split_backwards_and_stages_are_distinguished)
{
    const char *rows = "0F0,3F0,3I0,3W0,0I0,0W0\n1F0,2F0,2I0,2W0,1B0\n";
    pp_order *order = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_format_read(rows, strlen(rows), "f.csv", &order, &err), err);
    step s PP_CLEANUP(step_free) = step_of(order, "F=1ms,I=1ms,W=1ms,comm=0");
    expect_grid(&s, 80,
                "   0                                  11.00 ms\nr0 0F0 .   .   3F0 3I0 3W0 .   .  "
                " .   0I0 0W0\nr1 .   1F0 2F0 .   .   2I0 2W0 1B0---- .   .\nF forward; I backward "
                "for input; W backward for weight; B backward, input + weight; . idle\nstage "
                "before, microbatch after the letter; one cell is 1.000 ms\n");
}
END_TEST

START_TEST(ranks_beyond_64_are_counted_not_drawn)
{
    step s PP_CLEANUP(step_free) = step_of(step_order("gpipe", 66, 1, 1, 0), "F=1s,B=1s,comm=0");
    pp_text text = { 0 };
    pp_err err = { 0 };
    const pp_export data = { .program = s.program, .timeline = s.timeline };
    STEP_OK(text_format()->trace(&data, &text, &err), err);
    ck_assert_ptr_nonnull(strstr(text.data, "\nr63 "));
    ck_assert_ptr_null(strstr(text.data, "\nr64 "));
    ck_assert_ptr_nonnull(strstr(text.data, "ranks 0 to 63 shown, 2 left out\n"));
    pp_text_free(&text);
}
END_TEST

START_TEST(a_step_without_time_says_so)
{
    step s PP_CLEANUP(step_free) = step_of(step_order("1f1b", 2, 1, 2, 0), "F=0,B=0,comm=0");
    expect_grid(&s, 80, "nothing to show: every op takes no time\n");
}
END_TEST

/* No line of the grid is wider than asked, at any width and for awkward durations. */
START_TEST(the_grid_keeps_to_its_columns)
{
    step s PP_CLEANUP(step_free) =
        step_of(step_order("interleaved", 4, 2, 8, 0), "F=1.0001ms,B=2.3ms,comm=0.7us");
    for (int columns = 20; columns < 400; columns += 7) {
        pp_text text = { 0 };
        pp_err err = { 0 };
        const pp_export data = { .program = s.program, .timeline = s.timeline, .columns = columns };
        STEP_OK(text_format()->trace(&data, &text, &err), err);
        char *rest = text.data;
        for (char *line; (line = step_cut(&rest, '\n'));)
            ck_assert(line[0] != 'r' || strlen(line) <= (size_t)columns);
        pp_text_free(&text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("format_text");
    TCase *tc = tcase_create("grid");
    tcase_add_test(tc, orders_become_token_rows);
    tcase_add_test(tc, multiples_of_a_tick_are_drawn_exactly);
    tcase_add_test(tc, cells_without_room_for_spaces_stay_equal);
    tcase_add_test(tc, other_durations_are_drawn_to_scale);
    tcase_add_test(tc, cells_of_several_kinds_are_no_blocks);
    tcase_add_test(tc, split_backwards_and_stages_are_distinguished);
    tcase_add_test(tc, ranks_beyond_64_are_counted_not_drawn);
    tcase_add_test(tc, a_step_without_time_says_so);
    tcase_add_test(tc, the_grid_keeps_to_its_columns);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
