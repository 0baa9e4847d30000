/* What the order search reaches on the instances of a folder: best known, ours, bound, gap. The
 * table also has what published rules make of the same instances, orders given and tent-shaped. All
 * orders are replayed by tests/support/instance_replay.h. bench_orders [--budget SECONDS]
 * [--threads N] [--seed N] [--rules] [FOLDER [PREFIX]] */
#include "planner/order/problem_read.h"
#include "planner/order/search.h"
#include "runtime/core/clock.h"
#include "sim/base/processors.h"
#include "tests/bench/rule_classes.h"
#include "tests/bench/rules.h"

#include <dirent.h>
#include <math.h>

enum { FILES_MOST = 256 };

typedef struct scratch {
    const char *folder, *prefix;
    double budget_s;
    uint32_t threads;
    uint64_t seed;
    bool rules;
    int64_t begin_ns;
    double sum_of_logs;
    int counted, better, proved;
} scratch;

static void die(const char *where, const char *why)
{
    fprintf(stderr, "bench_orders: %s: %s\n", where, why);
    exit(EXIT_FAILURE);
}

static double spent(void *context)
{
    const scratch *b = context;
    return (double)(pp_clock_now_ns() - b->begin_ns) * 1e-9 / b->budget_s;
}

/* Prints the makespan of a rule divided by the best known, and marks it when the order exceeds the
 * memory. */
static void print_rule(replay *x, const uint32_t *order, bool delayed, bool fused)
{
    bool fits = false;
    int64_t makespan = rule_makespan(x, order, delayed, fused, &fits);
    printf(" %8.4f%s", (double)makespan / (double)x->best_known, fits ? " " : "*");
}

static void print_rules(replay *x)
{
    uint32_t *order = pp_alloc_array(x->m, sizeof *order);
    for (int tent = 0; tent < 2 && x->s == x->p; tent++) {
        for (uint32_t i = 0; i < x->m; i++)
            order[i] = i;
        if (tent)
            rule_tent(x, order);
        print_rule(x, order, false, true);
        print_rule(x, order, false, false);
        print_rule(x, order, true, false);
    }
    free(order);
    if (x->s == x->p)
        printf("  %8.4f", (double)rule_classes(x) / (double)x->best_known);
}

static void run(scratch *b, const char *file)
{
    char path[512];
    replay x PP_CLEANUP(replay_free) = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_order_problem *instance PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_order_bounds limits;
    pp_err err = { 0 };
    snprintf(path, sizeof path, "%s/%s", b->folder, file);
    b->begin_ns = pp_clock_now_ns();
    if (pp_json_load(path, &json, &err))
        die(path, err.text);
    const pp_json_at root = pp_json_root(json, path);
    const pp_order_search_options budget = {
        .spent = spent, .context = b, .seed = b->seed, .threads = b->threads
    };
    if (pp_order_problem_read(&root, &instance, &err) ||
        pp_order_bounds_find(instance, &limits, &err) ||
        pp_order_search(instance, limits.ticks, &budget, &found, &err))
        die(path, err.text);
    double seconds = (double)(pp_clock_now_ns() - b->begin_ns) * 1e-9;
    pp_order_problem_print_orders(instance, found->ops, &text);
    replay_read(&root, &x);
    if (replay_run(&x, text.data, false) != found->makespan || found->makespan < limits.ticks)
        die(path, "the replay disagrees");
    double ratio = (double)found->makespan / (double)x.best_known;
    pp_order_bounds_raise(&limits, found->bound);
    int64_t bound = limits.ticks;
    printf("%-26s %11" PRId64 " %11" PRId64 " %8.5f %11" PRId64 " %-9s %7.3f %% %-6s %5.2f s",
           x.name, x.best_known, found->makespan, ratio, bound, pp_order_bound_key(limits.largest),
           100 * ((double)found->makespan / (double)bound - 1), found->proved ? "proved" : "",
           seconds);
    if (b->rules)
        print_rules(&x);
    printf("\n");
    fflush(stdout);
    b->sum_of_logs += log(ratio);
    b->counted++;
    b->better += ratio < 1;
    b->proved += found->proved;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void run_folder(scratch *b)
{
    static char files[FILES_MOST][128];
    size_t count = 0;
    DIR *folder = opendir(b->folder);
    struct dirent *entry;
    if (!folder)
        die(b->folder, "cannot be read");
    while ((entry = readdir(folder)) && count < FILES_MOST)
        if (strstr(entry->d_name, ".json") &&
            strncmp(entry->d_name, b->prefix, strlen(b->prefix)) == 0)
            snprintf(files[count++], sizeof files[0], "%.127s", entry->d_name);
    closedir(folder);
    qsort(files, count, sizeof files[0], by_name);
    printf(
        "%-26s %11s %11s %8s %11s %-9s %9s %-6s %7s%s\n", "instance", "best known", "ours", "ratio",
        "bound", "by", "gap", "", "",
        b->rules
            ? "   given order: fused 1F1B, split, ZB-H1; tent: the same; * breaks memory; classes"
            : "");
    for (size_t k = 0; k < count; k++)
        run(b, files[k]);
    if (b->counted)
        printf("%d instances, geometric mean %.5f, %d better than best known, %d proved\n",
               b->counted, exp(b->sum_of_logs / b->counted), b->better, b->proved);
}

int main(int argc, char **argv)
{
    scratch b = { .folder = "tests/data/instances", .prefix = "", .budget_s = 5 };
    int words = 0;
    b.threads = pp_processors();
    for (int k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : "";
        if (strcmp(argv[k], "--rules") == 0) {
            b.rules = true;
            continue;
        }
        if (argv[k][0] != '-') {
            *(words++ ? &b.prefix : &b.folder) = argv[k];
            continue;
        }
        if (strcmp(argv[k], "--budget") == 0)
            b.budget_s = strtod(value, NULL);
        else if (strcmp(argv[k], "--threads") == 0)
            b.threads = (uint32_t)strtoul(value, NULL, 10);
        else if (strcmp(argv[k], "--seed") == 0)
            b.seed = strtoull(value, NULL, 10);
        else
            die(argv[k], "is no option; --budget, --threads, --seed, --rules");
        k++;
    }
    run_folder(&b);
    return 0;
}
