/* Memory against time: the shortest step found at parts of an instance's memory, with the bound of
 * any order at that memory. Each point begins with the orders found with less memory, so that the
 * curve cannot rise. Every order is replayed by tests/support/instance_replay.h. bench_curve
 * [--budget SECONDS per point] [--threads N] FILE [PART]... */
#include "planner/order/problem_read.h"
#include "planner/order/search.h"
#include "runtime/core/clock.h"
#include "tests/support/instance_replay.h"

#include <math.h>
#include <unistd.h>

enum { PARTS_MOST = 64 };

typedef struct bench {
    const char *file;
    double part[PARTS_MOST];
    int parts;
    double budget_s;
    uint32_t threads;
    int64_t begin_ns;
    pp_json *json;
    uint32_t *ops; /* the best order so far; NULL: none */
    int64_t makespan;
} bench;

static void die(const char *where, const char *why)
{
    fprintf(stderr, "bench_curve: %s: %s\n", where, why);
    exit(EXIT_FAILURE);
}

static double spent(void *context)
{
    const bench *b = context;
    return (double)(pp_clock_now_ns() - b->begin_ns) * 1e-9 / b->budget_s;
}

static void check(const pp_json_at *root, const pp_order_problem *instance, double part,
                  const pp_found_order *found)
{
    replay x PP_CLEANUP(replay_free) = { 0 };
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    replay_read(root, &x);
    for (uint32_t r = 0; r < x.p; r++)
        x.cap[r] = (int64_t)floor((double)x.cap[r] * part);
    pp_order_problem_print_orders(instance, found->ops, &text);
    if (replay_run(&x, text.data, false) != found->makespan)
        die("replay", "disagrees");
}

static void carry(bench *b, const pp_order_problem *instance, const pp_found_order *found)
{
    if (b->ops && found->makespan >= b->makespan)
        return;
    free(b->ops);
    b->ops = pp_alloc_array(instance->ops, sizeof *b->ops);
    if (!b->ops)
        die(b->file, "no memory");
    memcpy(b->ops, found->ops, instance->ops * sizeof *b->ops);
    b->makespan = found->makespan;
}

static void run(bench *b, double part)
{
    pp_order_problem *instance PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    const pp_json_at root = pp_json_root(b->json, b->file);
    pp_order_bounds limits;
    pp_err err = { 0 };
    if (pp_order_problem_read(&root, &instance, &err))
        die(b->file, err.text);
    for (uint32_t r = 0; r < instance->ranks; r++)
        instance->room[r] = (int64_t)floor((double)instance->room[r] * part);
    b->begin_ns = pp_clock_now_ns();
    const pp_order_search_options budget = {
        .spent = spent, .context = b, .start = b->ops, .threads = b->threads
    };
    pp_status status = pp_order_bounds_find(instance, &limits, &err);
    if (!status)
        status = pp_order_search(instance, limits.ticks, &budget, &found, &err);
    if (status == PP_INFEASIBLE) {
        printf("%6.2f  %.120s\n", part, err.text);
        return;
    }
    if (status)
        die(b->file, err.text);
    check(&root, instance, part, found);
    carry(b, instance, found);
    printf("%6.2f %14" PRId64 " %14" PRId64 " %-9s %8.3f %%%s\n", part, b->makespan, limits.ticks,
           pp_order_bound_key(limits.largest),
           100 * ((double)b->makespan / (double)limits.ticks - 1),
           b->makespan == limits.ticks ? " proved" : "");
    fflush(stdout);
}

static void read_arguments(bench *b, int argc, char **argv)
{
    static const double usual[] = { 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 2 };
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    b->threads = processors > 0 ? (uint32_t)processors : 1;
    for (int k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : "";
        if (strcmp(argv[k], "--budget") == 0)
            b->budget_s = strtod(value, NULL), k++;
        else if (strcmp(argv[k], "--threads") == 0)
            b->threads = (uint32_t)strtoul(value, NULL, 10), k++;
        else if (!b->file)
            b->file = argv[k];
        else if (b->parts < PARTS_MOST)
            b->part[b->parts++] = strtod(argv[k], NULL);
    }
    const bool given = b->parts > 0;
    if (!b->file)
        die("arguments", "name an instance");
    for (size_t k = 0; !given && k < sizeof usual / sizeof *usual; k++)
        b->part[b->parts++] = usual[k];
}

int main(int argc, char **argv)
{
    bench b = { .budget_s = 5 };
    pp_err err = { 0 };
    read_arguments(&b, argc, argv);
    if (pp_json_load(b.file, &b.json, &err))
        die(b.file, err.text);
    printf("%6s %14s %14s %-9s %10s\n", "memory", "makespan", "bound", "by", "gap");
    for (int k = 0; k < b.parts; k++)
        run(&b, b.part[k]);
    free(b.ops);
    pp_json_free(&b.json);
    return 0;
}
