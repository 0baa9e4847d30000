/* Every instance of tests/data/instances is searched with few iterations. The result is replayed by
 * independent code, is not below a bound, and is close to the best known. */
#include "planner/order/problem_read.h"
#include "planner/order/search.h"
#include "tests/support/instance_replay.h"
#include "tests/support/step.h"

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
    if (sample_skips((uint64_t)_i, 2, 3))
        return;
    char path[512];
    replay x PP_CLEANUP(replay_free) = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_order_problem *instance PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_order_bounds limits;
    pp_err err = { 0 };
    snprintf(path, sizeof path, FOLDER "%s", files[_i]);
    ck_assert_msg(pp_json_load(path, &json, &err) == PP_OK, "%s", err.text);
    const pp_json_at root = pp_json_root(json, path);
    ck_assert_msg(pp_order_problem_read(&root, &instance, &err) == PP_OK, "%s: %s", err.where,
                  err.text);
    ck_assert_int_eq(pp_order_bounds_find(instance, &limits, &err), PP_OK);
    const pp_order_search_options budget = { .iterations = instance->ops < 20000 ? 6000 : 300,
                                             .threads = 2 };
    ck_assert_msg(pp_order_search(instance, limits.ticks, &budget, &found, &err) == PP_OK, "%s",
                  err.text);
    pp_order_problem_print_orders(instance, found->ops, &text);
    replay_read(&root, &x);
    ck_assert_int_eq(replay_run(&x, text.data, false), found->makespan);
    for (int k = 0; k < PP_ORDER_BOUND_COUNT; k++) {
        ck_assert_msg(limits.part[k] <= found->makespan, "%s is above an order",
                      pp_order_bound_key((pp_order_bound_part)k));
        ck_assert_int_le(limits.part[k], x.best_known);
    }
    ck_assert_int_eq(found->proved, found->makespan == found->bound);
    ck_assert_int_ge(found->bound, limits.ticks);
    double above = 100 * ((double)found->makespan / (double)x.best_known - 1);
    ck_assert_msg(above <= reach_percent, "%s: %.2f %% above the best known", x.name, above);
    if (strstr(x.name, "zb") || instance->ops <= 48) /* s01 to s05: all orders */
        ck_assert_msg(found->proved, "%s is not proved optimal", x.name);
}
END_TEST

/* An extreme case that a generator may draw. */
typedef struct edge {
    const char *name;
    uint32_t p, v, m;
    bool zigzag;
    int64_t fixed, per_token; /* ticks of F; B takes twice as long, W as long */
    int64_t tokens;           /* of the first microbatch; each further one has a third more */
    int64_t lag, cap;
    int64_t makespan; /* known; -1: not */
    bool proved;
} edge;

/* A is 10 a token, G 9, transients 1, 2 and 0; one chain on each stage takes 4 F. */
static const edge edges[] = {
    { "one microbatch", 4, 1, 1, false, 5, 0, 1, 7, 12, 4 * 15 + 6 * 7 + 5, true },
    { "one rank", 1, 1, 6, false, 3, 0, 1, 0, 12, 6 * 12, true },
    { "one rank, three stages", 1, 3, 4, false, 3, 0, 1, 9, 32, 4 * 3 * 12, true },
    { "one of all", 1, 1, 1, false, 0, 2, 5, 0, 60, 40, true },
    { "more ranks than microbatches", 64, 1, 3, false, 5, 1, 4, 3, 100, -1, false },
    { "64 ranks, one microbatch", 64, 1, 1, false, 5, 0, 1, 2, 12, 64 * 15 + 126 * 2 + 5, true },
    { "nothing takes time", 6, 1, 20, false, 0, 0, 8, 0, 30000, 0, true },
    { "no tokens", 3, 1, 5, false, 4, 0, 0, 1, 0, -1, false },
    { "no room to spare", 3, 2, 4, true, 2, 1, 3, 1, 2 * 70 + 14, -1, false },
    { "no limit", 6, 1, 12, false, 2, 1, 9, 1, INT64_MAX, -1, false },
    { "two stages, deep", 16, 2, 24, true, 2, 1, 20, 1, INT64_MAX, -1, false },
};

static void print_edge(const edge *e, int64_t cap, pp_text *text)
{
    const uint32_t stages = e->p * e->v;
    pp_text_add(text, "{\"name\":\"%s\",\"p\":%u,\"v\":%u,\"m\":%u,\"rank_of\":[", e->name, e->p,
                e->v, e->m);
    for (uint32_t s = 0; s < stages; s++)
        pp_text_add(text, "%s%u", s ? "," : "",
                    e->zigzag && s / e->p % 2 ? e->p - 1 - s % e->p : s % e->p);
    pp_text_add(text, "],\"stages\":[");
    for (uint32_t s = 0; s < stages; s++) {
        pp_text_add(text, "%s{", s ? "," : "");
        for (int k = 0; k < 3; k++)
            pp_text_add(text, "\"%c\":[%" PRId64 ",%" PRId64 ",0],", "fbw"[k],
                        (1 + (k == 1)) * e -> fixed, (1 + (k == 1)) * e -> per_token * 1048576);
        pp_text_add(text, "\"act\":[0,10],\"whold\":[0,9],\"transient\":[1,2,0]}");
    }
    for (int squares = 0; squares < 2; squares++) {
        int64_t tokens = e->tokens;
        pp_text_add(text, squares ? "],\"sumsq\":[" : "],\"microbatches\":{\"tokens\":[");
        for (uint32_t i = 0; i < e->m; i++, tokens += tokens / 3)
            pp_text_add(text, "%s%" PRId64, i ? "," : "", squares ? 0 : tokens);
    }
    pp_text_add(text, "]},\"link\":{\"lat\":%" PRId64 ",\"per_token_q20\":0},\"cap\":[", e->lag);
    for (uint32_t r = 0; r < e->p; r++)
        pp_text_add(text, "%s%" PRId64, r ? "," : "", cap);
    pp_text_add(text, "]}");
}

