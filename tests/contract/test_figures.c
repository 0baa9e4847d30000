/* How close predictions, orders and fits come to published results, compared with the figures in
 * tests/baseline/accuracy by `ppsim compare`. PPSIM_REFRESH=1 stores the current figures. */
#include "planner/order/problem_read.h"
#include "planner/order/search.h"
#include "tests/support/instance_replay.h"
#include "tests/support/links.h"
#include "tests/support/published.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/commands.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#define BASELINE PPSIM_SOURCE_DIR "/tests/baseline/accuracy"
#define INSTANCES PPSIM_SOURCE_DIR "/tests/data/instances/"

typedef struct figures {
    pp_json_build build;
    pp_json *errors;
    pp_ns step_ns; /* sum of all published steps, as predicted, since a report has one step */
} figures;

/* error: relative; NaN: there is none. */
static void add(figures *f, const char *what, const char *of, double error)
{
    char name[128];
    snprintf(name, sizeof name, "%s %s", what, of);
    if (!isnan(error))
        pp_json_put_double(&f->build, f->errors, name, error);
}

static void add_steps(figures *f)
{
    run *runs = calloc(RUNS_MAX, sizeof *runs);
    ck_assert_ptr_nonnull(runs);
    const size_t count = run_read_all(runs);
    const pp_hardware hardware = run_hardware("a100-80g");
    for (size_t i = 0; i < count; i++) {
        const double seconds = run_predict(&runs[i], &hardware);
        f->step_ns += (pp_ns)(1e9 * seconds);
        add(f, "step", runs[i].id, fabs(seconds / runs[i].seconds - 1));
    }
    free(runs);
}

/* How far the makespan is above the best known one, after few iterations. */
static void add_order(figures *f, const char *file)
{
    char path[512];
    replay x PP_CLEANUP(replay_free) = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_order_problem *instance PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_order_bounds limits;
    pp_err err = { 0 };
    snprintf(path, sizeof path, INSTANCES "%s", file);
    STEP_OK(pp_json_load(path, &json, &err), err);
    const pp_json_at root = pp_json_root(json, path);
    STEP_OK(pp_order_problem_read(&root, &instance, &err), err);
    STEP_OK(pp_order_bounds_find(instance, &limits, &err), err);
    const pp_order_search_options budget = { .iterations = 300, .threads = 2 };
    STEP_OK(pp_order_search(instance, limits.ticks, &budget, &found, &err), err);
    replay_read(&root, &x);
    pp_order_problem_print_orders(instance, found->ops, &text);
    ck_assert_int_eq(replay_run(&x, text.data, false), found->makespan);
    add(f, "order", x.name, (double)found->makespan / (double)x.best_known - 1);
}

static void add_orders(figures *f)
{
    DIR *folder = opendir(INSTANCES);
    ck_assert_ptr_nonnull(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (strstr(entry->d_name, ".json"))
            add_order(f, entry->d_name);
    }
    closedir(folder);
}

static void add_links(figures *f)
{
    for (size_t i = 0; i < LINK_SETS; i++) {
        const link_row row = link_row_of(&link_sets[i]);
        char of[100];
        snprintf(of, sizeof of, "%s of %s", link_sets[i].file, link_sets[i].name);
        add(f, "fit", of, row.chosen.fit);
        add(f, "held out", of, row.chosen.held_out);
        add(f, "carried", of, row.chosen.carried);
    }
}

/* `ppsim compare` with these words. */
static pp_status compare(const char *const words[])
{
    pp_args *args = NULL;
    pp_err err = { 0 };
    int count = 0;
    while (words[count])
        count++;
    STEP_OK(pp_args_parse(&pp_command_compare, count, (char **)words, &args, &err), err);
    pp_status status = pp_command_compare.run(args, &err);
    if (err.text[0])
        printf("%s\n", err.text);
    fflush(stdout);
    pp_args_free(&args);
    return status;
}

static void write_figures(const char *path)
{
    figures f = { 0 };
    char *text = NULL;
    size_t bytes = 0;
    pp_err err = { 0 };
    pp_json *root PP_CLEANUP(pp_json_free) = pp_json_new_object(&f.build);
    f.errors = pp_json_new_object(&f.build);
    add_steps(&f);
    add_orders(&f);
    add_links(&f);
    pp_json_put_text(&f.build, root, "format", "ppsim.report");
    pp_json_put_int(&f.build, root, "version", 1);
    pp_json_put(&f.build, root, "errors", f.errors);
    pp_json_put_int(&f.build, root, "step_ns", f.step_ns);
    STEP_OK(pp_json_print(&f.build, root, &text, &bytes, &err), err);
    STEP_OK(pp_file_write(path, text, bytes, &err), err);
    free(text);
}

START_TEST(no_figure_is_worse_than_it_was)
{
    char folder[] = "/tmp/ppsim-figures-XXXXXX";
    char path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/accuracy.json", folder);
    write_figures(path);
    const char *const judge[] = { "ppsim",       "compare",      "--baseline",  BASELINE,    path,
                                  "--tolerance", "error=0.0005", "--tolerance", "step=0.1%", NULL };
    const char *const keep[] = { "ppsim", "compare",   "--baseline", BASELINE,
                                 path,    "--refresh", "--accept",   NULL };
    pp_status status = compare(getenv("PPSIM_REFRESH") ? keep : judge);
    unlink(path);
    rmdir(folder);
    ck_assert_msg(status == PP_OK, "refresh with PPSIM_REFRESH=1, and say why in the commit");
}
END_TEST

int main(void)
{
    if (getenv("PPSIM_SANITIZE")) {
        puts("skipped: it compares numbers, which are the same under sanitizers");
        return 77;
    }
    Suite *suite = suite_create("figures");
    TCase *tc = tcase_create("accuracy");
    tcase_set_timeout(tc, 0); /* the limit is that of the test as a whole */
    tcase_add_test(tc, no_figure_is_worse_than_it_was);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
