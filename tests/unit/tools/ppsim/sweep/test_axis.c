/* Lists and ranges of values, and the points they make. */
#include "sim/base/alloc.h"
#include "tests/support/step.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/sweep/grid.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const pp_option list = { PP_ROW("--pp", "P", PARALLELISM, "", NULL) };
static const pp_option text = { PP_ROW("--costs", "F=T,I=T", COSTS, "", NULL) };

static void free_axis(pp_axis *axis)
{
    for (size_t i = 0; i < axis->count; i++)
        free(axis->value[i]);
    free(axis->value);
}

typedef struct axis_case {
    const pp_option *option;
    const char *given, *values; /* sorted, with blanks; NULL: refused */
} axis_case;

static const axis_case axis_cases[] = {
    { &list, "16,4,8", "4 8 16" },
    { &list, "zbv,1f1b", "1f1b zbv" },
    { &list, "auto,12,3", "3 12 auto" },
    { &list, "4..64*2", "4 8 16 32 64" },
    { &list, "4..63*2", "4 8 16 32" },
    { &list, "0..3", "0 1 2 3" },
    { &list, "1..8+3,9", "1 4 7 9" },
    { &list, "5..5", "5" },
    { &list, "80GB,40GB", "40GB 80GB" },
    { &list, "dir/../a.json", "dir/../a.json" },
    { &list, "1..b", "1..b" }, /* not a range: the option reports what is wrong with it */
    { &list, "8..4", NULL },
    { &list, "4..8*1", NULL },
    { &list, "0..8*2", NULL },
    { &list, "4..8+0", NULL },
    { &list, "0..2000000", NULL },
    { &list, "4,,8", NULL },
    { &list, "4,", NULL },
    { &list, "", NULL },
    { &list, "4,8,4", NULL },
    { &list, "4,2..8*2", NULL },
    { &text, "F=1ms,I=2ms", "F=1ms,I=2ms" },
};

START_TEST(values_are_sorted_and_ranges_expanded)
{
    const axis_case *c = &axis_cases[_i];
    pp_axis axis PP_CLEANUP(free_axis) = { .option = c->option };
    pp_text joined PP_CLEANUP(pp_text_free) = { 0 };
    pp_err err = { 0 };
    pp_status status = pp_axis_add(&axis, c->given, &err);
    if (!status)
        status = pp_axis_sort(&axis, &err);
    ck_assert_msg(status == (c->values ? PP_OK : PP_USAGE), "%s: %s", c->given, err.text);
    if (!c->values) {
        ck_assert_str_eq(err.where, c->option->name);
        return;
    }
    for (size_t i = 0; i < axis.count; i++)
        pp_text_add(&joined, "%s%s", i ? " " : "", axis.value[i]);
    ck_assert_str_eq(joined.data, c->values);
}
END_TEST

static void read_grid(const char *const words[], pp_grid *grid)
{
    pp_args *args PP_CLEANUP(pp_args_free) = NULL;
    pp_err err = { 0 };
    int count = 0;
    while (words[count])
        count++;
    ck_assert_msg(!pp_args_parse(&pp_command_sweep, count, (char **)words, &args, &err), "%s",
                  err.text);
    ck_assert_msg(!pp_grid_read(args, pp_command_sweep.options, grid, &err), "%s: %s", err.where,
                  err.text);
}

/* Options in any order, under any of their names, give the same points with the same keys. */
START_TEST(order_of_options_does_not_matter)
{
    const char *const one[] = { "ppsim", "sweep", "--tp",   "8,4",         "--model",
                                "a,b",   "--pp",  "2..8*2", "--bare-ends", NULL };
    const char *const two[] = {
        "ppsim",   "sweep", "--bare-ends", "--pipeline-model-parallel-size=8,4",
        "--model", "b",     "--tp=4",      "--model",
        "a",       "--pp",  "2",           "--tp",
        "8",       NULL
    };
    pp_grid a PP_CLEANUP(pp_grid_free) = { 0 };
    pp_grid b PP_CLEANUP(pp_grid_free) = { 0 };
    read_grid(one, &a);
    read_grid(two, &b);
    ck_assert_uint_eq(a.points, 12);
    ck_assert_uint_eq(b.points, 12);
    for (uint32_t i = 0; i < 12; i++) {
        pp_text key[2] = { { 0 }, { 0 } };
        pp_grid_key(&a, i, &key[0]);
        pp_grid_key(&b, i, &key[1]);
        ck_assert_str_eq(key[0].data, key[1].data);
        if (i == 5)
            ck_assert_str_eq(key[0].data, "bare-ends=on model=a pp=8 tp=8");
        pp_text_free(&key[0]);
        pp_text_free(&key[1]);
    }
}
END_TEST

/* A point that is written is found again as the same. */
START_TEST(points_are_found_by_what_is_written_of_them)
{
    const char *const words[] = { "ppsim",      "sweep",       "--study", "simulate",
                                  "--schedule", "1f1b,zbv",    "--pp",    "2..4",
                                  "--costs",    "F=1ms,B=2ms", "--costs", "F=1ms,I=1ms,W=1ms",
                                  NULL };
    pp_grid grid PP_CLEANUP(pp_grid_free) = { 0 };
    read_grid(words, &grid);
    ck_assert_uint_eq(grid.points, 12);
    for (uint32_t i = 0; i < grid.points; i++) {
        pp_json_build build = { 0 };
        pp_json *object PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
        uint32_t found = UINT32_MAX;
        pp_err err = { 0 };
        pp_grid_write_point(&grid, i, &build, object);
        pp_json_at root = pp_json_root(object, "x");
        ck_assert_msg(!pp_grid_find(&grid, &root, &found, &err), "%s", err.text);
        ck_assert_uint_eq(found, i);
        pp_json_put_text(&build, object, "key", "pp=3");
        ck_assert_int_eq(pp_grid_find(&grid, &root, &found, &err), PP_INPUT);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep_axis");
    TCase *tc = tcase_create("sweep_axis");
    tcase_add_loop_test(tc, values_are_sorted_and_ranges_expanded, 0,
                        (int)(sizeof axis_cases / sizeof axis_cases[0]));
    tcase_add_test(tc, order_of_options_does_not_matter);
    tcase_add_test(tc, points_are_found_by_what_is_written_of_them);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
