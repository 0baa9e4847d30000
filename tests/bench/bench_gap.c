/* Finds out where the gap between makespan and bound of an instance comes from, in two tables.
 * 1. Some ranks are kept; the others run any number of ops at once, without a memory limit. If an
 *    order of that relaxed problem has makespan M, no bound that considers only the kept ranks is
 *    above M.
 * 2. Instances small enough to be solved are drawn from the instance's microbatches and two of its
 *    stages. Their optimum is compared with the bound, with the instance's share of memory and with
 *    four times as much.
 *   bench_gap [--iterations N] [--draws N, 0: no table 2] FILE [RANK that is kept]... */
#include "planner/order/problem_read.h"
#include "planner/order/prove.h"
#include "planner/order/search.h"
#include "sim/base/alloc.h"
#include "sim/base/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK_MOST 10000000000 /* 10 s */

enum { RANKS_MOST = 64, SMALL_RANKS = 2, SMALL_LEAST = 4, SMALL_MOST = 7 };

static void die(const char *where, const char *why)
{
    fprintf(stderr, "bench_gap: %s: %s\n", where, why);
    exit(EXIT_FAILURE);
}

static pp_found_order *search(const pp_order_problem *x, int64_t iterations, int64_t *bound)
{
    const pp_order_search_options budget = { .iterations = iterations, .threads = 2 };
    pp_found_order *found = NULL;
    pp_order_bounds limits;
    pp_err err = { 0 };
    if (pp_order_bounds_find(x, &limits, &err) ||
        pp_order_search(x, limits.ticks, &budget, &found, &err))
        die(x->name, err.text);
    *bound = limits.ticks;
    return found;
}

static pp_order_problem *instance_of(const pp_json_at *root)
{
    pp_order_problem *x = NULL;
    pp_err err = { 0 };
    if (pp_order_problem_read(root, &x, &err))
        die(root->file, err.text);
    return x;
}

/* Ops of ranks that are not kept become delays of the ops after them. */
static void relax(pp_order_problem *x, const bool *kept)
{
    for (uint32_t op = 0; op < x->ops; op++) {
        pp_task *t = &x->task[op];
        if (kept[t->rank])
            continue;
        if (t->kind == PP_TASK_W)
            t->lag += t->ticks;
        else if (t->after < x->ops)
            x->task[t->after].lag += t->ticks;
        if (t->kind == PP_TASK_B)
            x->task[t->weight].lag += t->ticks;
        t->ticks = 0;
        x->memory[op] = (pp_task_memory){ 0, 0 };
    }
}

static void relaxed(const pp_json_at *root, const uint32_t *rank, uint32_t count,
                    int64_t iterations)
{
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = instance_of(root);
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    bool kept[RANKS_MOST] = { false };
    int64_t bound = 0;
    printf("  ranks");
    for (uint32_t k = 0; k < count; k++) {
        kept[rank[k]] = true;
        printf(" %" PRIu32, rank[k]);
    }
    relax(x, kept);
    found = search(x, iterations, &bound);
    printf(": makespan %" PRId64 ", bound %" PRId64 ", %.2f %%\n", found->makespan, bound,
           100 * ((double)found->makespan / (double)bound - 1));
    fflush(stdout);
}

/* Makes an instance of stages 1 and 2 of `from` and the microbatches drawn. Each rank keeps its
 * share of memory, in terms of the mean microbatch and the number of ranks. */
