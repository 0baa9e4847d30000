/* Memory against time for three placements of one model: a stage per rank, two on a loop, two on a
 * V. The model is that of an instance with one stage per rank, with other layers: its middle stage
 * gives the layer, what its end stages take beyond that stays at the ends. The cap is a share of
 * what 1F1B, given order, holds on rank 0. bench_placement [--iterations N] [--layers N]
 * [--microbatches N] FILE [SHARE]... */
#include "planner/order/search.h"
#include "tests/support/instance_replay.h"

enum { SHARES_MOST = 16, STAGES_MOST = 256 };

typedef struct bench {
    const char *file;
    int64_t iterations, layers, own_layers; /* own_layers: those of the file's middle stage */
    uint32_t microbatches;
    double share[SHARES_MOST];
    int shares;
    replay from;
} bench;

static void die(const char *where, const char *why)
{
    fprintf(stderr, "bench_placement: %s: %s\n", where, why);
    exit(EXIT_FAILURE);
}

/* Scales a quantity to `layers` layers; the first and the last stage keep what they have in
 * addition. */
static int64_t scaled(const bench *b, const int64_t *cells, uint32_t stage, uint32_t stages,
                      int64_t layers, uint32_t i)
{
    const uint32_t m = b->from.m;
    const int64_t middle = cells[m + i];
    const uint32_t last = b->from.s - 1;
    int64_t sum = middle * layers / b->own_layers;
    if (stage == 0 && cells[i] > middle)
        sum += cells[i] - middle;
    if (stage + 1 == stages && cells[last * m + i] > middle)
        sum += cells[last * m + i] - middle;
    return sum;
}

static void fill_op(const bench *b, pp_order_problem *x, uint32_t op)
{
    pp_task *t = &x->task[op];
    const int64_t layers = b->layers / x->stages;
    const uint32_t i = t->microbatch;
    const int64_t taken = scaled(b, b->from.taken, t->stage, x->stages, layers, i);
    const int64_t kept = scaled(b, b->from.kept, t->stage, x->stages, layers, i);
    const int64_t change[] = { taken, kept - taken, -kept };
    t->ticks = scaled(b, b->from.ticks[t->kind], t->stage, x->stages, layers, i);
    if (t->kind != PP_TASK_W && t->before < x->ops && x->task[t->before].rank != t->rank)
        t->lag = b->from.lag[i];
    x->memory[op].delta = change[t->kind];
    x->memory[op].need = b->from.extra[t->kind][b->from.m + i] + (t->kind ? 0 : taken);
}

/* The most memory that rank 0 of 1F1B holds, with one stage per rank. */
static int64_t peak_of_1f1b(const bench *b)
{
    int64_t peak = 0;
    for (uint32_t first = 0; first + b->from.p <= b->microbatches; first++) {
        int64_t held = 0;
        for (uint32_t i = first; i < first + b->from.p; i++)
            held += scaled(b, b->from.taken, 0, b->from.p, b->layers / b->from.p, i);
        held += b->from.extra[1][b->from.m + first];
        peak = held > peak ? held : peak;
    }
    return peak;
}

/* Replays the order with independent code. */
static void check(const bench *b, const pp_order_problem *x, const pp_found_order *found)
{
    replay y PP_CLEANUP(replay_free) = { .p = x->ranks, .s = x->stages, .m = x->microbatches };
    const size_t cells = (size_t)y.s * y.m;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    int64_t **const columns[] = { &y.ticks[0], &y.ticks[1], &y.ticks[2], &y.extra[0], &y.extra[1],
                                  &y.extra[2], &y.end[0],   &y.end[1],   &y.end[2],   &y.taken,
                                  &y.kept,     &y.lag,      &y.rank_of,  &y.cap };
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        *columns[k] = pp_alloc_array(cells, sizeof(int64_t));
    for (uint32_t s = 0; s < y.s; s++)
        y.rank_of[s] = x->stage_rank[s];
    for (uint32_t r = 0; r < y.p; r++)
        y.cap[r] = x->room[r];
    for (uint32_t i = 0; i < y.m; i++)
        y.lag[i] = b->from.lag[i];
    for (uint32_t op = 0; op < x->ops; op++) {
        const pp_task *t = &x->task[op];
        const size_t cell = (size_t)t->stage * y.m + t->microbatch;
        const int64_t taken = t->kind == PP_TASK_F ? x->memory[op].delta : 0;
        y.ticks[t->kind][cell] = t->ticks;
        y.extra[t->kind][cell] = x->memory[op].need - taken;
        if (t->kind == PP_TASK_F)
            y.taken[cell] = taken;
        if (t->kind == PP_TASK_W)
            y.kept[cell] = -x->memory[op].delta;
    }
    pp_order_problem_print_orders(x, found->ops, &text);
    if (replay_run(&y, text.data, false) != found->makespan || found->makespan < 1)
        die(b->file, "the replay disagrees");
}