START_TEST(edges_are_solved_and_valid)
{
    const edge *e = &edges[_i];
    replay x PP_CLEANUP(replay_free) = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_order_problem *instance PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_text file PP_CLEANUP(pp_text_free) = { 0 };
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_order_bounds limits;
    pp_err err = { 0 };
    print_edge(e, e->cap, &file);
    STEP_OK(pp_json_parse(file.data, file.bytes, e->name, &json, &err), err);
    const pp_json_at root = pp_json_root(json, e->name);
    STEP_OK(pp_order_problem_read(&root, &instance, &err), err);
    STEP_OK(pp_order_bounds_find(instance, &limits, &err), err);
    const pp_order_search_options budget = { .iterations = 400, .threads = 2 };
    STEP_OK(pp_order_search(instance, limits.ticks, &budget, &found, &err), err);
    pp_order_problem_print_orders(instance, found->ops, &text);
    replay_read(&root, &x);
    ck_assert_int_eq(replay_run(&x, text.data, false), found->makespan);
    ck_assert_int_le(limits.ticks, found->makespan);
    if (e->makespan >= 0)
        ck_assert_int_eq(found->makespan, e->makespan);
    ck_assert(found->proved || !e->proved);
}
END_TEST

/* One unit less than the largest microbatch needs alone is too little; no limit means none. */
START_TEST(room_is_what_decides)
{
    static const edge e = { "room", 3, 2, 4, true, 2, 1, 3, 1, 0, -1, false };
    int64_t tokens = e.tokens;
    for (uint32_t i = 1; i < e.m; i++)
        tokens += tokens / 3;
    for (int k = 0; k < 2; k++) {
        pp_json *json PP_CLEANUP(pp_json_free) = NULL;
        pp_order_problem *instance PP_CLEANUP(pp_order_problem_free) = NULL;
        pp_text file PP_CLEANUP(pp_text_free) = { 0 };
        pp_err err = { 0 };
        print_edge(&e, (2 * 10 + 2) * tokens - k, &file);
        STEP_OK(pp_json_parse(file.data, file.bytes, e.name, &json, &err), err);
        const pp_json_at root = pp_json_root(json, e.name);
        STEP_OK(pp_order_problem_read(&root, &instance, &err), err);
        ck_assert_int_eq(pp_order_problem_check_room(instance, &err), k ? PP_INFEASIBLE : PP_OK);
    }
}
END_TEST

/* One rank, two stages, one microbatch, every op 1 tick: A 10, G 5, and W of stage 1 needs 10 more.
 * Right after its B it would need 25 of 22, after B and W of stage 0 it needs 15. Both F need 20.
 */
START_TEST(a_weight_may_wait_until_it_fits)
{
    static const char text[] =
        "{\"name\":\"late\",\"p\":1,\"v\":2,\"m\":1,\"rank_of\":[0,0],\"stages\":["
        "{\"f\":[1,0,0],\"b\":[1,0,0],\"w\":[1,0,0],\"act\":[10,0],\"whold\":[5,0],"
        "\"transient\":[0,0,0]},"
        "{\"f\":[1,0,0],\"b\":[1,0,0],\"w\":[1,0,0],\"act\":[10,0],\"whold\":[5,0],"
        "\"transient\":[0,0,%d]}],\"microbatches\":{\"tokens\":[1],\"sumsq\":[1]},"
        "\"link\":{\"lat\":0,\"per_token_q20\":0},\"cap\":[%d]}";
    static const struct {
        int extra, room;
        pp_status status;
    } cases[] = { { 10, 22, PP_OK }, { 17, 22, PP_OK }, { 18, 22, PP_INFEASIBLE },
                  { 7, 22, PP_OK },  { 0, 20, PP_OK },  { 0, 19, PP_INFEASIBLE } };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        pp_json *json PP_CLEANUP(pp_json_free) = NULL;
        pp_order_problem *instance PP_CLEANUP(pp_order_problem_free) = NULL;
        pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
        pp_text file PP_CLEANUP(pp_text_free) = { 0 };
        pp_text orders PP_CLEANUP(pp_text_free) = { 0 };
        replay x PP_CLEANUP(replay_free) = { 0 };
        pp_order_bounds limits;
        pp_err err = { 0 };
        pp_text_add(&file, text, cases[k].extra, cases[k].room);
        STEP_OK(pp_json_parse(file.data, file.bytes, "late", &json, &err), err);
        const pp_json_at root = pp_json_root(json, "late");
        STEP_OK(pp_order_problem_read(&root, &instance, &err), err);
        STEP_OK(pp_order_bounds_find(instance, &limits, &err), err);
        const pp_order_search_options budget = { .iterations = 50 };
        ck_assert_msg(pp_order_search(instance, limits.ticks, &budget, &found, &err) ==
                          cases[k].status,
                      "case %zu: %s", k, err.text);
        if (cases[k].status)
            continue;
        pp_order_problem_print_orders(instance, found->ops, &orders);
        replay_read(&root, &x);
        ck_assert_int_eq(replay_run(&x, orders.data, false), 6);
        ck_assert_int_eq(found->makespan, 6);
    }
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
    tcase_add_loop_test(tc, edges_are_solved_and_valid, 0, (int)(sizeof edges / sizeof *edges));
    tcase_add_test(tc, room_is_what_decides);
    tcase_add_test(tc, a_weight_may_wait_until_it_fits);
    tcase_add_loop_test(tc, few_iterations_come_close_and_are_valid, 0, file_count);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