static pp_order_problem *draw(const pp_order_problem *from, uint32_t count, double memory,
                              uint64_t *seed)
{
    static const uint32_t stage_rank[SMALL_RANKS] = { 0, 1 };
    pp_order_problem *x = NULL;
    pp_err err = { 0 };
    uint32_t order[4096];
    for (uint32_t i = 0; i < from->microbatches; i++)
        order[i] = i;
    if (pp_order_problem_new("drawn", SMALL_RANKS, SMALL_RANKS, count, stage_rank, &x, &err))
        die(from->name, err.text);
    for (uint32_t r = 0; r < SMALL_RANKS; r++)
        x->room[r] = (int64_t)(memory * SMALL_RANKS / from->ranks * (double)from->room[1]);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = i + (uint32_t)(pp_random_next(seed) % (from->microbatches - i));
        uint32_t taken = order[other];
        order[other] = order[i];
        for (uint32_t op = 0; op < 3 * SMALL_RANKS; op++) {
            const uint32_t to = i * 3 * SMALL_RANKS + op;
            const pp_task *t = &x->task[to];
            const uint32_t its = pp_order_problem_op(from, t->kind, t->stage + 1, taken);
            const uint32_t chained = op > 0 && t->kind != PP_TASK_W && op != SMALL_RANKS;
            x->task[to].ticks = from->task[its].ticks;
            x->task[to].lag = chained ? from->task[its].lag : 0;
            x->memory[to] = from->memory[its];
            if (x->memory[to].need > x->room[t->rank])
                x->room[0] = x->room[1] = x->memory[to].need;
        }
    }
    return x;
}

typedef struct tally {
    double over_bound, worst, search;
    int solved, met;
} tally;

static void solve(const pp_order_problem *x, tally *t)
{
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    int64_t bound = 0;
    pp_err err = { 0 };
    found = search(x, 200, &bound);
    pp_proved known = { .bound = bound, .makespan = found->makespan, .ops = found->ops };
    const pp_prove_budget budget = { .work = WORK_MOST };
    if (pp_prove_shortest(x, &budget, &known, &err))
        die(x->name, err.text);
    if (known.bound < known.makespan)
        return;
    const int64_t best = known.makespan;
    const double over = (double)best / (double)bound - 1;
    t->solved++;
    t->met += best == bound;
    t->over_bound += over;
    t->worst = over > t->worst ? over : t->worst;
    t->search += (double)found->makespan / (double)best - 1;
}

static void small(const pp_order_problem *from, uint32_t count, double memory, int draws)
{
    tally t = { 0 };
    for (int n = 0; n < draws; n++) {
        uint64_t seed = (uint64_t)n + 1;
        pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = draw(from, count, memory, &seed);
        solve(x, &t);
    }
    const double n = t.solved ? t.solved : 1;
    printf("  %" PRIu32 " microbatches, memory x %g: %d of %d solved, optimum above the bound by "
           "%.2f %% (mean), %.2f %% (most), equal to it %d times; search above the optimum by "
           "%.2f %%\n",
           count, memory, t.solved, draws, 100 * t.over_bound / n, 100 * t.worst, t.met,
           100 * t.search / n);
    fflush(stdout);
}

typedef struct asked {
    const char *file;
    int64_t iterations;
    int draws;
    uint32_t rank[RANKS_MOST], ranks;
} asked;

static asked read_arguments(int argc, char **argv)
{
    asked a = { .iterations = 100000, .draws = 20 };
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--iterations") == 0 && k + 1 < argc)
            a.iterations = strtoll(argv[++k], NULL, 10);
        else if (strcmp(argv[k], "--draws") == 0 && k + 1 < argc)
            a.draws = (int)strtol(argv[++k], NULL, 10);
        else if (!a.file)
            a.file = argv[k];
        else if (a.ranks < RANKS_MOST)
            a.rank[a.ranks++] = (uint32_t)strtoul(argv[k], NULL, 10);
    }
    if (!a.file)
        die("arguments", "name an instance");
    return a;
}

int main(int argc, char **argv)
{
    const asked a = read_arguments(argc, argv);
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_err err = { 0 };
    if (pp_json_load(a.file, &json, &err))
        die(a.file, err.text);
    const pp_json_at root = pp_json_root(json, a.file);
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = instance_of(&root);
    for (uint32_t k = 0; k < a.ranks; k++) {
        if (a.rank[k] >= x->ranks || x->ranks > RANKS_MOST)
            die(a.file, "has no such rank");
    }
    printf("%s\n", x->name);
    if (a.ranks)
        relaxed(&root, a.rank, a.ranks, a.iterations);
    for (uint32_t count = SMALL_LEAST; a.draws > 0 && count <= SMALL_MOST; count++) {
        small(x, count, 1, a.draws);
        small(x, count, 4, a.draws);
    }
    return 0;
}
