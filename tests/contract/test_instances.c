/* Every instance of tests/data/instances, searched with few iterations: what comes out is replayed
 * by code of its own, is not below a bound, and is close to the best known. */
#include "planner/order_search.h"
#include "tests/contract/instance_replay.h"
#include "tests/contract/step.h"

#include <check.h>
#include <dirent.h>

#define FOLDER PPSIM_SOURCE_DIR "/tests/data/instances/"

enum { FILES_MOST = 64 };

static char files[FILES_MOST][64];
static int file_count;

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void find_files(void)
{
    DIR *folder = opendir(FOLDER);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) && file_count < FILES_MOST)
        if (strstr(entry->d_name, ".json"))
            snprintf(files[file_count++], sizeof files[0], "%.63s", entry->d_name);
    if (folder)
        closedir(folder);
    qsort(files, (size_t)file_count, sizeof files[0], by_name);
}

/* Percent above the best known that this many iterations must reach. */
static const double reach_percent = 6;

START_TEST(few_iterations_come_close_and_are_valid)
{
    if (_i % (int)step_stride(3) > 0)
        return;
    char path[512];
    replay x PP_CLEANUP(replay_free) = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_instance *instance PP_CLEANUP(pp_instance_free) = NULL;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_limits limits;
    pp_err err = { 0 };
    snprintf(path, sizeof path, FOLDER "%s", files[_i]);
    ck_assert_msg(pp_json_load(path, &json, &err) == PP_OK, "%s", err.text);
    const pp_json_at root = pp_json_root(json, path);
    ck_assert_msg(pp_instance_read(&root, &instance, &err) == PP_OK, "%s: %s", err.where, err.text);
    ck_assert_int_eq(pp_instance_bound(instance, &limits, &err), PP_OK);
    const pp_search_budget budget = { .iterations = instance->ops < 20000 ? 6000 : 300,
                                      .threads = 2 };
    ck_assert_msg(pp_search_order(instance, limits.ticks, &budget, &found, &err) == PP_OK, "%s",
                  err.text);
    pp_instance_print_orders(instance, found->ops, &text);
    replay_read(&root, &x);
    ck_assert_int_eq(replay_run(&x, text.data, false), found->makespan);
    for (int k = 0; k < PP_LIMIT_COUNT; k++) {
        ck_assert_msg(limits.part[k] <= found->makespan, "%s is above an order",
                      pp_limit_key((pp_limit_part)k));
        ck_assert_int_le(limits.part[k], x.best_known);
    }
    ck_assert_int_eq(found->proved, found->exhausted || found->makespan == limits.ticks);
    double above = 100 * ((double)found->makespan / (double)x.best_known - 1);
    ck_assert_msg(above <= reach_percent, "%s: %.2f %% above the best known", x.name, above);
    if (strstr(x.name, "zb") || instance->ops <= 48) /* s01 to s05: all orders */
        ck_assert_msg(found->proved, "%s is not proved optimal", x.name);
}
END_TEST

START_TEST(all_instances_are_there)
{
    ck_assert_int_eq(file_count, 24);
}
END_TEST

int main(void)
{
    find_files();
    Suite *suite = suite_create("instances");
    TCase *tc = tcase_create("search");
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, all_instances_are_there);
    tcase_add_loop_test(tc, few_iterations_come_close_and_are_valid, 0, file_count);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