static void run(const bench *b, uint32_t chunks, bool v, double share)
{
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    const pp_order_search_options budget = { .iterations = b->iterations, .threads = 2 };
    const uint32_t p = b->from.p;
    uint32_t stage_rank[STAGES_MOST];
    pp_order_bounds limits;
    pp_err err = { 0 };
    for (uint32_t s = 0; s < p * chunks; s++)
        stage_rank[s] = v && s >= p ? 2 * p - 1 - s : s % p;
    if (pp_order_problem_new("placement", p, p * chunks, b->microbatches, stage_rank, &x, &err))
        die(b->file, err.text);
    for (uint32_t op = 0; op < x->ops; op++)
        fill_op(b, x, op);
    for (uint32_t r = 0; r < p; r++)
        x->room[r] = (int64_t)(share * (double)peak_of_1f1b(b));
    pp_status status = pp_order_bounds_find(x, &limits, &err);
    if (!status)
        status = pp_order_search(x, limits.ticks, &budget, &found, &err);
    if (status == PP_INFEASIBLE)
        printf(" %19s", "does not fit");
    else if (status)
        die(b->file, err.text);
    else
        check(b, x, found);
    if (!status)
        printf("  %8.3f / %8.3f", 1e-6 * (double)found->makespan, 1e-6 * (double)limits.ticks);
    fflush(stdout);
}

static void read_arguments(bench *b, int argc, char **argv)
{
    static const double usual[] = { 0.4, 0.5, 0.6, 0.7, 0.8, 1, 1.3 };
    for (int k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : "";
        if (strcmp(argv[k], "--iterations") == 0)
            b->iterations = strtoll(value, NULL, 10), k++;
        else if (strcmp(argv[k], "--layers") == 0)
            b->layers = strtoll(value, NULL, 10), k++;
        else if (strcmp(argv[k], "--microbatches") == 0)
            b->microbatches = (uint32_t)strtoul(value, NULL, 10), k++;
        else if (!b->file)
            b->file = argv[k];
        else if (b->shares < SHARES_MOST)
            b->share[b->shares++] = strtod(argv[k], NULL);
    }
    const bool given = b->shares > 0;
    for (size_t k = 0; !given && k < sizeof usual / sizeof *usual; k++)
        b->share[b->shares++] = usual[k];
    if (!b->file)
        die("arguments", "name an instance");
}

static void read_model(bench *b)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_err err = { 0 };
    if (pp_json_load(b->file, &json, &err))
        die(b->file, err.text);
    const pp_json_at root = pp_json_root(json, b->file);
    pp_json_at model;
    replay_read(&root, &b->from);
    if (pp_json_get(&root, "model", &model, &err))
        die(b->file, err.text);
    int64_t *layers = replay_ints(&model, "layers_per_stage");
    b->own_layers = layers[1];
    free(layers);
    if (b->from.s != b->from.p || b->from.m < b->microbatches || 2 * b->from.p > STAGES_MOST ||
        b->layers % (2 * b->from.p) != 0)
        die(b->file, "has several stages per rank, too few microbatches, or layers that do not "
                     "divide over twice its ranks");
}

int main(int argc, char **argv)
{
    bench b = { .iterations = 2000, .layers = 96, .microbatches = 96 };
    read_arguments(&b, argc, argv);
    read_model(&b);
    printf("%5s  %19s  %19s  %19s\n", "cap", "v 1: found / bound", "loop of 2", "V of 2");
    for (int k = 0; k < b.shares; k++) {
        printf("%5.2f", b.share[k]);
        run(&b, 1, false, b.share[k]);
        run(&b, 2, false, b.share[k]);
        run(&b, 2, true, b.share[k]);
        printf("\n");
    }
    replay_free(&b.from);
    return 0;
}
